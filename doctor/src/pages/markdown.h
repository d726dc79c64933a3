#pragma once
/// Small pieces of Markdown (GitHub's) from texts that may hold anything.

#include <rekindle/doctor/knowledge.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Prose on one line: characters that Markdown would take for markup are escaped, line ends become blanks.
/// Text in backquotes stays as it is.
std::string prose(std::string_view text);
/// The same for a cell of a table.
std::string cell(std::string_view text);
/// A code span that holds any text.
std::string code(std::string_view text);
/// A block of code.
std::string code_block(const std::vector<std::string>& lines);
/// "a, b, c" of code spans.
std::string code_list(const std::vector<std::string>& texts);
/// "- one\n- two\n"
std::string bullets(const std::vector<std::string>& texts);
/// "### Evidence": who says so and when it was checked, as the end of an entry.
std::string evidence(const Entry& entry);
/// The same on one line, for a cell of a table: "source: …; thread: …".
std::string evidence_line(const Entry& entry);

} // namespace rekindle::doctor
