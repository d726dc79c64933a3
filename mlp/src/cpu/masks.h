#pragma once
/// Dropout masks: Philox4x32-10 on sixteen blocks at a time. rekindle/mlp/dropout.h defines the construction.

#include "cpu/simd.h"

namespace rekindle::mlp::cpu::REKINDLE_ISA {

REKINDLE_INLINE void multiply_wide(std::uint32_t by, UInt16 x, UInt16& high, UInt16& low) {
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i) {
        const Native32 factor = by - Native32{};
        const Native64 even = native_multiply_even(x.part[i], factor);
        const Native64 odd = native_multiply_even((Native32)((Native64)x.part[i] >> 32), factor);
        high.part[i] = native_high_halves(even, odd);
        low.part[i] = native_low_halves(even, odd);
    }
}
REKINDLE_INLINE UInt16 operator^(UInt16 a, UInt16 b) {
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        a.part[i] ^= b.part[i];
    return a;
}

REKINDLE_INLINE void philox(UInt16 (&counter)[4], std::uint32_t key0, std::uint32_t key1) {
    REKINDLE_UNROLL
    for (int round = 0; round < 10; ++round) {
        UInt16 high0, low0, high1, low1;
        multiply_wide(0xD2511F53u, counter[0], high0, low0);
        multiply_wide(0xCD9E8D57u, counter[2], high1, low1);
        counter[0] = high1 ^ counter[1] ^ broadcast_bits(key0);
        counter[1] = low1;
        counter[2] = high0 ^ counter[3] ^ broadcast_bits(key1);
        counter[3] = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

inline void dropout_factors(const Dropout& d, std::uint64_t seed, std::uint64_t batch,
                            std::uint32_t first_row, std::size_t rows, std::size_t stride, float* factors) {
    constexpr std::uint32_t purpose = 3; // RandomPurpose::dropout; engine.cpp asserts it
    const auto key0 = static_cast<std::uint32_t>(seed);
    const std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32) ^ (purpose << 24) ^ d.layer;
    const Float16 scale = broadcast(d.scale);
    UInt16 row = load(d.first_row), block = load(d.first_block);
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        row.part[i] += first_row;
    for (std::size_t at = 0; at < rows * stride; at += 4 * lanes) {
        UInt16 word[4] = {block, row, broadcast_bits(static_cast<std::uint32_t>(batch >> 32)),
                          broadcast_bits(static_cast<std::uint32_t>(batch))};
        philox(word, key0, key1);
        Float16 factor[4];
        REKINDLE_UNROLL
        for (std::size_t w = 0; w < 4; ++w) {
            UInt16 kept;
            REKINDLE_UNROLL
            for (std::size_t i = 0; i < parts; ++i)
                kept.part[i] = (Native32)(word[w].part[i] >= d.threshold);
            factor[w] = keep_bits(float_of_bits(kept), scale);
        }
        // The lanes were distributed so that this puts the units in order.
        transpose_lanes(factor[0], factor[1], factor[2], factor[3]);
        REKINDLE_UNROLL
        for (std::size_t w = 0; w < 4; ++w)
            store(factors + at + w * lanes, factor[w]);
        REKINDLE_UNROLL
        for (std::size_t i = 0; i < parts; ++i) {
            block.part[i] += d.block_step;
            const Native32 wraps = (Native32)(block.part[i] >= d.blocks_per_row);
            block.part[i] -= wraps & d.blocks_per_row;
            row.part[i] += d.row_step + (wraps & 1u);
        }
    }
}

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
