#pragma once
/// The kernels of attention on matrix units (kernels/attention/attention_units.slang).

#include "../dispatch/launch.h"

#include <rekindle/kernels/families/attention_units.h>
#include <rekindle/runtime/device.h>

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>

namespace rvk {

/// A kernel whose workgroups have `rows` queries or keys each and go through the others in steps of `step`.
struct UnitKernel {
    const kernels::Kernel* kernel; ///< its parameters are AttentionUnitsParameters, also for bfloat16
    std::int64_t rows, step;
    /// Those that depend on the device; the attention sets the others.
    kernels::AttentionUnitsConstants constants;
};

struct AttentionOnUnits {
    UnitKernel forward, of_keys, of_queries;
};

/// The kernels for tensors of that dtype, whose heads have at most `width` columns; nothing if the device has
/// no such matrix units.
std::optional<AttentionOnUnits> attention_on_units(const runtime::Device& device, at::ScalarType dtype,
                                                   std::int64_t width);

/// Whether all rows of a [batch, heads, rows, width] tensor consist of whole groups of so many numbers and
/// begin at multiples of a group's bytes.
bool is_in_groups(const at::Tensor& tensor, std::int64_t numbers);

} // namespace rvk
