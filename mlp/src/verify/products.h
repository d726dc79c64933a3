#pragma once
/// Compares a device's matrix products with sums in double.

#include "verify/numbers.h"

#include <rekindle/mlp/matrix_product.h>

#include <cstdint>
#include <vector>

namespace rekindle::mlp::verify {

struct ProductCase {
    NumberType type = NumberType::float32;   ///< of A and B, and of C except on the matrix units: float32
    bool on_units = false;                   ///< on the matrix units
    MatrixTile tile = MatrixTile::automatic; ///< not on the matrix units
    std::uint32_t m = 0, n = 0, k = 0;
    std::uint32_t padding = 0; ///< elements between the end of a row and the next row, in all three matrices
    std::uint32_t offset = 0;  ///< elements between the start of the memory and the first row
};

/// The memory of C, n + padding numbers for each row, after the device computed it.
HostNumbers product_on(runtime::Device& device, const ProductCase& product);

/// The largest error of an element as a fraction of the allowed error (verify.h: verify_device); infinite
/// when an element was not written or is NaN, or when something between the rows of C was changed.
double product_error(const ProductCase& product, const HostNumbers& c);

/// Small and odd sizes, rows with and without gaps, aligned and not. few: three cases that share two
/// pipelines, for CPU drivers, where compiling takes most of the time.
std::vector<ProductCase> product_cases(NumberType type, bool on_units, MatrixTile tile, bool few = false);

} // namespace rekindle::mlp::verify
