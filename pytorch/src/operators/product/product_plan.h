#pragma once
/// Chooses the tile size and the split of k of a matrix product.

#include "../../dispatch/launch.h"
#include "matrices.h"

#include <rekindle/runtime/matrix_units.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rvk {

/// C is m x n, and k is summed.
struct ProductShape {
    c10::Device device;
    at::ScalarType dtype;
    NumberFamily family;
    std::int64_t m = 0, n = 0, k = 0, batch = 1;

    friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

/// Each workgroup computes one tile of C; k is split if parts > 1.
struct ProductPlan {
    const kernels::Kernel* kernel = nullptr;
    std::int64_t rows = 0, columns = 0, depth = 0;
    std::int64_t iterations = 1;                           ///< per slice (UNROLL of multiply in tile.slang)
    std::optional<runtime::UnitTile> units = std::nullopt; ///< set if `kernel` uses matrix units
    std::int64_t parts = 1, k_part = 0;

    std::uint32_t shared_numbers() const {
        return static_cast<std::uint32_t>(2 * depth * (rows + columns + 8));
    }
    /// For example "128x128/2" or "units 128x192/1"; unique among the plans of a shape.
    std::string name() const;
};

/// The number of the device's compute units, or 64 if the driver does not report it.
std::int64_t multiprocessors(c10::Device on);

/// Whether one launch with these tiles can compute the whole batch, so that k can be split.
bool is_one_launch(const ProductShape& shape, const ProductPlan& tile);

/// The plan with the least estimated time. Depends only on the shape and the device.
ProductPlan default_plan(const ProductShape& shape);
/// Every plan that can compute the product in one launch, the default first.
std::vector<ProductPlan> possible_plans(const ProductShape& shape);

} // namespace rvk
