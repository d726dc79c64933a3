#pragma once
/// The tiles of kernels/product/product_units.slang, whether or not the device passed its self-test.

#include <rekindle/runtime/matrix_units.h>

namespace rekindle::runtime {

/// The tile for a device of these capabilities. `shape`: one of matrix_shapes.
UnitTile tile_of(const MatrixShape& shape, const Capabilities& can, UnitTileSize size);

} // namespace rekindle::runtime
