#include "memory/poison.h"

#include <algorithm>
#include <cstring>

namespace rekindle::runtime {
namespace {

constexpr std::byte sentinel_value{0xB7};

} // namespace

void write_poison(std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof poison_word)
        std::memcpy(bytes.data() + i, &poison_word, std::min(sizeof poison_word, bytes.size() - i));
}

void write_sentinel(std::span<std::byte> bytes) {
    std::ranges::fill(bytes, sentinel_value);
}

std::optional<std::size_t> changed_byte(std::span<const std::byte> sentinel) {
    const auto found = std::ranges::find_if(sentinel, [](std::byte b) { return b != sentinel_value; });
    if (found == sentinel.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - sentinel.begin());
}

} // namespace rekindle::runtime
