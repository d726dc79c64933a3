#pragma once
/// Compares a device's matrix products with sums in double.

#include <rekindle/mlp/matrix_product.h>

#include <cstdint>
#include <vector>

namespace rekindle::mlp::verify {

enum class ProductType { float32, float16 };

struct ProductCase {
    ProductType type = ProductType::float32;
    MatrixTile tile = MatrixTile::automatic; ///< float32 only
    std::uint32_t m = 0, n = 0, k = 0;
    std::uint32_t padding = 0; ///< elements between the end of a row and the next row, in all three matrices
    std::uint32_t offset = 0;  ///< elements between the start of the memory and the first row
};

/// The largest error of an element as a fraction of the allowed error (verify.h: verify_device); infinite
/// when an element was not written or is NaN, or when something between the rows of C was changed.
double product_error(runtime::Device& device, const ProductCase& product);

/// Small and odd sizes, rows with and without gaps, aligned and not.
std::vector<ProductCase> product_cases(ProductType type, MatrixTile tile);

} // namespace rekindle::mlp::verify
