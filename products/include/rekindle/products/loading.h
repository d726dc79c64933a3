#pragma once
/// How the kernels product and product_units load and store matrices of any strides.

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/values.h>

#include <cstdint>

namespace rekindle::products {

/// Number of adjacent elements that a kernel loads or stores at once if their address is a multiple of
/// `bytes`.
struct WideAccess {
    std::int64_t numbers;
    std::uint64_t bytes;
    /// Whether the kernel loads unaligned groups as 32-bit words; otherwise, it loads one element at a time.
    bool in_words = false;
};
/// Kernels on matrix units load eight 16-bit elements at once.
constexpr WideAccess unit_access{.numbers = 8, .bytes = 16, .in_words = true};

/// A factor of a product. `outer`: rows of A, or columns of B. Strides are in elements.
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
        return kernels::value::sharing_quads_along_k;
    if (aligned && f.outer_stride == 1 && f.outer % wide.numbers == 0 &&
        (f.k == 1 || f.k_stride % wide.numbers == 0))
        return kernels::value::sharing_quads_along_outer;
    if (wide.in_words && f.k_stride == 1)
        return kernels::value::sharing_words_along_k;
    if (wide.in_words && f.outer_stride == 1)
        return kernels::value::sharing_words_along_outer;
    return f.k_stride <= f.outer_stride || f.outer == 1 ? kernels::value::sharing_lanes_along_k
                                                        : kernels::value::sharing_lanes_along_outer;
}

/// Whether the kernel loads each group of adjacent elements with one aligned access.
constexpr bool loads_aligned(std::uint32_t sharing) {
    return sharing == kernels::value::sharing_quads_along_k ||
           sharing == kernels::value::sharing_quads_along_outer;
}

/// Address and strides of C. Strides are in elements.
struct ResultLayout {
    std::uint64_t address = 0;
    std::int64_t rows = 0, columns = 0;
    std::int64_t row_stride = 0, column_stride = 0, batch_stride = 0;

    /// Whether groups of `count` adjacent elements of a row, `bytes` in all, can be stored at once.
    constexpr bool in_groups(std::int64_t count, std::uint64_t bytes) const {
        return column_stride == 1 && row_stride % count == 0 && batch_stride % count == 0 &&
               columns % count == 0 && address % bytes == 0;
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

} // namespace rekindle::products
