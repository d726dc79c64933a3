#include "convolution_units.h"

#include "../../dispatch/limits.h"
#include "convolution_padded.h"
#include "convolution_pointwise.h"
#include "matrices.h"
#include "planner.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/convolution_units.h>
#include <rekindle/kernels/values.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace rvk {

namespace {

using at::Tensor;
using kernels::ceil_div;
using Operation = ConvolutionOperation;

using products::Plan;

constexpr std::int64_t least_tile = 64;

/// The product C = A * B that convolution_units.slang computes.
struct UnitsWork {
    const Geometry& g;
    Operation operation;
    std::uint32_t form;
    std::int64_t m, n, k;
    Size3 grid, image;
    std::int64_t image_channels, matrix_rows; ///< matrix_rows: of the weight, or channels of the gradient

    /// by_channels: the result is contiguous, not in channels_last.
    UnitsWork(const Geometry& geometry, Operation op, bool by_channels) : g(geometry), operation(op) {
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
    products::ConvolutionShape shape(at::ScalarType dtype) const {
        return {.type = element_type(dtype),
                .pass = operation,
                .m = m,
                .n = n,
                .k = k,
                .channels = image_channels,
                .taps = volume(g.kernel),
                .images = by_channels() ? g.batch : 1};
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

std::int32_t narrow_signed(std::int64_t value) {
    return static_cast<std::int32_t>(value);
}

/// The parameters except the addresses and k_part.
kernels::ConvolutionUnitsParameters UnitsWork::parameters() const {
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
    // The forward pass reads at the offset dilation * tap - padding, the input gradient at the negated
    // offset.
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

/// The tensors of one launch, in channels_last.
struct Factors {
    const Tensor &image, &matrix;
};

/// result: float32 [parts, m, n] if k is split, otherwise in the result's dtype.
void launch_product(const UnitsWork& work, const Plan& plan, const Factors& factors, const Tensor& result,
                    const Tensor& bias) {
    const products::Tile& tile = plan.tile;
    const bool in_parts = plan.parts > 1;
    kernels::ConvolutionUnitsParameters p = work.parameters();
    p.image = address(factors.image);
    p.matrix = address(factors.matrix);
    p.result = address(result);
    p.bias = bias.defined() ? address(bias) : 0;
    p.k_part = narrow(plan.k_part);
    const std::int64_t row = work.by_channels() && !in_parts ? volume(work.grid) : work.n;
    kernels::ConvolutionUnitsConstants constants{
        .dtype = dtype_code(result.scalar_type()),
        .edges = work.m % tile.rows != 0 || work.n % tile.columns != 0,
        .shared_numbers = 1,
        .subgroup_size = tile.subgroup_size,
        .idle_subgroups = tile.idle_subgroups,
        .one_slice = plan.is_one_slice(),
        .stores_eights = result.element_size() == 2 && row % 8 == 0 && address(result) % 16 == 0,
        .shared_eights = tile.shared_eights,
        .form = work.form,
        .whole_slices = work.k % tile.depth == 0,
        .in_parts = in_parts,
        .has_bias = bias.defined(),
        .stores_quads = row % 4 == 0 && address(result) % 16 == 0};
    const Groups groups{narrow(ceil_div<std::int64_t>(work.n, tile.columns)),
                        narrow(ceil_div<std::int64_t>(work.m, tile.rows)), narrow(plan.parts)};
    std::array accesses{reads(factors.image), reads(factors.matrix), writes(result), Access{}};
    if (bias.defined())
        accesses[3] = reads(bias);
    launch(result.device().index(), *tile.kernel, groups, std::as_bytes(std::span(&p, 1)),
           std::span(accesses).first(bias.defined() ? 4 : 3), constants.list());
}

/// Sums the parts into the result: [pixels, channels], or [channels, pixels] for each image.
void combine_pixels(const UnitsWork& work, const Plan& plan, const Tensor& sums, const Tensor& result,
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

/// Sums the parts [output channels, taps, input channels] into the weight's gradient.
void combine_weight(const UnitsWork& work, const Plan& plan, const Tensor& sums, const Tensor& weight) {
    const std::int64_t m = work.m, n = work.n, taps = volume(work.g.kernel), channels = work.image_channels;
    const ProductSizes sizes{weight.device(), weight.scalar_type(), is_by_pixels(weight) ? 1 : taps};
    if (is_by_pixels(weight))
        combine_parts(sizes, {sums, plan.parts, 0, m * n, n},
                      {address(weight), m, n, n, 1, 0, writes(weight)});
    else
        combine_parts(sizes, {sums, plan.parts, channels, m * n, n},
                      {address(weight), m, channels, n, taps, 1, writes(weight)});
}

Tensor sums_of(const UnitsWork& work, const Plan& plan, const Tensor& result) {
    return at::empty({plan.parts, work.m, work.n}, result.options().dtype(at::kFloat));
}

/// The tensor, or a copy if its address is not aligned for loads of eight numbers.
Tensor aligned(const Tensor& tensor) {
    return address(tensor) % 16 == 0 ? tensor : tensor.clone();
}

void run_pixels(const UnitsWork& work, const Plan& plan, const ConvolutionOperands& operands) {
    const Tensor &weight = operands.other, &bias = operands.bias, &result = operands.result;
    const Tensor image = aligned(by_pixels(operands.image));
    const Tensor matrix =
        aligned(work.operation == Operation::forward ? by_pixels(weight)
                                                     : weight.flatten(2).permute({1, 2, 0}).contiguous());
    if (plan.parts == 1) {
        launch_product(work, plan, {image, matrix}, result, bias);
        return;
    }
    const Tensor sums = sums_of(work, plan, result);
    launch_product(work, plan, {image, matrix}, sums, {});
    combine_pixels(work, plan, sums, result, bias);
}

void run_weight(const UnitsWork& work, const Plan& plan, const ConvolutionOperands& operands) {
    const Tensor& result = operands.result;
    const Tensor image = aligned(by_pixels(operands.image)), gradient = aligned(by_pixels(operands.other));
    if (plan.parts > 1) {
        const Tensor sums = sums_of(work, plan, result);
        launch_product(work, plan, {image, gradient}, sums, {});
        combine_weight(work, plan, sums, result);
    } else if (is_by_pixels(result)) {
        launch_product(work, plan, {image, gradient}, result, {});
    } else {
        const Tensor weight =
            at::empty({work.m, volume(work.g.kernel), work.image_channels}, result.options());
        launch_product(work, plan, {image, gradient}, weight, {});
        result.flatten(2).transpose(1, 2).copy_(weight);
    }
}

/// Whether a matrix product can read the images without a copy, eight numbers at a time.
bool is_product(const Geometry& g, const ConvolutionOperands& operands) {
    if (!g.per_pixel())
        return false;
    const Tensor &image = operands.image, &result = operands.result;
    return (is_by_pixels(image) && is_by_pixels(result)) ||
           (image.is_contiguous() && result.is_contiguous() && volume(g.output) % 8 == 0);
}

} // namespace

bool units_suit(const Geometry& g, ConvolutionOperation operation, at::ScalarType dtype, c10::Device device) {
    if (!products::has_matrix_units(planner(device.index()).device(), element_type(dtype)) || g.groups != 1 ||
        g.dimensions() > 2 || (operation == Operation::input_gradient && !g.unit_stride()))
        return false;
    const PaddedConvolution convolution(g, operation);
    if (convolution.is_padded() && g.per_pixel()) // a matrix product needs no padding
        return false;
    const Geometry& padded = convolution.geometry();
    const UnitsWork work(padded, operation, false);
    if (std::min({work.m, work.n, work.k}) < 16 || !work.fits())
        return false;
    // Assumes the worst case: contiguous images, which must be copied to channels_last.
    const std::int64_t gradient = operation == Operation::weight_gradient ? work.m * work.k : 0;
    const std::int64_t weight = padded.in_channels * padded.out_channels * volume(g.kernel);
    const std::int64_t moved = g.batch * volume(work.image) * work.image_channels + gradient + weight;
    return planner(device.index())
        .units_are_faster(work.shape(dtype),
                          static_cast<double>(moved) * static_cast<double>(c10::elementSize(dtype)));
}

namespace {

void run(const UnitsWork& work, const Plan& plan, const ConvolutionOperands& operands) {
    if (work.of_weight())
        run_weight(work, plan, operands);
    else
        run_pixels(work, plan, operands);
}

/// Returns the plan that measures fastest.
Plan tuned_plan(const UnitsWork& work, const Plan& plan, const ConvolutionOperands& operands) {
    if (!is_tuned({operands.result}))
        return plan;
    const at::ScalarType dtype = operands.result.scalar_type();
    const std::vector<Plan> plans = products::plans_to_try(
        plan,
        products::possible_unit_plans(planner(operands.result.device().index()).device(), work.shape(dtype)));
    return plans[tuned({key_of(work.shape(dtype)) + (work.by_channels() ? " by channels" : " by pixels"),
                        products::names_of(plans),
                        [&](std::size_t i) { run(work, plans[i], operands); },
                        {operands.result},
                        sum_tolerance(dtype, work.k)})];
}

} // namespace

void convolve_on_units(const Geometry& g, ConvolutionOperation operation,
                       const ConvolutionOperands& operands) {
    if (const PaddedConvolution padded(g, operation); padded.is_padded()) {
        const ConvolutionOperands with_zeros = padded.pad(operation, operands);
        convolve_on_units(padded.geometry(), operation, with_zeros);
        if (operation == ConvolutionOperation::weight_gradient)
            padded.copy_weight_gradient(with_zeros.result, operands.result);
        return;
    }
    if (operation != Operation::weight_gradient && is_product(g, operands)) {
        multiply_pixels(g, operation, operands);
        return;
    }
    if (operation == Operation::weight_gradient && sum_products_of_images(g, operands))
        return;
    const UnitsWork work(g, operation, !is_by_pixels(operands.result));
    const Tensor& result = operands.result;
    const auto plan = planner(result.device().index()).unit_plan(work.shape(result.scalar_type()));
    TORCH_INTERNAL_ASSERT(plan);
    run(work, tuned_plan(work, *plan, operands), operands);
}

} // namespace rvk
