#pragma once
/// Converts one line of a log to what a person would have seen on a terminal.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

constexpr std::size_t log_line_limit = std::size_t{8} << 10; ///< bytes

/// `line` has no line feed. Removes terminal sequences (colors, titles), applies backspaces, shows bytes
/// that are not UTF-8 text and control characters as "?", and cuts at `log_line_limit`. Parts separated by
/// carriage returns become separate lines, except those that only draw a progress bar and were overwritten.
/// Blank parts are skipped.
std::vector<std::string> clean_line(std::string_view line);

/// The line without the prefix that a terminal, a container or a logging system added: "> ", "[rank0]: ",
/// "web-1  | ", "Nov 21 13:25:01 host kernel: ", "[  12.345678] ", dates and times.
std::string_view without_prefix(std::string_view line) noexcept;

} // namespace rekindle::doctor
