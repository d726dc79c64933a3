#pragma once
/// The user's folders, and environment variables that have no effect here.

#include <rekindle/cli/reference.h>
#include <rekindle/cli/terminal.h>

#include <span>
#include <string>
#include <string_view>

namespace rekindle::cli {

/// XDG_CACHE_HOME/rekindle and XDG_CONFIG_HOME/rekindle with the fallbacks of the XDG base directory
/// specification (~/.cache, ~/.config; relative values are ignored). REKINDLE_CACHE_DIR replaces the first.
/// "" without a home.
UserFolders user_folders(const Environment& environment);
/// The same folders for people: the home folder is written "~".
UserFolders shown_folders(const UserFolders& folders, const Environment& environment);

/// One sentence that names the variables of `variables` ("NAME=value") that configure ROCm, CUDA or PyTorch
/// and have no effect here; "" when there are none.
std::string ineffective_variables(std::span<const std::string> variables);
/// The environment of the process as "NAME=value".
std::vector<std::string> process_variables();

} // namespace rekindle::cli
