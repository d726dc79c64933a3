#pragma once
/// The tiles of kernels/product/product_units.slang, whether or not the device passed its self-test.

#include <rekindle/runtime/matrix_units.h>

namespace rekindle::runtime {

struct TileSize {
    std::uint32_t rows, columns;

    friend constexpr bool operator==(const TileSize&, const TileSize&) = default;
};
inline constexpr TileSize tile_64{64, 64}, tile_128{128, 128}, tile_128x192{128, 192};

/// The tile for a device with these capabilities. `shape`: one of matrix_shapes. Empty if no kernel has
/// such a tile.
std::optional<UnitTile> tile_of(const MatrixShape& shape, UnitFactor factor, const TileSize& size,
                                const Capabilities& can);

} // namespace rekindle::runtime
