#include <rekindle/kernels/families/attention_units_bfloat16.h>
#include <rekindle/runtime/unit_attention.h>

#include <algorithm>
#include <span>

namespace rekindle::runtime {

namespace {

using kernels::Feature;

/// The shape of matrix units, and the lanes of a subgroup, each of which holds eight elements of a matrix of
/// sums.
struct Unit {
    std::uint32_t size; ///< rows, columns and depth

    explicit Unit(Feature feature) : size(feature == Feature::matrix_16x16x16 ? 16 : 8) {}
    std::uint32_t lanes() const { return size * size / 8; }
};

/// Variant: one of the three kernels' variants in kernels.json. blocks: matrices of rows of a subgroup.
template <class Variant>
UnitPass pass_of(const Variant& variant, std::uint32_t blocks, const Capabilities& can) {
    const Unit unit(variant.unit);
    const std::uint32_t rows = variant.subgroups * blocks * unit.size;
    const bool in_quads = variant.kernel->needs.contains(Feature::matrix_quads);
    const bool sized = can.minimum_subgroup != can.maximum_subgroup;
    return {.kernel = variant.kernel,
            .rows = rows,
            .step = variant.step,
            .constants = {.subgroup_size = sized ? unit.lanes() : 0,
                          .shared_eights = std::max(rows, 2 * variant.step) * (variant.width / 8 + 1),
                          .shared_sums = variant.subgroups * unit.size * unit.size,
                          .shared_weights = in_quads ? 1 : variant.subgroups * unit.size * (unit.size + 8),
                          .shared_others = variant.step}};
}

template <class Variant>
const Variant* same_width_and_unit(std::span<const Variant> variants, std::uint32_t width, Feature unit) {
    const auto found = std::ranges::find_if(
        variants, [&](const Variant& one) { return one.width == width && one.unit == unit; });
    return found != variants.end() ? &*found : nullptr;
}

/// The variants of one dtype.
struct AttentionVariants {
    std::span<const kernels::AttentionUnitsForwardVariant> forward;
    std::span<const kernels::AttentionUnitsKeysVariant> keys;
    std::span<const kernels::AttentionUnitsQueriesVariant> queries;
};

AttentionVariants attention_variants_for(UnitFactor factor) {
    using namespace kernels;
    if (factor == UnitFactor::bfloat16)
        return {attention_units_forward_variants_bfloat16, attention_units_keys_variants_bfloat16,
                attention_units_queries_variants_bfloat16};
    return {attention_units_forward_variants, attention_units_keys_variants,
            attention_units_queries_variants};
}

bool can_run(const Device& device, Feature unit, std::initializer_list<const kernels::Kernel*> kernels) {
    const Capabilities& can = device.info().can;
    const std::uint32_t lanes = Unit(unit).lanes();
    return lanes >= can.minimum_subgroup && lanes <= can.maximum_subgroup &&
           std::ranges::all_of(kernels, [&](const kernels::Kernel* kernel) {
               return device.usable_features().contains(kernel->needs);
           });
}

} // namespace

std::optional<UnitAttention> unit_attention(const Device& device, UnitFactor factor, std::uint32_t width) {
    const AttentionVariants variants = attention_variants_for(factor);
    for (const kernels::AttentionUnitsForwardVariant& forward : variants.forward) {
        if (width > forward.width)
            continue;
        const auto* const keys = same_width_and_unit(variants.keys, forward.width, forward.unit);
        const auto* const queries = same_width_and_unit(variants.queries, forward.width, forward.unit);
        if (keys == nullptr || queries == nullptr ||
            !can_run(device, forward.unit, {forward.kernel, keys->kernel, queries->kernel}))
            continue;
        const Capabilities& can = device.info().can;
        return UnitAttention{pass_of(forward, forward.row_blocks, can), pass_of(*keys, 1, can),
                             pass_of(*queries, 1, can)};
    }
    return std::nullopt;
}

} // namespace rekindle::runtime
