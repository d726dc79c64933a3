#pragma once
/// The tiles of kernels/product/, and how product and product_units load and store matrices of any strides.

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product.h>
#include <rekindle/kernels/values.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace rekindle::kernels {

/// A kernel of the families product and convolution whose workgroups compute tiles of rows x columns.
struct ProductTile {
    const Kernel* kernel = nullptr;
    std::uint32_t rows = 0, columns = 0;
    std::uint32_t depth = 0;      ///< k extent of one slice; splits of k are multiples of it
    std::uint32_t iterations = 0; ///< loop iterations per thread and slice

    constexpr std::uint32_t shared_numbers() const { return 2 * depth * (rows + columns + 8); }
};

/// Variant: ProductVariant or ConvolutionVariant.
template <class Variant>
constexpr ProductTile tile_of(const Variant& variant) {
    // A slice that is unrolled as a whole is one iteration; the test that ends a loop counts as one, too.
    const std::uint32_t rounds = variant.depth / variant.unroll;
    return {variant.kernel, variant.rows, variant.columns, variant.depth, rounds == 1 ? 1 : rounds + 1};
}

/// The tile of this size, which one of the variants must have.
template <class Variant>
constexpr ProductTile tile_of_size(std::span<const Variant> variants, std::uint32_t rows,
                                   std::uint32_t columns) {
    for (const Variant& variant : variants)
        if (variant.rows == rows && variant.columns == columns)
            return tile_of(variant);
    throw std::logic_error("kernels.json has no such tile"); // in a constant expression: a compile error
}
inline constexpr ProductTile product_tile_32 = tile_of_size<ProductVariant>(product_variants, 32, 32);
inline constexpr ProductTile product_tile_64 = tile_of_size<ProductVariant>(product_variants, 64, 64);
inline constexpr ProductTile product_tile_128 = tile_of_size<ProductVariant>(product_variants, 128, 128);

/// Picks the largest tile that still gives enough workgroups to fill a GPU, for a batch of m x n products.
constexpr const ProductTile& product_tile_for(std::int64_t m, std::int64_t n, std::int64_t batch) {
    const auto groups = [&](std::int64_t tile) { return ceil_div(m, tile) * ceil_div(n, tile) * batch; };
    if (std::min(m, n) > 64 && groups(128) >= 96)
        return product_tile_128;
    return std::min(m, n) > 32 && groups(64) >= 64 ? product_tile_64 : product_tile_32;
}

/// Number of adjacent elements that a kernel loads or stores at once if their address is a multiple of
/// `bytes`.
struct WideAccess {
    std::int64_t numbers;
    std::uint64_t bytes;
};

/// A factor of a product. `outer`: rows of A, or columns of B. Strides count elements.
struct FactorLayout {
    std::uint64_t address = 0;
    std::int64_t outer = 0, outer_stride = 0;
    std::int64_t k = 0, k_stride = 0;
    std::int64_t batch_stride = 0; ///< 0: there is one matrix
};

/// Chooses how a workgroup loads the factor: the value of the constant a_sharing or b_sharing.
constexpr std::uint32_t sharing_of(const FactorLayout& f, const WideAccess& wide) {
    const bool aligned = f.address % wide.bytes == 0 && f.batch_stride % wide.numbers == 0;
    if (aligned && f.k_stride == 1 && f.k % wide.numbers == 0 &&
        (f.outer == 1 || f.outer_stride % wide.numbers == 0))
        return value::sharing_quads_along_k;
    if (aligned && f.outer_stride == 1 && f.outer % wide.numbers == 0 &&
        (f.k == 1 || f.k_stride % wide.numbers == 0))
        return value::sharing_quads_along_outer;
    return f.k_stride <= f.outer_stride || f.outer == 1 ? value::sharing_lanes_along_k
                                                        : value::sharing_lanes_along_outer;
}

/// Address and strides of C. Strides count elements.
struct ResultLayout {
    std::uint64_t address = 0;
    std::int64_t rows = 0, columns = 0;
    std::int64_t row_stride = 0, column_stride = 0, batch_stride = 0;

    /// Whether four adjacent elements of a row can be stored at once.
    constexpr bool in_quads(std::uint64_t quad_bytes) const {
        return column_stride == 1 && row_stride % 4 == 0 && batch_stride % 4 == 0 && columns % 4 == 0 &&
               address % quad_bytes == 0;
    }
};

/// The value of the constant `edges` for tiles of rows x columns.
constexpr std::uint32_t edges_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t rows,
                                 std::int64_t columns, std::int64_t depth) {
    // With small tiles, the checks cost too little to justify more pipelines.
    if (rows == 32)
        return 3;
    return (m % rows != 0 || n % columns != 0 ? 1u : 0u) | (k % depth != 0 ? 2u : 0u);
}

} // namespace rekindle::kernels
