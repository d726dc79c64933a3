#include "device/unit_tiles.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product_units_bfloat16.h>

#include <algorithm>
#include <array>
#include <span>

namespace rekindle::runtime {

namespace {

using kernels::Feature;
using kernels::Kernel;

struct KernelOfShape {
    Feature shape;
    UnitFactor factor;
    UnitTileSize size;
    const Kernel& kernel;
};

const KernelOfShape known_kernels[] = {
    {Feature::matrix_16x16x16, UnitFactor::float16, UnitTileSize::of_64,
     kernels::product_units_64_16x16x16.kernel},
    {Feature::matrix_16x16x16, UnitFactor::float16, UnitTileSize::of_128,
     kernels::product_units_16x16x16.kernel},
    {Feature::matrix_16x16x16, UnitFactor::float16, UnitTileSize::of_128x192,
     kernels::product_units_128x192_16x16x16.kernel},
    {Feature::matrix_16x16x16, UnitFactor::bfloat16, UnitTileSize::of_64,
     kernels::product_units_bfloat16_64_16x16x16.kernel},
    {Feature::matrix_16x16x16, UnitFactor::bfloat16, UnitTileSize::of_128,
     kernels::product_units_bfloat16_16x16x16.kernel},
    {Feature::matrix_16x16x16, UnitFactor::bfloat16, UnitTileSize::of_128x192,
     kernels::product_units_bfloat16_128x192_16x16x16.kernel},
    {Feature::matrix_8x16x16, UnitFactor::float16, UnitTileSize::of_64,
     kernels::product_units_64_8x16x16.kernel},
    {Feature::matrix_8x16x16, UnitFactor::float16, UnitTileSize::of_128,
     kernels::product_units_8x16x16.kernel},
    {Feature::matrix_8x16x16, UnitFactor::bfloat16, UnitTileSize::of_64,
     kernels::product_units_bfloat16_64_8x16x16.kernel},
    {Feature::matrix_8x16x16, UnitFactor::bfloat16, UnitTileSize::of_128,
     kernels::product_units_bfloat16_8x16x16.kernel},
    {Feature::matrix_8x8x16, UnitFactor::float16, UnitTileSize::of_64,
     kernels::product_units_64_8x8x16.kernel},
    {Feature::matrix_8x8x16, UnitFactor::float16, UnitTileSize::of_128, kernels::product_units_8x8x16.kernel},
    {Feature::matrix_8x8x8, UnitFactor::float16, UnitTileSize::of_64, kernels::product_units_64_8x8x8.kernel},
    {Feature::matrix_8x8x8, UnitFactor::float16, UnitTileSize::of_128, kernels::product_units_8x8x8.kernel}};

constexpr std::uint32_t depth = 64;
/// A tile has one block for each subgroup of this size; larger subgroups would be fewer than its blocks.
constexpr std::uint32_t largest_subgroup = 32;

/// Groups of eight numbers in a slice, with one group of padding per row, in the order that takes more.
constexpr std::uint32_t eights_of_slice(std::uint32_t outer) {
    return std::max(outer * (depth / 8 + 1), depth * (outer / 8 + 1));
}

/// The sizes to try for a product, best first. Tiles of 64 are slower per multiply-add, but a compute unit
/// runs several at a time. The largest tile is the fastest if there are so many that the last wave is
/// negligible.
std::array<UnitTileSize, 3> sizes_for(const UnitProduct& product) {
    const auto tiles = [&](std::uint64_t rows, std::uint64_t columns) {
        return kernels::ceil_div(product.rows, rows) * kernels::ceil_div(product.columns, columns) *
               product.batch;
    };
    using enum UnitTileSize;
    if (tiles(128, 192) >= 1500)
        return {of_128x192, of_128, of_64};
    if (tiles(128, 128) >= 96)
        return {of_128, of_64, of_64};
    return {of_64, of_128, of_128};
}

} // namespace

std::optional<UnitTile> tile_of(const MatrixShape& shape, UnitFactor factor, UnitTileSize size,
                                const Capabilities& can) {
    const auto* const known = std::ranges::find_if(known_kernels, [&](const KernelOfShape& one) {
        return one.shape == shape.feature && one.factor == factor && one.size == size;
    });
    if (known == std::end(known_kernels))
        return std::nullopt;
    const std::uint32_t rows = size == UnitTileSize::of_64 ? 64 : 128;
    const std::uint32_t columns = size == UnitTileSize::of_128x192 ? 192 : rows;
    const bool chosen = can.maximum_subgroup > largest_subgroup;
    const bool exact =
        chosen || (can.minimum_subgroup == largest_subgroup && can.maximum_subgroup == largest_subgroup);
    return UnitTile{.kernel = &known->kernel,
                    .rows = rows,
                    .columns = columns,
                    .depth = depth,
                    .constants = {.shared_numbers = 1,
                                  .subgroup_size = chosen ? largest_subgroup : 0,
                                  .idle_subgroups = exact ? 0u : 1u,
                                  .shared_eights = eights_of_slice(rows) + eights_of_slice(columns)}};
}

namespace {

/// The tiles of these sizes, in this order, in the first shape that the device has.
std::vector<UnitTile> usable_tiles(const Device& device, UnitFactor factor,
                                   std::span<const UnitTileSize> sizes) {
    std::vector<UnitTile> tiles;
    const Capabilities& can = device.info().can;
    if (can.minimum_subgroup > largest_subgroup)
        return tiles;
    for (const MatrixShape& shape : matrix_shapes) {
        for (const UnitTileSize size : sizes)
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
    using enum UnitTileSize;
    constexpr std::array sizes{of_64, of_128, of_128x192};
    return usable_tiles(device, factor, sizes);
}

} // namespace rekindle::runtime
