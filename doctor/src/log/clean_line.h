#pragma once
/// One line of a log as a person would have seen it on a terminal.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

constexpr std::size_t log_line_limit = std::size_t{8} << 10; ///< bytes

/// `line` has no line feed. Takes out terminal sequences (colors, titles), applies backspaces, shows bytes
/// that are no UTF-8 text and control characters as "?", and cuts at `log_line_limit`. Parts that carriage
/// returns separate become lines of their own, less those that only draw a progress bar and were drawn over.
/// Blank parts are left out.
std::vector<std::string> clean_line(std::string_view line);

/// The line behind what a terminal, a container or a logging system put in front of it: "> ", "[rank0]:",
/// "web-1  | ", "Nov 21 13:25:01 host kernel: ", "[  12.345678] ", dates and times.
std::string_view without_prefix(std::string_view line) noexcept;

} // namespace rekindle::doctor
