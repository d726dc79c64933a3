#pragma once
/// One register-tiled micro-kernel for the forward product, the weight gradient and the input gradient.
///
/// C[m][n] = initial(m, n) + sum over k of A[m][k] * B[k][n], with k ascending for every element, so the
/// shape of the tile does not change any bit. A is read through two strides; B and C are row-major with
/// widths padded to 16.

#include "cpu/functions.h"

namespace rekindle::mlp::cpu::REKINDLE_ISA {

#if defined(__AVX512F__)
inline constexpr std::size_t tile_rows = 12, tile_vectors = 2;
#elif defined(__AVX2__)
inline constexpr std::size_t tile_rows = 6, tile_vectors = 1;
#else
inline constexpr std::size_t tile_rows = 2, tile_vectors = 1;
#endif

struct Operands {
    std::size_t rows, columns, depth;
    const float* a;
    std::size_t a_row_step, a_depth_step;
    const float* b;
    std::size_t b_stride;
};

/// Bias as the initial value, then optionally ReLU.
template <bool Relu>
struct ForwardEpilogue {
    float* out;
    std::size_t stride;
    const float* bias;
    REKINDLE_INLINE Float16 initial(std::size_t, std::size_t column) const { return load(bias + column); }
    REKINDLE_INLINE void finish(std::size_t row, std::size_t column, Float16 v) const {
        store(out + row * stride + column, Relu ? max(zero(), v) : v);
    }
};

/// The gradient for the producer's output, times the producer's derivative.
template <GradientEpilogue Mode>
struct InputGradientEpilogue {
    float* out;
    std::size_t stride;
    const float* producer; ///< its value (relu) or derivative
    REKINDLE_INLINE Float16 initial(std::size_t, std::size_t) const { return zero(); }
    REKINDLE_INLINE void finish(std::size_t row, std::size_t column, Float16 v) const {
        const std::size_t at = row * stride + column;
        store(out + at, before_activation<Mode>(v, producer + at));
    }
};

/// Replaces the gradient or adds to it.
template <bool Accumulate>
struct WeightGradientEpilogue {
    float* out;
    std::size_t stride;
    REKINDLE_INLINE Float16 initial(std::size_t row, std::size_t column) const {
        return Accumulate ? load(out + row * stride + column) : zero();
    }
    REKINDLE_INLINE void finish(std::size_t row, std::size_t column, Float16 v) const {
        store(out + row * stride + column, v);
    }
};

template <std::size_t Rows, std::size_t Vectors, class Epilogue>
void multiply_tile(const Operands& o, std::size_t row, std::size_t column, const Epilogue& epilogue) {
    Float16 sums[Rows][Vectors];
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < Rows; ++i)
        REKINDLE_UNROLL
    for (std::size_t j = 0; j < Vectors; ++j)
        sums[i][j] = epilogue.initial(row + i, column + j * lanes);
    const float* a = o.a + row * o.a_row_step;
    const float* b = o.b + column;
    for (std::size_t k = 0; k < o.depth; ++k) {
        Float16 right[Vectors];
        REKINDLE_UNROLL
        for (std::size_t j = 0; j < Vectors; ++j)
            right[j] = load(b + j * lanes);
        REKINDLE_UNROLL
        for (std::size_t i = 0; i < Rows; ++i) {
            const Native left = native_broadcast(a[i * o.a_row_step]);
            REKINDLE_UNROLL
            for (std::size_t j = 0; j < Vectors; ++j)
                REKINDLE_UNROLL
            for (std::size_t p = 0; p < parts; ++p)
                sums[i][j].part[p] = native_fma(left, right[j].part[p], sums[i][j].part[p]);
        }
        a += o.a_depth_step;
        b += o.b_stride;
    }
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < Rows; ++i)
        REKINDLE_UNROLL
    for (std::size_t j = 0; j < Vectors; ++j)
        epilogue.finish(row + i, column + j * lanes, sums[i][j]);
}

/// Calls the tile with that many rows, 1 … tile_rows.
template <std::size_t Vectors, class Epilogue, std::size_t Rows = tile_rows>
REKINDLE_INLINE void choose_tile(std::size_t rows, const Operands& o, std::size_t row, std::size_t column,
                                 const Epilogue& epilogue) {
    if constexpr (Rows > 0) {
        if (rows == Rows)
            multiply_tile<Rows, Vectors>(o, row, column, epilogue);
        else
            choose_tile<Vectors, Epilogue, Rows - 1>(rows, o, row, column, epilogue);
    }
}

template <std::size_t Vectors, class Epilogue>
void multiply_columns(const Operands& o, std::size_t column, const Epilogue& epilogue) {
    // Blocks of equal height, because a short last one would leave the multiply-add units idle.
    const std::size_t blocks = (o.rows + tile_rows - 1) / tile_rows;
    const std::size_t height = o.rows / blocks, taller = o.rows % blocks;
    std::size_t row = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t rows = height + (block < taller);
        choose_tile<Vectors>(rows, o, row, column, epilogue);
        row += rows;
    }
}

template <class Epilogue>
void multiply(const Operands& o, const Epilogue& epilogue) {
    if (o.rows == 0)
        return;
    std::size_t column = 0;
    for (; column + tile_vectors * lanes <= o.columns; column += tile_vectors * lanes)
        multiply_columns<tile_vectors>(o, column, epilogue);
    for (; column < o.columns; column += lanes)
        multiply_columns<1>(o, column, epilogue);
}

/// out[j] (+)= sum over rows of values[row][j].
template <bool Accumulate>
REKINDLE_INLINE void sum_columns(const float* values, std::size_t rows, std::size_t stride, float* out) {
    for (std::size_t j = 0; j < stride; j += lanes) {
        Float16 total = Accumulate ? load(out + j) : zero();
        for (std::size_t r = 0; r < rows; ++r)
            total = total + load(values + r * stride + j);
        store(out + j, total);
    }
}

/// Transposes a 16 × 16 block. Only its first `rows` rows exist; the others count as zero.
REKINDLE_INLINE void transpose_block(const float* from, std::size_t from_stride, std::size_t rows, float* to,
                                     std::size_t to_stride) {
    REKINDLE_UNROLL
    for (std::size_t group = 0; group < lanes; group += 4) {
        Float16 v[4];
        REKINDLE_UNROLL
        for (std::size_t i = 0; i < 4; ++i)
            v[i] = group + i < rows ? load(from + (group + i) * from_stride) : zero();
        transpose_lanes(v[0], v[1], v[2], v[3]);
        REKINDLE_UNROLL
        for (std::size_t i = 0; i < 4; ++i)
            store_lanes(to + i * to_stride + group, 4 * to_stride, v[i]);
    }
}

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
