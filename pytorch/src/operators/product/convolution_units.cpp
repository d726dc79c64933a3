#include "convolution_units.h"

#include "../../dispatch/limits.h"
#include "convolution_pointwise.h"
#include "matrices.h"
#include "product_plan.h"

#include <rekindle/kernels/families/convolution_units.h>
#include <rekindle/kernels/families/convolution_units_bfloat16.h>
#include <rekindle/kernels/values.h>
#include <rekindle/runtime/matrix_units.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace rvk {

namespace {

using at::Tensor;
using kernels::ceil_div;
using Operation = ConvolutionOperation;

/// A tile of a convolution, with the figures that determine its estimated time (measured on an H200).
struct Tile {
    const kernels::ConvolutionUnitsVariant* variant = nullptr;
    std::int64_t rows = 0, columns = 0, depth = 0;
    std::int64_t resident = 1; ///< workgroups that a compute unit runs at the same time
    double speed = 1;          ///< with that many, relative to other tiles

    explicit Tile(const kernels::ConvolutionUnitsVariant& of)
        : variant(&of), rows(of.rows), columns(of.columns), depth(of.depth) {
        const std::int64_t size = rows * columns;
        if (size > 128 * 128)
            speed = 1.15;
        else if (size == 128 * 64)
            resident = 3, speed = 0.9;
        else if (size == 64 * 64)
            resident = 4, speed = 0.65;
    }
    std::uint32_t shared_eights() const {
        return runtime::eights_of_slice(variant->rows, variant->depth) +
               runtime::eights_of_slice(variant->columns, variant->depth);
    }
};

constexpr std::int64_t least_tile = 64;
/// The same for all tiles.
constexpr std::int64_t slice_depth = kernels::convolution_units_variants[0].depth;

/// A device's matrix units for one type of factors; `tile` has the constants of their kernels.
struct Units {
    runtime::UnitFactor factor;
    runtime::UnitTile tile;

    static std::optional<Units> of(at::ScalarType dtype, c10::Device on) {
        const auto factor = unit_factor(dtype);
        const auto tile = factor ? runtime::unit_tile(device(on.index()), *factor, {}) : std::nullopt;
        return tile ? std::optional(Units{*factor, *tile}) : std::nullopt;
    }
};

/// The tiles that the device can run, in the shape of its matrix units.
std::vector<Tile> usable_tiles(const Units& units, c10::Device on) {
    const std::span<const kernels::ConvolutionUnitsVariant> variants =
        units.factor == runtime::UnitFactor::bfloat16
            ? std::span<const kernels::ConvolutionUnitsVariant>(kernels::convolution_units_variants_bfloat16)
            : kernels::convolution_units_variants;
    const kernels::Features usable = device(on.index()).usable_features();
    std::vector<Tile> tiles;
    for (const kernels::ConvolutionUnitsVariant& one : variants)
        if (units.tile.kernel->needs.contains(one.unit) && usable.contains(one.kernel->needs))
            tiles.emplace_back(one);
    return tiles;
}

/// C = A * B of convolution_units.slang.
struct Work {
    const Geometry& g;
    Operation operation;
    std::uint32_t form;
    std::int64_t m, n, k;
    Size3 grid, image;
    std::int64_t image_channels, matrix_rows; ///< of the weight, or channels of the gradient

    /// by_channels: the result is contiguous, not in channels_last.
    Work(const Geometry& geometry, Operation op, bool by_channels) : g(geometry), operation(op) {
        const bool backward = op == Operation::input_gradient;
        form = op == Operation::weight_gradient ? kernels::value::convolution_form_of_weight
               : by_channels                    ? kernels::value::convolution_form_by_channels
                                                : kernels::value::convolution_form_by_pixels;
        image = backward ? g.output : g.input;
        grid = backward ? g.input : g.output;
        image_channels = backward ? g.out_channels : g.in_channels;
        matrix_rows = backward ? g.in_channels : g.out_channels;
        const std::int64_t pixels = g.batch * volume(grid), gathered = image_channels * volume(g.kernel);
        m = matrix_rows;
        n = of_weight() ? gathered : pixels;
        k = of_weight() ? pixels : gathered;
        if (form == kernels::value::convolution_form_by_pixels)
            std::swap(m, n);
    }

