#pragma once
/// What REKINDLE_LOG=1 prints to standard error.

#include <string_view>

namespace rvk {

/// Prints a line, after "rvk: ", if REKINDLE_LOG is on. Thread-safe.
void log(std::string_view line);

} // namespace rvk
