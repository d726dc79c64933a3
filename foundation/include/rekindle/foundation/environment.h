#pragma once
/// Environment variables of Rekindle. A variable is read when a function is called; like std::getenv, the
/// functions must not run while another thread changes the environment.

#include <string_view>

namespace rekindle {

/// The text of a variable; empty if it is not set. Valid until the variable is changed.
std::string_view environment_text(const char* name) noexcept;

/// Whether this text turns a switch on: empty, "0", "off", "false" and "no", in any case, are off; anything
/// else is on.
bool is_on(std::string_view text) noexcept;

/// Whether the switch is on; `unless_set` if it is not set or empty.
bool switched_on(const char* name, bool unless_set = false) noexcept;

} // namespace rekindle