    bool of_weight() const { return operation == Operation::weight_gradient; }
    bool by_channels() const { return form == kernels::value::convolution_form_by_channels; }
    double products() const {
        return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }
    /// Whether the sizes fit in the kernels' 32-bit numbers.
    bool fits() const {
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        return std::max({m, n, k}) <= most / 2 && std::max(m, n) <= most_groups * least_tile &&
               g.batch * volume(image) <= most / (image_channels / 8) && matrix_rows <= most / (k / 8 + 1) &&
               volume(g.kernel) <= most_groups;
    }
    kernels::ConvolutionUnitsParameters parameters() const;
};

std::uint32_t narrow(std::int64_t value) {
    return static_cast<std::uint32_t>(value);
}
std::int32_t narrow_signed(std::int64_t value) {
    return static_cast<std::int32_t>(value);
}

/// The parameters except the addresses and k_part.
kernels::ConvolutionUnitsParameters Work::parameters() const {
    const bool backward = operation == Operation::input_gradient;
    const std::int64_t sign = backward ? -1 : 1;
    const Quotient eights(image_channels / 8), taps(g.kernel[2]), height(grid[1]), width(grid[2]);
    kernels::ConvolutionUnitsParameters p{};
    p.m = narrow(m);
    p.n = narrow(n);
    p.k = narrow(k);
    p.image_eights = narrow(image_channels / 8);
    p.matrix_eights = narrow((of_weight() ? g.out_channels : k) / 8);
    p.image_height = narrow(image[1]);
    p.image_width = narrow(image[2]);
    p.grid_height = narrow(grid[1]);
    p.grid_width = narrow(grid[2]);
    p.kernel_width = narrow(g.kernel[2]);
    // A tap of the forward pass reads from there; in the input gradient, one writes there.
    p.first_y = narrow_signed(-sign * g.padding[1]);
    p.first_x = narrow_signed(-sign * g.padding[2]);
    p.tap_y = narrow_signed(sign * g.dilation[1]);
    p.tap_x = narrow_signed(sign * g.dilation[2]);
    p.stride_y = narrow(g.stride[1]);
    p.stride_x = narrow(g.stride[2]);
    p.eights_multiplier = eights.multiplier;
    p.kernel_multiplier = taps.multiplier;
    p.height_multiplier = height.multiplier;
    p.width_multiplier = width.multiplier;
    p.shifts = eights.shift | (taps.shift << 8) | (height.shift << 16) | (width.shift << 24);
    return p;
}

/// The tile, and the split of k.
struct Plan {
    std::optional<Tile> tile;
    std::int64_t parts = 1, k_part = 0;
};

/// Finds the plan with the least estimated time.
class Planner {
  public:
    Planner(const Work& work, c10::Device on) : work_(work), multiprocessors_(multiprocessors(on)) {}

    Plan best(const Units& units, c10::Device on) {
        const std::int64_t most_parts = work_.of_weight() ? std::clamp<std::int64_t>(work_.k / 256, 1, 128)
                                                          : std::clamp<std::int64_t>(work_.k / 512, 1, 16);
        for (const Tile& tile : usable_tiles(units, on)) {
            consider(tile, 1);
            // Splits that give each compute unit one to four workgroups.
            for (std::int64_t groups = 1; groups <= 4; ++groups)
                consider(tile, std::clamp<std::int64_t>(groups * multiprocessors_ / groups_of(tile), 1,
                                                        most_parts));
        }
        return best_;
    }

  private:
    std::int64_t groups_of(const Tile& tile) const {
        return ceil_div(work_.m, tile.rows) * ceil_div(work_.n, tile.columns);
    }

    void consider(const Tile& tile, std::int64_t target_parts) {
        const std::int64_t parts_needed =
            std::max(target_parts, ceil_div(work_.k, most_iterations * slice_depth));
        Plan plan{tile};
        plan.k_part = ceil_div(ceil_div(work_.k, parts_needed), slice_depth) * slice_depth;
        plan.parts = ceil_div(work_.k, plan.k_part);
        const double time = time_of(plan);
        if (!best_.tile || time < least_) {
            best_ = plan;
            least_ = time;
        }
    }

