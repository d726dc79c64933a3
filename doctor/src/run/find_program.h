#pragma once

#include <string>
#include <string_view>

namespace rekindle::doctor {

/// The path of the executable file that `execvp` would start, or "".
std::string find_program(std::string_view name);

} // namespace rekindle::doctor
