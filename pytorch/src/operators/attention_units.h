#pragma once
/// The kernels of attention on matrix units (kernels/attention/attention_units.slang).

#include "../dispatch/launch.h"

#include <rekindle/kernels/families/attention_units.h>
#include <rekindle/runtime/device.h>

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>

namespace rvk {

/// A kernel whose workgroups own `rows` queries or keys each and loop over the others, `step` at a time.
struct UnitKernel {
    const kernels::Kernel* kernel; ///< its parameters are AttentionUnitsParameters, also for bfloat16
    std::int64_t rows, step;
    /// Only the constants that depend on the device are set; the caller sets the others.
    kernels::AttentionUnitsConstants constants;
};

struct AttentionOnUnits {
    UnitKernel forward, of_keys, of_queries;
};

/// The kernels for this dtype and heads of at most `width` columns; empty if the device has no matrix units
/// for them.
std::optional<AttentionOnUnits> attention_on_units(const runtime::Device& device, at::ScalarType dtype,
                                                   std::int64_t width);

/// Whether the rows of a [batch, heads, rows, width] tensor consist of whole groups of this many elements and
/// are aligned to the size of a group.
bool is_in_groups(const at::Tensor& tensor, std::int64_t numbers);

} // namespace rvk
