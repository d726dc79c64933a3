#pragma once
/// Which kernels of kernels/product/product_units.slang a device can run, and which of them suits a product.

#include <rekindle/kernels/families/product_units.h>
#include <rekindle/runtime/device.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace rekindle::runtime {

/// The type of the factors; sums are float32.
enum class UnitFactor { float16, bfloat16 };

/// A tile of a product on matrix units.
struct UnitTile {
    /// Its parameters are ProductUnitsParameters, also for bfloat16.
    const kernels::Kernel* kernel = nullptr;
    std::uint32_t rows = 0, columns = 0;
    std::uint32_t depth = 0; ///< of a slice; splits of k are multiples of it
    kernels::ProductUnitsConstants
        constants{}; ///< only those that depend on the tile are set; the caller sets the others
};

/// The size of a product.
struct UnitProduct {
    std::uint64_t rows = 0, columns = 0, batch = 1;
};

/// Groups of eight numbers that a slice of `outer` rows or columns and `depth` takes in shared memory, with
/// one group of padding per row, in the order that takes more.
std::uint32_t eights_of_slice(std::uint32_t outer, std::uint32_t depth) noexcept;

/// The largest tile that still gives the device enough workgroups for this product, in the first of
/// matrix_shapes that the device has and that passed its self-test. Empty if the device has no such units.
/// Thread-safe.
std::optional<UnitTile> unit_tile(const Device& device, UnitFactor factor, const UnitProduct& product);
/// Every tile that the device can run in that shape. Thread-safe.
std::vector<UnitTile> unit_tiles(const Device& device, UnitFactor factor);

} // namespace rekindle::runtime
