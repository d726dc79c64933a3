#pragma once
/// Elements of tensor files in memory.

#include <rekindle/trainer/torch_archive.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace rekindle::trainer {

inline double half_to_double(std::uint16_t bits) noexcept {
    const unsigned exponent = (bits >> 10U) & 0x1fU, mantissa = bits & 0x3ffU;
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    if (exponent == 0x1f)
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0)
        return sign * static_cast<double>(mantissa) * 0x1p-24;
    return sign * std::ldexp(static_cast<double>(mantissa | 0x400U), static_cast<int>(exponent) - 25);
}

template <class T>
T load_as(const char* address, bool swapped) noexcept {
    std::array<char, sizeof(T)> raw;
    std::memcpy(raw.data(), address, sizeof(T));
    if (swapped)
        std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
}

/// The element at an address (any alignment), converted. `swapped`: the bytes are in big-endian order.
template <class Out>
Out load_element(const char* address, ElementType type, bool swapped) noexcept {
    switch (type) {
    case ElementType::float64:
        return static_cast<Out>(load_as<double>(address, swapped));
    case ElementType::float32:
        return static_cast<Out>(load_as<float>(address, swapped));
    case ElementType::float16:
        return static_cast<Out>(half_to_double(load_as<std::uint16_t>(address, swapped)));
    case ElementType::bfloat16:
        return static_cast<Out>(std::bit_cast<float>(
            static_cast<std::uint32_t>(load_as<std::uint16_t>(address, swapped)) << 16U));
    case ElementType::int64:
        return static_cast<Out>(load_as<std::int64_t>(address, swapped));
    case ElementType::int32:
        return static_cast<Out>(load_as<std::int32_t>(address, swapped));
    case ElementType::int16:
        return static_cast<Out>(load_as<std::int16_t>(address, swapped));
    case ElementType::int8:
        return static_cast<Out>(load_as<std::int8_t>(address, swapped));
    case ElementType::uint8:
        return static_cast<Out>(load_as<std::uint8_t>(address, swapped));
    case ElementType::boolean:
        return static_cast<Out>(load_as<std::uint8_t>(address, swapped) != 0 ? 1 : 0);
    }
    return Out{};
}

} // namespace rekindle::trainer
