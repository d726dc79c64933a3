#pragma once
/// Which kernels of kernels/attention/attention_units.slang a device can run.

#include <rekindle/kernels/families/attention_units.h>
#include <rekindle/products/tiles.h>

#include <cstdint>
#include <optional>

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
    UnitPass forward, of_keys, of_queries;
};

/// The kernels for heads of at most `width` columns, in the first shape of matrix units that the device has
/// and that passed its self-test; empty if the device cannot run all three. Thread-safe.
std::optional<UnitAttention> unit_attention(const DeviceParameters& device, ElementType type,
                                            std::uint32_t width);

} // namespace rekindle::products
