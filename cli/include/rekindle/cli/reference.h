#pragma once
/// Help, completions, man pages and reference pages, generated from the option table. All functions are pure;
/// text is ASCII.

#include <rekindle/cli/option_table.h>

#include <map>
#include <string>
#include <string_view>

namespace rekindle::cli {

/// The user's folders that the program uses.
struct UserFolders {
    std::string cache;  ///< "~/.cache/rekindle"
    std::string config; ///< "~/.config/rekindle"
};

/// `rekindle --help`: commands, exit statuses, folders. `width` in columns.
std::string render_overview(std::size_t width, const UserFolders& folders);
/// `rekindle COMMAND --help`.
std::string render_help(const CommandSpec& command, std::size_t width, const UserFolders& folders);

/// A completion script; `shell` is bash, zsh or fish.
std::string completion_script(std::string_view shell);

/// man1/: file name → troff source (macro package man).
std::map<std::string, std::string> manual_pages();
/// Path below docs/ → Markdown: every command, every option in detail, every feature.
std::map<std::string, std::string> reference_pages();
/// Those of reference_pages() that the repository keeps a copy of.
std::map<std::string, std::string> committed_pages();

/// "rekindle train --data PATH... [options]".
std::string usage_line(const CommandSpec& command);
/// "-b, --batch-size ROWS".
std::string option_heading(const OptionSpec& option);
/// The meaning of each exit status, in the order of the numbers.
const std::vector<std::pair<int, std::string_view>>& exit_statuses();

} // namespace rekindle::cli
