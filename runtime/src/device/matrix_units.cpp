#include "device/unit_tiles.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product_units_bfloat16.h>

#include <algorithm>
#include <array>
#include <span>

namespace rekindle::runtime {

namespace {

std::span<const kernels::ProductUnitsVariant> variants_for(UnitFactor factor) {
    if (factor == UnitFactor::bfloat16)
        return kernels::product_units_variants_bfloat16;
    return kernels::product_units_variants;
}

/// A tile has one block for each subgroup of this size; larger subgroups would be fewer than its blocks.
constexpr std::uint32_t largest_subgroup = 32;

/// The sizes to try for a product, best first. Tiles of 64 are slower per multiply-add, but a compute unit
/// runs several at a time. The largest tile is the fastest if there are so many that the last wave is
/// negligible.
std::array<TileSize, 3> sizes_for(const UnitProduct& product) {
    const auto tiles = [&](std::uint64_t rows, std::uint64_t columns) {
        return kernels::ceil_div(product.rows, rows) * kernels::ceil_div(product.columns, columns) *
               product.batch;
    };
    if (tiles(128, 192) >= 1500)
        return {tile_128x192, tile_128, tile_64};
    if (tiles(128, 128) >= 96)
        return {tile_128, tile_64, tile_64};
    return {tile_64, tile_128, tile_128};
}

} // namespace

std::uint32_t eights_of_slice(std::uint32_t outer, std::uint32_t depth) noexcept {
    return std::max(outer * (depth / 8 + 1), depth * (outer / 8 + 1));
}

std::optional<UnitTile> tile_of(const MatrixShape& shape, UnitFactor factor, const TileSize& size,
                                const Capabilities& can) {
    const auto variants = variants_for(factor);
    const auto found = std::ranges::find_if(variants, [&](const kernels::ProductUnitsVariant& one) {
        return one.unit == shape.feature && TileSize{one.rows, one.columns} == size;
    });
    if (found == variants.end())
        return std::nullopt;
    const bool chosen = can.maximum_subgroup > largest_subgroup;
    const bool exact =
        chosen || (can.minimum_subgroup == largest_subgroup && can.maximum_subgroup == largest_subgroup);
    return UnitTile{.kernel = found->kernel,
                    .rows = found->rows,
                    .columns = found->columns,
                    .depth = found->depth,
                    .constants = {.shared_numbers = 1,
                                  .subgroup_size = chosen ? largest_subgroup : 0,
                                  .idle_subgroups = exact ? 0u : 1u,
                                  .shared_eights = eights_of_slice(found->rows, found->depth) +
                                                   eights_of_slice(found->columns, found->depth)}};
}

namespace {

/// The tiles of these sizes, in this order, in the first shape that the device has.
std::vector<UnitTile> usable_tiles(const Device& device, UnitFactor factor, std::span<const TileSize> sizes) {
    std::vector<UnitTile> tiles;
    const Capabilities& can = device.info().can;
    if (can.minimum_subgroup > largest_subgroup)
        return tiles;
    for (const MatrixShape& shape : matrix_shapes) {
        for (const TileSize& size : sizes)
            if (const auto tile = tile_of(shape, factor, size, can);
                tile && device.usable_features().contains(tile->kernel->needs))
                tiles.push_back(*tile);
        // bfloat16_units refers to the first shape that the device has.
        if (!tiles.empty() || (factor == UnitFactor::bfloat16 && can.features.contains(shape.feature)))
            break;
    }
    return tiles;
}

} // namespace

std::optional<UnitTile> unit_tile(const Device& device, UnitFactor factor, const UnitProduct& product) {
    const std::vector<UnitTile> tiles = usable_tiles(device, factor, sizes_for(product));
    return tiles.empty() ? std::nullopt : std::optional(tiles.front());
}

std::vector<UnitTile> unit_tiles(const Device& device, UnitFactor factor) {
    constexpr std::array sizes{tile_64, tile_128, tile_128x192};
    return usable_tiles(device, factor, sizes);
}

} // namespace rekindle::runtime
