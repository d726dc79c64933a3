#pragma once
/// The knowledge in the binary form that is built into the program, which loads in a few milliseconds.
/// A build reads only what it packed itself, so the format has no version number.

#include <rekindle/doctor/knowledge.h>

#include <string>
#include <string_view>

namespace rekindle::doctor {

std::string pack(const Knowledge& knowledge);
/// Throws internal_error when the bytes are not what pack() wrote.
Knowledge unpack(std::string_view bytes);

} // namespace rekindle::doctor
