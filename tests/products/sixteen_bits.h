#pragma once
/// Conversions between float and the bits of float16 and bfloat16.

#include <rekindle/products/plan.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace rekindle::products::test {

/// Precondition: the type represents the number exactly. The number may be subnormal in float16, but not in
/// bfloat16.
inline std::uint16_t bits_of(ElementType type, float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    if (type == ElementType::bfloat16)
        return static_cast<std::uint16_t>(bits >> 16);
    if (number == 0)
        return 0;
    if (std::isinf(number))
        return number < 0 ? 0xfc00 : 0x7c00;
    if (std::abs(number) < std::ldexp(1.0f, -14))
        return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) |
                                          static_cast<std::uint32_t>(std::ldexp(std::abs(number), 24)));
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | ((bits >> 23 & 0xffu) - 112) << 10 |
                                      (bits >> 13 & 0x3ffu));
}

inline float number_of(ElementType type, std::uint16_t bits) {
    if (type == ElementType::bfloat16)
        return std::bit_cast<float>(std::uint32_t{bits} << 16);
    const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    const float size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                       : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                       : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

inline std::uint16_t nan_of(ElementType type) {
    return type == ElementType::bfloat16 ? 0x7fc0 : 0x7e00;
}

} // namespace rekindle::products::test
