#include <rekindle/kernels/families/attention_units_bfloat16.h>
#include <rekindle/products/unit_attention.h>

#include <algorithm>
#include <ranges>
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

std::uint32_t subgroup_size(Unit unit, const DeviceParameters& device) {
    return device.minimum_subgroup != device.maximum_subgroup ? unit.lanes() : 0;
}

/// In groups of eight numbers, with one group of padding for each row.
std::uint32_t eights_of_rows(std::uint32_t rows, std::uint32_t width) {
    return rows * (width / 8 + 1);
}

/// Describes a pass for the layout of Feature::matrix_quads. Variant: a variant of the kernel in
/// kernels.json. blocks: how many matrices lie one above the other in a subgroup's rows. joined: how many
/// matrices of sums two subgroups exchange at once if they work on the same rows.
template <class Variant>
UnitPass pass_in_quads(const Variant& variant, std::uint32_t blocks, std::uint32_t joined,
                       const DeviceParameters& device) {
    const Unit unit(variant.unit);
    const std::uint32_t rows = variant.subgroups / variant.parts * blocks * unit.size;
    const std::uint32_t matrices = variant.subgroups * (variant.parts > 1 ? joined : 1);
    return {.kernel = variant.kernel,
            .rows = rows,
            .step = variant.step,
            .constants = {.subgroup_size = subgroup_size(unit, device),
                          .shared_eights = std::max(eights_of_rows(rows, variant.width / variant.parts),
                                                    eights_of_rows(2 * variant.step, variant.width)),
                          .shared_sums = matrices * unit.size * unit.size,
                          .shared_others = variant.step}};
}

/// What a workgroup of a pass for any layout holds in shared memory besides its own rows.
struct Slices {
    std::uint32_t by_rows, turned; ///< slices of the other rows
    bool reads_query_numbers = false;
};

/// A pass for any layout. operands: of the workgroup's own rows. in_columns: for Feature::matrix_columns.
template <class Variant>
UnitPass pass_in_any_layout(const Variant& variant, std::uint32_t operands, Slices slices, bool in_columns,
                            const DeviceParameters& device) {
    const Unit unit(variant.unit);
    const std::uint32_t rows = variant.subgroups * unit.size;
    const std::uint32_t own = eights_of_rows(rows, variant.width);
    const std::uint32_t others = slices.by_rows * eights_of_rows(variant.step, variant.width) +
                                 slices.turned * eights_of_rows(variant.width, variant.step);
    return {.kernel = variant.kernel,
            .rows = rows,
            .step = variant.step,
            .constants = {.subgroup_size = subgroup_size(unit, device),
                          .shared_eights = std::max(own, others + (operands - variant.kept) * own),
                          .shared_sums = (in_columns ? 1 : variant.subgroups) * unit.size * unit.size,
                          .shared_others = slices.reads_query_numbers ? variant.step : 1,
                          .in_columns = in_columns,
                          .shared_factors = eights_of_rows(rows, variant.step)}};
}

template <class Forward, class Keys, class Queries>
struct Variants {
    std::span<const Forward> forward;
    std::span<const Keys> keys;
    std::span<const Queries> queries;
};

bool can_run(const DeviceParameters& device, Feature unit, const kernels::Kernel& kernel) {
    const std::uint32_t lanes = Unit(unit).lanes();
    return lanes >= device.minimum_subgroup && lanes <= device.maximum_subgroup &&
           device.usable.contains(kernel.needs);
}

/// Calls add(forward, keys, queries) for all variants of the same width and unit that the device can run.
template <class Forward, class Keys, class Queries, class Add>
void for_each_set(const DeviceParameters& device, const Variants<Forward, Keys, Queries>& variants,
                  const Add& add) {
    for (const Forward& forward : variants.forward) {
        const auto fits = [&](const auto& one) {
            return one.width == forward.width && one.unit == forward.unit &&
                   can_run(device, one.unit, *one.kernel);
        };
        if (!fits(forward))
            continue;
        for (const Keys& keys : variants.keys | std::views::filter(fits))
            for (const Queries& queries : variants.queries | std::views::filter(fits))
                add(forward, keys, queries);
    }
}

Variants<kernels::AttentionUnitsForwardVariant, kernels::AttentionUnitsKeysVariant,
         kernels::AttentionUnitsQueriesVariant>
variants_in_quads(ElementType type) {
    using namespace kernels;
    if (type == ElementType::bfloat16)
        return {attention_units_forward_variants_bfloat16, attention_units_keys_variants_bfloat16,
                attention_units_queries_variants_bfloat16};
    return {attention_units_forward_variants, attention_units_keys_variants,
            attention_units_queries_variants};
}

Variants<kernels::AttentionColumnsForwardVariant, kernels::AttentionColumnsKeysVariant,
         kernels::AttentionColumnsQueriesVariant>
variants_in_any_layout(ElementType type) {
    using namespace kernels;
    if (type == ElementType::bfloat16)
        return {attention_columns_forward_variants_bfloat16, attention_columns_keys_variants_bfloat16,
                attention_columns_queries_variants_bfloat16};
    return {attention_columns_forward_variants, attention_columns_keys_variants,
            attention_columns_queries_variants};
}

} // namespace

std::vector<UnitAttention> unit_attention_variants(const DeviceParameters& device, ElementType type) {
    std::vector<UnitAttention> found;
    if (bytes_of(type) != 2)
        return found;
    for_each_set(
        device, variants_in_quads(type), [&](const auto& forward, const auto& keys, const auto& queries) {
            found.push_back({forward.width, pass_in_quads(forward, forward.row_blocks, 1, device),
                             pass_in_quads(keys, 1, 2, device), pass_in_quads(queries, 1, 2, device)});
        });
    for (const bool in_columns : {true, false}) {
        if (in_columns && !device.usable.contains(Feature::matrix_columns))
            continue;
        for_each_set(device, variants_in_any_layout(type),
                     [&](const auto& forward, const auto& keys, const auto& queries) {
                         found.push_back({forward.width,
                                          pass_in_any_layout(forward, 1, {1, 1}, in_columns, device),
                                          pass_in_any_layout(keys, 2, {2, 2, true}, in_columns, device),
                                          pass_in_any_layout(queries, 2, {2, 1}, in_columns, device)});
                     });
    }
    return found;
}

std::optional<UnitAttention> unit_attention(const DeviceParameters& device, ElementType type,
                                            std::uint32_t width) {
    const std::vector<UnitAttention> variants = unit_attention_variants(device, type);
    const auto found =
        std::ranges::find_if(variants, [&](const UnitAttention& one) { return width <= one.width; });
    return found != variants.end() ? std::optional(*found) : std::nullopt;
}

} // namespace rekindle::products
