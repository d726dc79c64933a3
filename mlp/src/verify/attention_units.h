#pragma once
/// Kernels of the family attention_units that a device can run.

#include <rekindle/kernels/families/attention_units.h>
#include <rekindle/mlp/matrix_product.h>
#include <rekindle/runtime/device.h>

#include <cstdint>
#include <optional>

namespace rekindle::mlp::verify {

struct UnitPass {
    const kernels::Kernel* kernel = nullptr;
    std::uint32_t rows = 0; ///< of a workgroup's tile
    kernels::AttentionUnitsConstants constants{};
};

struct UnitAttention {
    UnitPass forward, of_keys, of_queries;
};

/// The kernels for heads of up to `width` columns; empty if the device has none.
std::optional<UnitAttention> unit_attention(const runtime::Device& device, NumberType type,
                                            std::uint32_t width);

} // namespace rekindle::mlp::verify
