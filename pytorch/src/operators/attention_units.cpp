#include "attention_units.h"

#include "../dispatch/launch.h"
#include "matrices.h"

#include <rekindle/kernels/families/attention_units_bfloat16.h>

#include <algorithm>

namespace rvk {

namespace {

/// The sizes are those of the kernel's entry in kernels/registry/registry.def: a workgroup owns `rows` rows
/// and loops over the others, `step` at a time.
struct Tile {
    const kernels::Kernel *of_float16, *of_bfloat16; ///< nullptr: there is none
    std::uint32_t rows, step, subgroups;

    const kernels::Kernel* kernel_for(runtime::UnitFactor factor) const {
        return factor == runtime::UnitFactor::bfloat16 ? of_bfloat16 : of_float16;
    }
};

/// The shape of matrix units. quads: the kernels rely on Feature::matrix_quads.
struct Shape {
    std::uint32_t m, n, k;
    bool quads;
};
constexpr Shape with_quads{16, 16, 16, true}, of_8{8, 8, 8, false};

/// Kernels for heads of up to `width` columns.
struct Kernels {
    Shape shape;
    std::int64_t width;
    Tile forward, of_keys, of_queries;
};

/// The first that a device can run is used.
const Kernels all_kernels[] = {{with_quads,
                                64,
                                {&kernels::attention_units_forward_64_quads.kernel,
                                 &kernels::attention_units_bfloat16_forward_64_quads.kernel, 128, 64, 4},
                                {&kernels::attention_units_keys_64_quads.kernel,
                                 &kernels::attention_units_bfloat16_keys_64_quads.kernel, 128, 64, 8},
                                {&kernels::attention_units_queries_64_quads.kernel,
                                 &kernels::attention_units_bfloat16_queries_64_quads.kernel, 128, 64, 8}},
                               {with_quads,
                                128,
                                {&kernels::attention_units_forward_128_quads.kernel,
                                 &kernels::attention_units_bfloat16_forward_128_quads.kernel, 128, 64, 8},
                                {&kernels::attention_units_keys_128_quads.kernel,
                                 &kernels::attention_units_bfloat16_keys_128_quads.kernel, 128, 16, 8},
                                {&kernels::attention_units_queries_128_quads.kernel,
                                 &kernels::attention_units_bfloat16_queries_128_quads.kernel, 128, 64, 8}},
                               {of_8,
                                64,
                                {&kernels::attention_units_forward_64_8x8x8.kernel, nullptr, 32, 16, 4},
                                {&kernels::attention_units_keys_64_8x8x8.kernel, nullptr, 32, 16, 4},
                                {&kernels::attention_units_queries_64_8x8x8.kernel, nullptr, 32, 16, 4}}};

/// A lane holds eight elements of a matrix of sums.
std::uint32_t lanes_of(const Shape& shape) {
    return shape.m * shape.n / 8;
}

UnitKernel kernel_of(const Kernels& kernels, const Tile& tile, runtime::UnitFactor factor,
                     const runtime::Capabilities& can) {
    const auto [m, n, k, quads] = kernels.shape;
    const auto row = static_cast<std::uint32_t>(kernels.width / 8 + 1);
    const bool sized = can.minimum_subgroup != can.maximum_subgroup;
    return {.kernel = tile.kernel_for(factor),
            .rows = tile.rows,
            .step = tile.step,
            .constants = {.subgroup_size = sized ? lanes_of(kernels.shape) : 0,
                          .shared_eights = std::max(tile.rows, 2 * tile.step) * row,
                          .shared_sums = tile.subgroups * m * n,
                          .shared_weights = quads ? 1 : tile.subgroups * m * (k + 8),
                          .shared_others = tile.step}};
}

bool can_run(const Kernels& kernels, runtime::UnitFactor factor, const runtime::Device& device) {
    const runtime::Capabilities& can = device.info().can;
    const std::uint32_t lanes = lanes_of(kernels.shape);
    if (lanes < can.minimum_subgroup || lanes > can.maximum_subgroup)
        return false;
    return std::ranges::all_of(
        std::initializer_list<const Tile*>{&kernels.forward, &kernels.of_keys, &kernels.of_queries},
        [&](const Tile* tile) {
            const kernels::Kernel* const kernel = tile->kernel_for(factor);
            return kernel != nullptr && device.usable_features().contains(kernel->needs);
        });
}

} // namespace

std::optional<AttentionOnUnits> attention_on_units(const runtime::Device& device, at::ScalarType dtype,
                                                   std::int64_t width) {
    const auto factor = unit_factor(dtype);
    if (!factor)
        return std::nullopt;
    for (const Kernels& kernels : all_kernels)
        if (width <= kernels.width && can_run(kernels, *factor, device)) {
            const runtime::Capabilities& can = device.info().can;
            return AttentionOnUnits{kernel_of(kernels, kernels.forward, *factor, can),
                                    kernel_of(kernels, kernels.of_keys, *factor, can),
                                    kernel_of(kernels, kernels.of_queries, *factor, can)};
        }
    return std::nullopt;
}

bool is_in_groups(const at::Tensor& tensor, std::int64_t numbers) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(numbers * tensor.element_size());
    if (tensor.size(3) % numbers != 0 || raw_address(tensor) % bytes != 0)
        return false;
    for (std::int64_t d = 0; d < 3; ++d)
        if (tensor.size(d) != 1 && tensor.stride(d) % numbers != 0)
            return false;
    return true;
}

} // namespace rvk
