#include <rekindle/kernels/families/attention_units_bfloat16.h>
#include <rekindle/products/unit_attention.h>

#include <algorithm>
#include <span>

namespace rekindle::products {

namespace {

using kernels::Feature;

/// A shape of matrix units. It determines the lanes of a subgroup, because each lane holds eight elements of
/// a matrix of sums.
struct Unit {
    std::uint32_t size; ///< rows, columns and depth

    explicit Unit(Feature feature) : size(feature == Feature::matrix_16x16x16 ? 16 : 8) {}
    std::uint32_t lanes() const { return size * size / 8; }
};

/// Variant: one of the three kernels' variants in kernels.json. blocks: how many matrices the rows of a
/// subgroup span.
template <class Variant>
UnitPass pass_of(const Variant& variant, std::uint32_t blocks, const DeviceParameters& device) {
    const Unit unit(variant.unit);
    const std::uint32_t rows = variant.subgroups * blocks * unit.size;
    const bool in_quads = variant.kernel->needs.contains(Feature::matrix_quads);
    const bool sized = device.minimum_subgroup != device.maximum_subgroup;
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

AttentionVariants attention_variants_for(ElementType type) {
    using namespace kernels;
    if (type == ElementType::bfloat16)
        return {attention_units_forward_variants_bfloat16, attention_units_keys_variants_bfloat16,
                attention_units_queries_variants_bfloat16};
    return {attention_units_forward_variants, attention_units_keys_variants,
            attention_units_queries_variants};
}

bool can_run(const DeviceParameters& device, Feature unit,
             std::initializer_list<const kernels::Kernel*> kernels) {
    const std::uint32_t lanes = Unit(unit).lanes();
    return lanes >= device.minimum_subgroup && lanes <= device.maximum_subgroup &&
           std::ranges::all_of(
               kernels, [&](const kernels::Kernel* kernel) { return device.usable.contains(kernel->needs); });
}

} // namespace

std::optional<UnitAttention> unit_attention(const DeviceParameters& device, ElementType type,
                                            std::uint32_t width) {
    if (bytes_of(type) != 2)
        return std::nullopt;
    const AttentionVariants variants = attention_variants_for(type);
    for (const kernels::AttentionUnitsForwardVariant& forward : variants.forward) {
        if (width > forward.width)
            continue;
        const auto* const keys = same_width_and_unit(variants.keys, forward.width, forward.unit);
        const auto* const queries = same_width_and_unit(variants.queries, forward.width, forward.unit);
        if (keys == nullptr || queries == nullptr ||
            !can_run(device, forward.unit, {forward.kernel, keys->kernel, queries->kernel}))
            continue;
        return UnitAttention{pass_of(forward, forward.row_blocks, device), pass_of(*keys, 1, device),
                             pass_of(*queries, 1, device)};
    }
    return std::nullopt;
}

} // namespace rekindle::products
