#pragma once
/// The tiles of kernels/product/product.slang, and how the kernels of product and product_units load and
/// store matrices of any strides.

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product.h>
#include <rekindle/kernels/values.h>

#include <algorithm>
#include <cstdint>

namespace rekindle::kernels {

/// A kernel of the family product whose workgroups compute square tiles.
struct ProductTile {
    const Kernel* kernel = nullptr;
    std::uint32_t size = 0;       ///< rows and columns
    std::uint32_t depth = 0;      ///< of a slice; parts of k are multiples of it
    std::uint32_t iterations = 0; ///< of a thread's loops for each slice (UNROLL of multiply in tile.slang)

    constexpr std::uint32_t shared_numbers() const { return 2 * depth * (2 * size + 8); }
};
inline constexpr ProductTile product_tile_32{&product_32.kernel, 32, 16, 5};
inline constexpr ProductTile product_tile_64{&product_64.kernel, 64, 16, 1};
inline constexpr ProductTile product_tile_128{&product_128.kernel, 128, 8, 1};

/// The largest tile of which there are still enough to keep a GPU busy, for a batch of products of m x n.
constexpr const ProductTile& product_tile_for(std::int64_t m, std::int64_t n, std::int64_t batch) {
    const auto groups = [&](std::int64_t tile) { return ceil_div(m, tile) * ceil_div(n, tile) * batch; };
    if (std::min(m, n) > 64 && groups(128) >= 96)
        return product_tile_128;
    return std::min(m, n) > 32 && groups(64) >= 64 ? product_tile_64 : product_tile_32;
}

/// Several adjacent numbers that a kernel loads or stores at once where their address is a multiple of
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

/// How a workgroup loads it: a value of the constants a_sharing and b_sharing.
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

/// Where C is. Strides count elements.
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
    // Small tiles are not worth other pipelines.
    if (rows == 32)
        return 3;
    return (m % rows != 0 || n % columns != 0 ? 1u : 0u) | (k % depth != 0 ? 2u : 0u);
}

} // namespace rekindle::kernels
