#pragma once
/// Small pieces of Markdown (GitHub's) for texts with any content.

#include <rekindle/doctor/knowledge.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Prose on one line: characters that Markdown would interpret as markup are escaped, line ends become
/// spaces. Text in backquotes stays unchanged.
std::string prose(std::string_view text);
/// The same for a table cell.
std::string cell(std::string_view text);
/// A code span for any text.
std::string code(std::string_view text);
/// A block of code.
std::string code_block(const std::vector<std::string>& lines);
/// "a, b, c" of code spans.
std::string code_list(const std::vector<std::string>& texts);
/// "- one\n- two\n"
std::string bullets(const std::vector<std::string>& texts);
/// "### Evidence": the sources and when they were checked, at the end of an entry.
std::string evidence(const Entry& entry);
/// The same on one line, for a table cell: "source: …; thread: …".
std::string evidence_line(const Entry& entry);

} // namespace rekindle::doctor
