#include "verify/attention_units.h"

#include <rekindle/kernels/families/attention_units_bfloat16.h>

#include <algorithm>

namespace rekindle::mlp::verify {

namespace {

/// The sizes are those of the kernel's entry in kernels/registry/registry.def.
struct PassKernel {
    const kernels::Kernel *of_float16, *of_bfloat16; ///< nullptr: there is none
    std::uint32_t rows, step, subgroups;

    const kernels::Kernel* kernel(NumberType type) const {
        return type == NumberType::bfloat16 ? of_bfloat16 : of_float16;
    }
};

/// Kernels for heads of up to `width` columns on units of size x size x size.
struct UnitKernels {
    std::uint32_t width, size;
    bool quads; ///< with Feature::matrix_quads
    PassKernel forward, of_keys, of_queries;
};

const UnitKernels all_unit_kernels[] = {
    {64,
     16,
     true,
     {&kernels::attention_units_forward_64_quads.kernel,
      &kernels::attention_units_bfloat16_forward_64_quads.kernel, 128, 64, 4},
     {&kernels::attention_units_keys_64_quads.kernel, &kernels::attention_units_bfloat16_keys_64_quads.kernel,
      128, 64, 8},
     {&kernels::attention_units_queries_64_quads.kernel,
      &kernels::attention_units_bfloat16_queries_64_quads.kernel, 128, 64, 8}},
    {128,
     16,
     true,
     {&kernels::attention_units_forward_128_quads.kernel,
      &kernels::attention_units_bfloat16_forward_128_quads.kernel, 128, 64, 8},
     {&kernels::attention_units_keys_128_quads.kernel,
      &kernels::attention_units_bfloat16_keys_128_quads.kernel, 128, 16, 8},
     {&kernels::attention_units_queries_128_quads.kernel,
      &kernels::attention_units_bfloat16_queries_128_quads.kernel, 128, 64, 8}},
    {64,
     8,
     false,
     {&kernels::attention_units_forward_64_8x8x8.kernel, nullptr, 32, 16, 4},
     {&kernels::attention_units_keys_64_8x8x8.kernel, nullptr, 32, 16, 4},
     {&kernels::attention_units_queries_64_8x8x8.kernel, nullptr, 32, 16, 4}}};

/// A lane has eight elements of a matrix of sums.
std::uint32_t lanes_of(const UnitKernels& kernels) {
    return kernels.size * kernels.size / 8;
}

bool can_run(const UnitKernels& kernels, NumberType type, const runtime::Device& device) {
    const runtime::Capabilities& can = device.info().can;
    const auto has = [&](const PassKernel& pass) {
        const kernels::Kernel* const kernel = pass.kernel(type);
        return kernel != nullptr && device.usable_features().contains(kernel->needs);
    };
    return lanes_of(kernels) >= can.minimum_subgroup && lanes_of(kernels) <= can.maximum_subgroup &&
           has(kernels.forward) && has(kernels.of_keys) && has(kernels.of_queries);
}

} // namespace

std::optional<UnitAttention> unit_attention(const runtime::Device& device, NumberType type,
                                            std::uint32_t width) {
    const runtime::Capabilities& can = device.info().can;
    if (type == NumberType::float32)
        return std::nullopt;
    for (const UnitKernels& kernels : all_unit_kernels) {
        if (width > kernels.width || !can_run(kernels, type, device))
            continue;
        const bool sized = can.minimum_subgroup != can.maximum_subgroup;
        const auto pass = [&](const PassKernel& of) {
            const std::uint32_t matrix = kernels.size * kernels.size;
            return UnitPass{
                .kernel = of.kernel(type),
                .rows = of.rows,
                .constants = {.subgroup_size = sized ? lanes_of(kernels) : 0,
                              .shared_eights = std::max(of.rows, 2 * of.step) * (kernels.width / 8 + 1),
                              .shared_sums = of.subgroups * matrix,
                              .shared_weights =
                                  kernels.quads ? 1 : of.subgroups * kernels.size * (kernels.size + 8),
                              .shared_others = of.step}};
        };
        return UnitAttention{pass(kernels.forward), pass(kernels.of_keys), pass(kernels.of_queries)};
    }
    return std::nullopt;
}

} // namespace rekindle::mlp::verify
