#pragma once
/// UTF-8 in text that may be damaged.

#include <cstddef>
#include <string_view>

namespace rekindle::doctor {

/// Length in bytes of the UTF-8 sequence at the start of `text`; 0 when it is invalid. Precondition: `text`
/// is not empty.
std::size_t utf8_length(std::string_view text) noexcept;

} // namespace rekindle::doctor
