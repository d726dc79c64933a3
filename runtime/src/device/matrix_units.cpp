#include "device/unit_tiles.h"

#include <algorithm>

namespace rekindle::runtime {

namespace {

using Typed = kernels::TypedKernel<kernels::ProductUnitsParameters>;

struct KernelsOfShape {
    kernels::Feature shape;
    const Typed &of_64, &of_128;
};

const KernelsOfShape kernels_of_shapes[] = {
    {kernels::Feature::matrix_16x16x16, kernels::product_units_64_16x16x16, kernels::product_units_16x16x16},
    {kernels::Feature::matrix_8x16x16, kernels::product_units_64_8x16x16, kernels::product_units_8x16x16},
    {kernels::Feature::matrix_8x8x16, kernels::product_units_64_8x8x16, kernels::product_units_8x8x16},
    {kernels::Feature::matrix_8x8x8, kernels::product_units_64_8x8x8, kernels::product_units_8x8x8}};

constexpr std::uint32_t depth = 64;
/// A tile has one block for each subgroup of this size; larger subgroups would be fewer than its blocks.
constexpr std::uint32_t largest_subgroup = 32;

/// The rows of a slice with one group of eight numbers as padding, in the direction that takes more.
constexpr std::uint32_t eights_of_slice(std::uint32_t outer) {
    return std::max(outer * (depth / 8 + 1), depth * (outer / 8 + 1));
}

} // namespace

UnitTile tile_of(const MatrixShape& shape, const Capabilities& can, UnitTileSize size) {
    const auto* const kernels = std::ranges::find(kernels_of_shapes, shape.feature, &KernelsOfShape::shape);
    const auto outer = static_cast<std::uint32_t>(size);
    const bool chosen = can.maximum_subgroup > largest_subgroup;
    const bool exact = chosen || (can.minimum_subgroup == largest_subgroup && can.maximum_subgroup == largest_subgroup);
    return {.kernel = size == UnitTileSize::of_64 ? &kernels->of_64 : &kernels->of_128,
            .size = outer,
            .depth = depth,
            .constants = {.shared_numbers = 1,
                          .subgroup_size = chosen ? largest_subgroup : 0,
                          .idle_subgroups = exact ? 0u : 1u,
                          .shared_eights = 2 * eights_of_slice(outer)}};
}

std::optional<UnitTile> unit_tile(const Device& device, UnitTileSize size) {
    const Capabilities& can = device.info().can;
    if (can.minimum_subgroup > largest_subgroup)
        return std::nullopt;
    for (const MatrixShape& shape : matrix_shapes) {
        const UnitTile tile = tile_of(shape, can, size);
        if (device.usable_features().contains(tile.kernel->kernel.needs))
            return tile;
    }
    return std::nullopt;
}

} // namespace rekindle::runtime
