#pragma once
/// Reproducible numbers that tests/mlp/reference.py generates as well, so that inputs need not be stored.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rekindle::mlp::test {

/// `count` values in [-1, 1), multiples of 2^-23, from one of many streams.
inline std::vector<float> hashed(std::size_t count, std::uint32_t stream) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t x = static_cast<std::uint32_t>(i) + stream * 0x9E3779B9u;
        x ^= x >> 16;
        x *= 0x7FEB352Du;
        x ^= x >> 15;
        x *= 0x846CA68Bu;
        x ^= x >> 16;
        values[i] = static_cast<float>(static_cast<double>(x >> 8) * 0x1p-23 - 1.0);
    }
    return values;
}

} // namespace rekindle::mlp::test
