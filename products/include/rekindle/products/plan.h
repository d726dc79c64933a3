#pragma once
/// Which kernel computes a product, a convolution or attention, in which tiles, and how k is split.

#include <rekindle/kernels/kernel.h>
#include <rekindle/products/device_parameters.h>
#include <rekindle/products/tiles.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::products {

/// A batch of products: C is m x n, and k is summed. Sizes: at least 1, except k, which may be 0.
struct ProductShape {
    ElementType type{};
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    /// Whether every group of eight adjacent numbers of the factor is aligned, so that kernels on matrix
    /// units load it at once (loading.h). Other kernels do not depend on it.
    bool a_aligned = true, b_aligned = true;

    friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

/// The operations of a convolution. The numbers are those of kernels/product/convolution.slang.
enum class ConvolutionPass : std::uint32_t { forward = 0, input_gradient = 1, weight_gradient = 2 };

/// The matrix product that is equivalent to a convolution, for each of `groups`.
struct ConvolutionShape {
    ElementType type{};
    ConvolutionPass pass{};
    std::int64_t m = 0, n = 0, k = 0, groups = 1;
    std::int64_t channels = 1; ///< of the image that the kernels gather from, in one group
    std::int64_t taps = 1;     ///< of the convolution's kernel
    std::int64_t images = 1;   ///< in the result; adding parts takes a row of workgroups for each

    friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// Each workgroup computes one tile of C over k_part values of k. If parts > 1, each part writes its sums
/// to scratch memory, and another launch adds them.
struct Plan {
    Tile tile;
    std::int64_t parts = 1;
    std::int64_t k_part = 0; ///< a multiple of the tile's depth and of 16; parts * k_part >= k

    std::int64_t launches() const { return parts > 1 ? 2 : 1; }
    /// Whether k, or each part of it, fits in a single slice. Meaningless if k is 0.
    bool is_one_slice() const { return k_part <= tile.depth; }
    /// For example "128x128/2" or "units 128x192/1"; unique among the plans of a shape.
    std::string name() const;
};

/// The plans' names, in the same order.
std::vector<std::string> names_of(std::span<const Plan> plans);

/// Whether one launch with these tiles can compute the whole batch, so that k can be split.
bool is_one_launch(const ProductShape& shape, const Tile& tile);
/// The longest k of one launch: loops have at most most_iterations.
std::int64_t longest_k(const Tile& tile);

/// Estimated seconds on an otherwise idle device.
double estimate(const DeviceParameters& device, const ProductShape& shape, const Plan& plan);
double estimate(const DeviceParameters& device, const ConvolutionShape& shape, const Plan& plan);

/// Every plan worth considering; at least one. They use matrix units if there are any for this type and the
/// product is not too small for them. If the matrices need several launches, k is split only as far as the
/// limit on loops requires.
std::vector<Plan> possible_plans(const DeviceParameters& device, const ProductShape& shape);
/// The same for convolutions: without matrix units, and on them. The latter may be empty.
std::vector<Plan> possible_plans(const DeviceParameters& device, const ConvolutionShape& shape);
std::vector<Plan> possible_unit_plans(const DeviceParameters& device, const ConvolutionShape& shape);

/// The plan with the least estimated time. plans: at least one.
template <class Shape>
const Plan& fastest_plan(const DeviceParameters& device, const Shape& shape, const std::vector<Plan>& plans);

/// A product with a vector: `lanes` threads read each row of the matrix together.
struct VectorPlan {
    std::int64_t lanes = 8, rows = 32; ///< rows of a workgroup
    std::int64_t parts = 1, k_part = 0;
    bool rows_in_quads = false; ///< a thread loads four adjacent rows at once
    bool in_float16 = false;    ///< use the kernels in which the device itself converts float16
};
/// contiguous: whether the elements of a row of the matrix are closer together than its rows. rows_in_quads:
/// whether the matrix is aligned so that a thread can load the same element of four adjacent rows at once.
VectorPlan vector_plan(const DeviceParameters& device, std::int64_t rows, std::int64_t k, std::int64_t batch,
                       bool contiguous, bool rows_in_quads);

/// Whether Winograd's algorithm, which takes `multiply_adds` and writes and reads `transformed_bytes`, is
/// faster in float32 than a sum of products that takes `direct_multiply_adds`.
bool winograd_is_faster(const DeviceParameters& device, double multiply_adds, double transformed_bytes,
                        double direct_multiply_adds);
/// Whether matrix units are faster even if `moved_bytes` must be copied first. False if there are none.
bool units_are_faster(const DeviceParameters& device, const ConvolutionShape& shape, double moved_bytes);

/// What a pass of attention computes: the output, the gradient of queries, or the gradients of keys and
/// values.
enum class AttentionPass { forward, of_queries, of_keys };

/// One pass of attention: each of `heads` heads (of the whole batch) has `rows` rows that workgroups own, and
/// `others` rows that they loop over.
struct AttentionShape {
    AttentionPass pass{};
    std::int64_t heads = 1, rows = 0, others = 0, width = 0; ///< width: of the widest operand
    bool in_quads = false; ///< the operands can be loaded in aligned groups of four numbers
    bool has_bias = false;

    friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};
/// The kernels compute a result in 1, 2 or 4 groups of 64 columns. Returns how many a result of this width
/// needs. width: at most 256.
std::int64_t attention_groups(std::int64_t width);
/// How the kernels of kernels/attention/ divide their work into tiles (tiles.slang).
struct AttentionTile {
    std::int64_t rows_of_thread = 1; ///< 1, 4 or 8
    bool wide = false;

    friend bool operator==(const AttentionTile&, const AttentionTile&) = default;
};
/// "rows 8" or "rows 8, wide". Tuned choices are stored under these names.
std::string name(const AttentionTile& tile);
/// The kernel that computes a pass in wide or other tiles. Its parameters are AttentionParameters, and its
/// constants are AttentionConstants. Throws std::out_of_range for of_keys with wide tiles: there is no such
/// kernel.
const kernels::Kernel& attention_kernel(AttentionPass pass, bool wide);
/// All tiles in which the kernels can compute this pass. There is at least one.
std::vector<AttentionTile> possible_attention_tiles(const AttentionShape& shape);
/// The possible tile with the lowest estimated time. It is wide only on devices whose subgroups may have 64
/// lanes, such as AMD's GPUs: docs/isa.md shows that wide tiles can be faster there, and nobody has measured
/// them on others.
AttentionTile attention_tile(const DeviceParameters& device, const AttentionShape& shape);
/// Estimated seconds of a pass in such tiles.
double estimate(const DeviceParameters& device, const AttentionShape& shape, const AttentionTile& tile);

} // namespace rekindle::products
