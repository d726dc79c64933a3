#pragma once
/// Sixteen float lanes, whatever the width of the registers. Only for *.isa.cpp: everything lives in a
/// namespace named after the instruction set, so that no symbol is shared between objects compiled for
/// different ones.
///
/// Every operation is defined per lane and every horizontal sum has one order, so the bits are the same
/// everywhere (except on x86-64, which has no fused multiply-add).

#include "cpu/kernels.h"

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#define REKINDLE_INLINE inline __attribute__((always_inline))
#define REKINDLE_UNROLL _Pragma("GCC unroll 16")

namespace rekindle::mlp::cpu::REKINDLE_ISA {

#if defined(__AVX512F__)
using Native = __m512;
using NativeInteger = __m512i;
inline constexpr std::size_t register_bytes = 64;
#elif defined(__AVX2__)
using Native = __m256;
using NativeInteger = __m256i;
inline constexpr std::size_t register_bytes = 32;
#else
using Native = __m128;
using NativeInteger = __m128i;
inline constexpr std::size_t register_bytes = 16;
#endif
typedef std::uint32_t Native32 __attribute__((vector_size(register_bytes)));
typedef std::uint64_t Native64 __attribute__((vector_size(register_bytes)));
inline constexpr std::size_t register_lanes = register_bytes / 4;
inline constexpr std::size_t parts = lanes / register_lanes;

struct Float16 {
    Native part[parts];
};
struct UInt16 {
    Native32 part[parts];
};

// One register of each kind.
REKINDLE_INLINE Native native_load(const float* p) {
#if defined(__AVX512F__)
    return _mm512_loadu_ps(p);
#elif defined(__AVX2__)
    return _mm256_loadu_ps(p);
#else
    return _mm_loadu_ps(p);
#endif
}
REKINDLE_INLINE void native_store(float* p, Native v) {
#if defined(__AVX512F__)
    _mm512_storeu_ps(p, v);
#elif defined(__AVX2__)
    _mm256_storeu_ps(p, v);
#else
    _mm_storeu_ps(p, v);
#endif
}
REKINDLE_INLINE Native native_broadcast(float x) {
#if defined(__AVX512F__)
    return _mm512_set1_ps(x);
#elif defined(__AVX2__)
    return _mm256_set1_ps(x);
#else
    return _mm_set1_ps(x);
#endif
}
REKINDLE_INLINE Native native_fma(Native a, Native b, Native c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}
REKINDLE_INLINE Native native_sqrt(Native a) {
#if defined(__AVX512F__)
    return _mm512_sqrt_ps(a);
#elif defined(__AVX2__)
    return _mm256_sqrt_ps(a);
#else
    return _mm_sqrt_ps(a);
#endif
}
/// Returns the second operand when either is NaN, like the instruction.
REKINDLE_INLINE Native native_max(Native a, Native b) {
#if defined(__AVX512F__)
    return _mm512_max_ps(a, b);
#elif defined(__AVX2__)
    return _mm256_max_ps(a, b);
#else
    return _mm_max_ps(a, b);
#endif
}
REKINDLE_INLINE Native native_min(Native a, Native b) {
#if defined(__AVX512F__)
    return _mm512_min_ps(a, b);
#elif defined(__AVX2__)
    return _mm256_min_ps(a, b);
#else
    return _mm_min_ps(a, b);
#endif
}
REKINDLE_INLINE Native native_unpack_low(Native a, Native b) {
#if defined(__AVX512F__)
    return _mm512_unpacklo_ps(a, b);
#elif defined(__AVX2__)
    return _mm256_unpacklo_ps(a, b);
#else
    return _mm_unpacklo_ps(a, b);
#endif
}
REKINDLE_INLINE Native native_unpack_high(Native a, Native b) {
#if defined(__AVX512F__)
    return _mm512_unpackhi_ps(a, b);
#elif defined(__AVX2__)
    return _mm256_unpackhi_ps(a, b);
#else
    return _mm_unpackhi_ps(a, b);
#endif
}
/// Within each 128 bits: {a0, a1, b0, b1} and {a2, a3, b2, b3}.
REKINDLE_INLINE Native native_low_pairs(Native a, Native b) {
#if defined(__AVX512F__)
    return _mm512_shuffle_ps(a, b, 0x44);
#elif defined(__AVX2__)
    return _mm256_shuffle_ps(a, b, 0x44);
#else
    return _mm_shuffle_ps(a, b, 0x44);
#endif
}
REKINDLE_INLINE Native native_high_pairs(Native a, Native b) {
#if defined(__AVX512F__)
    return _mm512_shuffle_ps(a, b, 0xEE);
#elif defined(__AVX2__)
    return _mm256_shuffle_ps(a, b, 0xEE);
#else
    return _mm_shuffle_ps(a, b, 0xEE);
#endif
}
/// Products of the even 32-bit lanes, 64 bits each.
REKINDLE_INLINE Native64 native_multiply_even(Native32 a, Native32 b) {
#if defined(__AVX512F__)
    return (Native64)_mm512_mul_epu32((NativeInteger)a, (NativeInteger)b);
#elif defined(__AVX2__)
    return (Native64)_mm256_mul_epu32((NativeInteger)a, (NativeInteger)b);
#else
    return (Native64)_mm_mul_epu32((NativeInteger)a, (NativeInteger)b);
#endif
}
/// The high 32 bits of each product, with `even` and `odd` holding the products of even and odd lanes.
REKINDLE_INLINE Native32 native_high_halves(Native64 even, Native64 odd) {
#if defined(__AVX512F__)
    return (Native32)_mm512_mask_shuffle_epi32((NativeInteger)odd, 0x5555, (NativeInteger)even,
                                               _MM_PERM_DDBB);
#elif defined(__AVX2__)
    return (Native32)_mm256_blend_epi32((NativeInteger)(even >> 32), (NativeInteger)odd, 0xAA);
#else
    return (Native32)((even >> 32) | (odd & 0xFFFFFFFF00000000u));
#endif
}
/// The low 32 bits of each product.
REKINDLE_INLINE Native32 native_low_halves(Native64 even, Native64 odd) {
#if defined(__AVX512F__)
    return (Native32)_mm512_mask_shuffle_epi32((NativeInteger)even, 0xAAAA, (NativeInteger)odd,
                                               _MM_PERM_CCAA);
#elif defined(__AVX2__)
    return (Native32)_mm256_blend_epi32((NativeInteger)even, (NativeInteger)(odd << 32), 0xAA);
#else
    return (Native32)((even & 0x00000000FFFFFFFFu) | (odd << 32));
#endif
}

REKINDLE_INLINE Float16 load(const float* p) {
    Float16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = native_load(p + i * register_lanes);
    return r;
}
REKINDLE_INLINE void store(float* p, Float16 v) {
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        native_store(p + i * register_lanes, v.part[i]);
}
REKINDLE_INLINE Float16 broadcast(float x) {
    Float16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = native_broadcast(x);
    return r;
}
REKINDLE_INLINE Float16 zero() {
    return broadcast(0.0f);
}

#define REKINDLE_LANEWISE_2(NAME, EXPRESSION)                                                                \
    REKINDLE_INLINE Float16 NAME(Float16 a, Float16 b) {                                                     \
        Float16 r;                                                                                           \
        REKINDLE_UNROLL                                                                                      \
        for (std::size_t i = 0; i < parts; ++i)                                                              \
            r.part[i] = EXPRESSION;                                                                          \
        return r;                                                                                            \
    }
REKINDLE_LANEWISE_2(operator+, a.part[i] + b.part[i])
REKINDLE_LANEWISE_2(operator-, a.part[i] - b.part[i])
REKINDLE_LANEWISE_2(operator*, a.part[i] * b.part[i])
REKINDLE_LANEWISE_2(operator/, a.part[i] / b.part[i])
REKINDLE_LANEWISE_2(max, native_max(a.part[i], b.part[i]))
REKINDLE_LANEWISE_2(min, native_min(a.part[i], b.part[i]))
REKINDLE_LANEWISE_2(unpack_low, native_unpack_low(a.part[i], b.part[i]))
REKINDLE_LANEWISE_2(unpack_high, native_unpack_high(a.part[i], b.part[i]))
REKINDLE_LANEWISE_2(low_pairs, native_low_pairs(a.part[i], b.part[i]))
REKINDLE_LANEWISE_2(high_pairs, native_high_pairs(a.part[i], b.part[i]))
REKINDLE_LANEWISE_2(keep_bits, (Native)((Native32)a.part[i] & (Native32)b.part[i]))
REKINDLE_LANEWISE_2(join_bits, (Native)((Native32)a.part[i] | (Native32)b.part[i]))
#undef REKINDLE_LANEWISE_2

/// a * b + c, rounded once (twice on x86-64).
REKINDLE_INLINE Float16 fma(Float16 a, Float16 b, Float16 c) {
    Float16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = native_fma(a.part[i], b.part[i], c.part[i]);
    return r;
}
REKINDLE_INLINE Float16 sqrt(Float16 a) {
    Float16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = native_sqrt(a.part[i]);
    return r;
}
/// a > b ? x : y; y if a or b is NaN.
REKINDLE_INLINE Float16 select_greater(Float16 a, Float16 b, Float16 x, Float16 y) {
    Float16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = a.part[i] > b.part[i] ? x.part[i] : y.part[i];
    return r;
}
REKINDLE_INLINE UInt16 bits_of(Float16 a) {
    UInt16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = (Native32)a.part[i];
    return r;
}
REKINDLE_INLINE Float16 float_of_bits(UInt16 a) {
    Float16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = (Native)a.part[i];
    return r;
}
REKINDLE_INLINE UInt16 load(const std::uint32_t* p) {
    return bits_of(load(reinterpret_cast<const float*>(p)));
}
REKINDLE_INLINE UInt16 broadcast_bits(std::uint32_t x) {
    UInt16 r;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        r.part[i] = x - Native32{};
    return r;
}
REKINDLE_INLINE Float16 absolute(Float16 a) {
    return keep_bits(a, float_of_bits(broadcast_bits(0x7FFFFFFFu)));
}
REKINDLE_INLINE Float16 sign_bit(Float16 a) {
    return keep_bits(a, float_of_bits(broadcast_bits(0x80000000u)));
}

/// The four 128-bit lanes of a, added as (0 + 2) + (1 + 3).
REKINDLE_INLINE __m128 fold(Float16 a) {
#if defined(__AVX512F__)
    const __m256 half = _mm512_castps512_ps256(a.part[0]) + _mm512_extractf32x8_ps(a.part[0], 1);
    return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
#elif defined(__AVX2__)
    const __m256 half = a.part[0] + a.part[1];
    return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
#else
    return (a.part[0] + a.part[2]) + (a.part[1] + a.part[3]);
#endif
}
REKINDLE_INLINE float first_lane(Float16 a) {
    return a.part[0][0];
}
/// The sum of the sixteen lanes, in one fixed order.
REKINDLE_INLINE float sum(Float16 a) {
    const __m128 four_sums = fold(a);
    const __m128 two_sums = four_sums + _mm_movehl_ps(four_sums, four_sums);
    return _mm_cvtss_f32(_mm_add_ss(two_sums, _mm_shuffle_ps(two_sums, two_sums, 1)));
}
/// Within each 128 bits: rows become columns.
REKINDLE_INLINE void transpose_lanes(Float16& a, Float16& b, Float16& c, Float16& d) {
    const Float16 ab_low = unpack_low(a, b), ab_high = unpack_high(a, b);
    const Float16 cd_low = unpack_low(c, d), cd_high = unpack_high(c, d);
    a = low_pairs(ab_low, cd_low);
    b = high_pairs(ab_low, cd_low);
    c = low_pairs(ab_high, cd_high);
    d = high_pairs(ab_high, cd_high);
}
/// {sum(a), sum(b), sum(c), sum(d)}; not sum()'s order.
REKINDLE_INLINE __m128 sums(Float16 a, Float16 b, Float16 c, Float16 d) {
    transpose_lanes(a, b, c, d);
    return fold((a + b) + (c + d));
}
/// Stores the four 128-bit lanes to p, p + step, …
REKINDLE_INLINE void store_lanes(float* p, std::size_t step, Float16 v) {
#if defined(__AVX512F__)
    _mm_storeu_ps(p, _mm512_castps512_ps128(v.part[0]));
    _mm_storeu_ps(p + step, _mm512_extractf32x4_ps(v.part[0], 1));
    _mm_storeu_ps(p + 2 * step, _mm512_extractf32x4_ps(v.part[0], 2));
    _mm_storeu_ps(p + 3 * step, _mm512_extractf32x4_ps(v.part[0], 3));
#elif defined(__AVX2__)
    _mm_storeu_ps(p, _mm256_castps256_ps128(v.part[0]));
    _mm_storeu_ps(p + step, _mm256_extractf128_ps(v.part[0], 1));
    _mm_storeu_ps(p + 2 * step, _mm256_castps256_ps128(v.part[1]));
    _mm_storeu_ps(p + 3 * step, _mm256_extractf128_ps(v.part[1], 1));
#else
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        _mm_storeu_ps(p + i * step, v.part[i]);
#endif
}

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
