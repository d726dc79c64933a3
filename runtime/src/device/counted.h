#pragma once
/// Numbers with their nouns.

#include <cstdint>
#include <string>
#include <string_view>

namespace rekindle::runtime {

/// "1 byte", "2 bytes".
inline std::string counted(std::uint64_t number, std::string_view noun) {
    return std::to_string(number) + ' ' + std::string(noun) + (number == 1 ? "" : "s");
}

} // namespace rekindle::runtime
