#pragma once
/// The kernels of attention on matrix units (kernels/attention/attention_units.slang).

#include "../../dispatch/launch.h"

#include <rekindle/runtime/unit_attention.h>

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>

namespace rvk {

/// The kernels for this dtype and heads of at most `width` columns; empty if the device has no matrix units
/// for them.
std::optional<runtime::UnitAttention> attention_on_units(const runtime::Device& device, at::ScalarType dtype,
                                                         std::int64_t width);

/// Whether the rows of a [batch, heads, rows, width] tensor consist of whole groups of this many elements and
/// are aligned to the size of a group.
bool is_in_groups(const at::Tensor& tensor, std::int64_t numbers);

} // namespace rvk