    /// Estimated time, in multiply-adds of one compute unit.
    double time_of(const Plan& plan) const {
        constexpr double of_start_and_end = 128; // fixed cost per workgroup, in iterations over k
        // Per partial sum that is written and added; of the launch that adds them.
        constexpr double of_a_part = 2.7, of_combining = 2.5e6;
        const Tile& tile = *plan.tile;
        const std::int64_t groups =
            ceil_div(groups_of(tile) * plan.parts, multiprocessors_); // on the busiest unit
        const double filled = std::min(1.0, static_cast<double>(groups) / static_cast<double>(tile.resident));
        const double speed = tile.speed * (0.5 + 0.5 * filled);
        double time = static_cast<double>(groups * tile.rows * tile.columns) *
                      (static_cast<double>(plan.k_part) + of_start_and_end) / speed;
        if (plan.parts > 1)
            time += of_combining + of_a_part * static_cast<double>(plan.parts) *
                                       static_cast<double>(work_.m) * static_cast<double>(work_.n);
        return time;
    }

    const Work& work_;
    std::int64_t multiprocessors_;
    Plan best_;
    double least_ = 0;
};

/// The tensors of one launch, in channels_last.
struct Factors {
    const Tensor &image, &matrix;
};

/// result: float32 [parts, m, n] if k is split, otherwise in the result's dtype.
void launch_product(const Work& work, const Plan& plan, const Units& units, const Factors& factors,
                    const Tensor& result, const Tensor& bias) {
    const bool in_parts = plan.parts > 1;
    kernels::ConvolutionUnitsParameters p = work.parameters();
    p.image = address(factors.image);
    p.matrix = address(factors.matrix);
    p.result = address(result);
    p.bias = bias.defined() ? address(bias) : 0;
    p.k_part = narrow(plan.k_part);
    const std::int64_t row = work.by_channels() && !in_parts ? volume(work.grid) : work.n;
    kernels::ConvolutionUnitsConstants constants{.dtype = dtype_code(result.scalar_type()),
                                                 .edges = work.m % plan.tile->rows != 0 ||
                                                          work.n % plan.tile->columns != 0,
                                                 .shared_numbers = 1,
                                                 .subgroup_size = units.tile.constants.subgroup_size,
                                                 .idle_subgroups = units.tile.constants.idle_subgroups,
                                                 .shared_eights = plan.tile->shared_eights(),
                                                 .form = work.form,
                                                 .whole_slices = work.k % slice_depth == 0,
                                                 .in_parts = in_parts,
                                                 .has_bias = bias.defined(),
                                                 .stores_quads = row % 4 == 0 && address(result) % 16 == 0};
    const Groups groups{narrow(ceil_div(work.n, plan.tile->columns)),
                        narrow(ceil_div(work.m, plan.tile->rows)), narrow(plan.parts)};
    std::array accesses{reads(factors.image), reads(factors.matrix), writes(result), Access{}};
    if (bias.defined())
        accesses[3] = reads(bias);
    launch(result.device().index(), *plan.tile->variant->kernel, groups, std::as_bytes(std::span(&p, 1)),
           std::span(accesses).first(bias.defined() ? 4 : 3), constants.list());
}

/// Adds the parts into the result: [pixels, channels], or [channels, pixels] for each image.
void combine_pixels(const Work& work, const Plan& plan, const Tensor& sums, const Tensor& result,
                    const Tensor& bias) {
    const std::int64_t pixels = volume(work.grid), m = work.m, n = work.n;
    const bool images = work.by_channels();
    const Matrices to{address(result),     m, images ? pixels : n,
                      images ? pixels : n, 1, images ? m * pixels : 0,
                      writes(result)};
    std::optional<Matrices> added;
    if (bias.defined())
        added = Matrices::broadcast_of(images ? bias.unsqueeze(1) : bias, to.rows, to.columns);
    combine_parts({result.device(), result.scalar_type(), images ? work.g.batch : 1},
                  {sums, plan.parts, images ? pixels : 0, m * n, n}, to, 1, added, bias.defined() ? 1 : 0);
}

/// Adds the parts [channels, taps, channels] into the weight's gradient.
void combine_weight(const Work& work, const Plan& plan, const Tensor& sums, const Tensor& weight) {
    const std::int64_t m = work.m, n = work.n, taps = volume(work.g.kernel), channels = work.image_channels;
    const ProductSizes sizes{weight.device(), weight.scalar_type(), is_by_pixels(weight) ? 1 : taps};
    if (is_by_pixels(weight))
        combine_parts(sizes, {sums, plan.parts, 0, m * n, n},
                      {address(weight), m, n, n, 1, 0, writes(weight)});
    else
        combine_parts(sizes, {sums, plan.parts, channels, m * n, n},
                      {address(weight), m, channels, n, taps, 1, writes(weight)});
}

Tensor sums_of(const Work& work, const Plan& plan, const Tensor& result) {
    return at::empty({plan.parts, work.m, work.n}, result.options().dtype(at::kFloat));
}

/// The tensor, or a copy, aligned for loads of eight numbers.
Tensor aligned(const Tensor& tensor) {
    return address(tensor) % 16 == 0 ? tensor : tensor.clone();
}

void run_pixels(const Work& work, const Plan& plan, const Units& units, const ConvolutionOperands& operands) {
    const Tensor &weight = operands.other, &bias = operands.bias, &result = operands.result;
    const Tensor image = aligned(by_pixels(operands.image));
    const Tensor matrix =
        aligned(work.operation == Operation::forward ? by_pixels(weight)
                                                     : weight.flatten(2).permute({1, 2, 0}).contiguous());
    if (plan.parts == 1) {
        launch_product(work, plan, units, {image, matrix}, result, bias);
        return;
    }
    const Tensor sums = sums_of(work, plan, result);
    launch_product(work, plan, units, {image, matrix}, sums, {});
    combine_pixels(work, plan, sums, result, bias);
}

void run_weight(const Work& work, const Plan& plan, const Units& units, const ConvolutionOperands& operands) {
    const Tensor& result = operands.result;
    const Tensor image = aligned(by_pixels(operands.image)), gradient = aligned(by_pixels(operands.other));
    if (plan.parts > 1) {
        const Tensor sums = sums_of(work, plan, result);
        launch_product(work, plan, units, {image, gradient}, sums, {});
        combine_weight(work, plan, sums, result);
    } else if (is_by_pixels(result)) {
        launch_product(work, plan, units, {image, gradient}, result, {});
    } else {
        const Tensor weight =
            at::empty({work.m, volume(work.g.kernel), work.image_channels}, result.options());
        launch_product(work, plan, units, {image, gradient}, weight, {});
        result.flatten(2).transpose(1, 2).copy_(weight);
    }
}

/// Whether a product of matrices can read the images without a copy, eight numbers at a time.
bool is_product(const Geometry& g, const ConvolutionOperands& operands) {
    if (!g.per_pixel())
        return false;
    const Tensor &image = operands.image, &result = operands.result;
    return (is_by_pixels(image) && is_by_pixels(result)) ||
           (image.is_contiguous() && result.is_contiguous() && volume(g.output) % 8 == 0);
}

} // namespace

