#pragma once
/// What REKINDLE_LOG=1 prints to standard error.

#include <string_view>

namespace rvk {

/// Whether REKINDLE_LOG is on. Thread-safe.
bool is_logging() noexcept;
/// Prints a line to standard error, after "rvk: ". Thread-safe.
void print_line(std::string_view line) noexcept;
/// Prints the line if REKINDLE_LOG is on. Thread-safe.
inline void log_line(std::string_view line) noexcept {
    if (is_logging())
        print_line(line);
}

} // namespace rvk
