#pragma once
/// Which kernels of kernels/product/product_units.slang a device can run.

#include <rekindle/kernels/families/product_units.h>
#include <rekindle/runtime/device.h>

#include <cstdint>
#include <optional>

namespace rekindle::runtime {

/// A tile of a product of float16 with float32 sums on matrix units.
struct UnitTile {
    const kernels::TypedKernel<kernels::ProductUnitsParameters>* kernel = nullptr;
    std::uint32_t size = 0;  ///< rows and columns of the tile
    std::uint32_t depth = 0; ///< of a slice; parts of k are multiples of it
    kernels::ProductUnitsConstants
        constants{}; ///< those that depend on the tile; the product sets the others
};

enum class UnitTileSize : std::uint32_t { of_64 = 64, of_128 = 128 };

/// The tile in the first of matrix_shapes that the device has and that passed its self-test; nothing if the
/// device has no such units. Thread-safe.
std::optional<UnitTile> unit_tile(const Device& device, UnitTileSize size);

} // namespace rekindle::runtime
