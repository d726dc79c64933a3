#pragma once
/// Looks programs up as a shell does.

#include <string>
#include <string_view>

namespace rekindle::doctor {

/// Returns the path of the executable file that `execvp(name)` would start, or "" if there is none. Searches
/// PATH unless the name contains a slash.
std::string find_program(std::string_view name);

} // namespace rekindle::doctor
