#pragma once
/// Compares a device's matrix products with sums in double.

#include "verify/numbers.h"

#include <rekindle/products/plan.h>
#include <rekindle/runtime/device.h>

#include <cstdint>
#include <vector>

namespace rekindle::mlp::verify {

struct ProductCase {
    ElementType type = ElementType::float32; ///< of A, B and C; on matrix units, C is float32
    products::Tile tile;
    std::uint32_t m = 0, n = 0, k = 0;
    std::uint32_t padding = 0; ///< elements between the end of a row and the next row, in all three matrices
    std::uint32_t offset = 0;  ///< elements between the start of the memory and the first row
    std::uint32_t parts = 1;   ///< number of parts that k is split into, if it is long enough

    products::Plan plan() const;
};

/// The memory of C, n + padding numbers for each row, after the device computed it.
HostNumbers product_on(runtime::Device& device, const ProductCase& product);

/// The largest error of an element as a fraction of the allowed error (verify.h: verify_device); infinite
/// when an element was not written or is NaN, or when something between the rows of C was changed.
double product_error(const ProductCase& product, const HostNumbers& c);

/// Small and odd sizes, rows with and without gaps, aligned and not, and a k that is split. few: three cases
/// that share two pipelines, for CPU drivers, where compiling takes most of the time.
std::vector<ProductCase> product_cases(ElementType type, const products::Tile& tile, bool few = false);

} // namespace rekindle::mlp::verify
