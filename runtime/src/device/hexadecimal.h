#pragma once
/// Addresses as text for messages.

#include <cstdint>
#include <cstdio>
#include <string>

namespace rekindle::runtime {

/// 31 gives "0x1f".
inline std::string hexadecimal(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

} // namespace rekindle::runtime