bool units_suit(const Geometry& g, ConvolutionOperation operation, at::ScalarType dtype, c10::Device device) {
    const bool of_weight = operation == Operation::weight_gradient;
    if (!unit_factor(dtype) || g.groups != 1 || g.dimensions() > 2 ||
        (operation == Operation::input_gradient && !g.unit_stride()))
        return false;
    // A load reads eight channels.
    if ((operation != Operation::input_gradient && g.in_channels % 8 != 0) ||
        (operation != Operation::forward && g.out_channels % 8 != 0))
        return false;
    const Work work(g, operation, false);
    if (std::min({work.m, work.n, work.k}) < 16 || !work.fits())
        return false;
    // Cost in float32 multiply-adds; matrix units take a fifth of the time. Assumes contiguous images, which
    // have to be copied.
    constexpr double of_moving_an_element = 32, of_launches = 1 << 26;
    const double image = static_cast<double>(g.batch * volume(work.image) * work.image_channels);
    const double gradient = of_weight ? static_cast<double>(work.m * work.k) : 0;
    const double weight = static_cast<double>(g.in_channels * g.out_channels * volume(g.kernel));
    return work.products() * 0.8 >= of_launches + of_moving_an_element * (image + gradient + weight) &&
           Units::of(dtype, device);
}

void convolve_on_units(const Geometry& g, ConvolutionOperation operation,
                       const ConvolutionOperands& operands) {
    const auto units = Units::of(operands.image.scalar_type(), operands.result.device());
    TORCH_INTERNAL_ASSERT(units);
    const bool of_weight = operation == Operation::weight_gradient;
    if (!of_weight && is_product(g, operands)) {
        multiply_pixels(g, operation, operands);
        return;
    }
    const Work work(g, operation, !is_by_pixels(operands.result));
    const Plan plan = Planner(work, operands.result.device()).best(*units, operands.result.device());
    if (of_weight)
        run_weight(work, plan, *units, operands);
    else
        run_pixels(work, plan, *units, operands);
}

} // namespace rvk
