#pragma once
/// Which kernels of kernels/attention/attention_units.slang a device can run.

#include <rekindle/kernels/families/attention_units.h>
#include <rekindle/products/tiles.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace rekindle::products {

/// A kernel whose workgroups own `rows` queries or keys each and loop over the others, `step` at a time.
struct UnitPass {
    const kernels::Kernel* kernel =
        nullptr; ///< its parameters are AttentionUnitsParameters, also for bfloat16
    std::uint32_t rows = 0, step = 0;
    /// Only the constants that depend on the device and the kernel are set; the caller sets the others.
    kernels::AttentionUnitsConstants constants{};
};

/// The passes of attention: the output, and the gradients of keys and values, and of queries.
struct UnitAttention {
    std::uint32_t width; ///< of heads, at most
    UnitPass forward, of_keys, of_queries;
};

/// The largest distance in bytes between adjacent rows of an operand: the kernels compute offsets within a
/// tile in 32 bits.
inline constexpr std::uint64_t most_row_bytes = 1u << 25;

/// All kernels that the device can run: those for its layout of matrices first, then those for any layout;
/// narrow heads before wide ones. Thread-safe.
std::vector<UnitAttention> unit_attention_variants(const DeviceParameters& device, ElementType type);

/// The first of them for heads of `width` columns; empty if the device cannot run all three passes.
/// Thread-safe.
std::optional<UnitAttention> unit_attention(const DeviceParameters& device, ElementType type,
                                            std::uint32_t width);

} // namespace rekindle::products
