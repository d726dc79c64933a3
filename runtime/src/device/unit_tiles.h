#pragma once
/// The tiles of kernels/product/product_units.slang, whether or not the device passed its self-test.

#include <rekindle/runtime/matrix_units.h>

namespace rekindle::runtime {

/// The rows x columns of a tile.
enum class UnitTileSize { of_64, of_128, of_128x192 };

/// The tile for a device with these capabilities. `shape`: one of matrix_shapes. Empty if no kernel has
/// such a tile.
std::optional<UnitTile> tile_of(const MatrixShape& shape, UnitFactor factor, UnitTileSize size,
                                const Capabilities& can);

} // namespace rekindle::runtime
