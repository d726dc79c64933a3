#pragma once
/// The knowledge in the form in which it is built in: without YAML, so that it loads in a few milliseconds.
/// Only the program that wrote packed knowledge reads it; there is no version.

#include <rekindle/doctor/knowledge.h>

#include <string>
#include <string_view>

namespace rekindle::doctor {

std::string pack(const Knowledge& knowledge);
/// Throws internal_error when the bytes are not what pack() wrote.
Knowledge unpack(std::string_view bytes);

} // namespace rekindle::doctor
