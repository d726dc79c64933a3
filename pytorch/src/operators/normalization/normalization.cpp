/// Layer, group and RMS norm: kernels/normalization/norm_rows.slang and norm_sums.slang.

#include "normalization.h"

#include "../../dispatch/limits.h"
#include "../../dispatch/same_dtype.h"
#include "../../dispatch/structured.h"
#include "../reduction/reduction_launch.h"

#include <rekindle/kernels/families/norm_rows.h>
#include <rekindle/kernels/families/norm_rows_float64.h>
#include <rekindle/kernels/families/norm_sums.h>
#include <rekindle/kernels/families/norm_sums_float64.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <array>
#include <limits>

namespace rvk {

at::Tensor contiguous_or_undefined(const std::optional<at::Tensor>& tensor) {
    return tensor && tensor->defined() ? tensor->contiguous() : at::Tensor();
}

at::ScalarType statistics_type(at::ScalarType input) {
    return input == at::kDouble ? at::kDouble : at::kFloat;
}

void check_norm_input(const at::Tensor& input) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(input.scalar_type()), "norms of ", input.scalar_type());
    require_float64(input.scalar_type(), input.device());
    TORCH_CHECK_NOT_IMPLEMENTED(input.numel() <= std::numeric_limits<std::uint32_t>::max(),
                                "norms of 2^32 elements or more");
}

void gradient_sums(const GradientSums& request) {
    using Parameters = kernels::NormSumsParameters;
    const at::Tensor& gradient = request.gradient;
    const bool wide = gradient.scalar_type() == at::kDouble;
    const auto schedule =
        schedule_reduction(request.outputs, request.reduced, request.reduced_stride0 < request.kept_stride);
    const at::Tensor scratch = reduction_scratch(schedule, request.outputs, gradient.device());
    const auto address_or_zero = [](const at::Tensor& tensor) {
        return tensor.defined() ? address(tensor) : 0;
    };
    const auto type = [](const at::Tensor& tensor) {
        return tensor.defined() ? dtype_code(tensor.scalar_type()) : dtype_code(at::kFloat);
    };
    const at::Tensor& result = request.sum.defined() ? request.sum : request.product;
    const Parameters p{.gradient = address(gradient),
                       .input = address(request.input),
                       .mean = address_or_zero(request.mean),
                       .rstd = address_or_zero(request.rstd),
                       .sum = address_or_zero(request.sum),
                       .product = address_or_zero(request.product),
                       .partial = address_or_zero(scratch),
                       .outputs = static_cast<std::uint32_t>(request.outputs),
                       .reduced = static_cast<std::uint32_t>(request.reduced),
                       .parts = schedule.parts,
                       .part_size = schedule.part_size,
                       .kept_stride = static_cast<std::int32_t>(request.kept_stride),
                       .reduced_size = static_cast<std::uint32_t>(request.reduced_size),
                       .reduced_stride0 = static_cast<std::int32_t>(request.reduced_stride0),
                       .reduced_stride1 = static_cast<std::int32_t>(request.reduced_stride1),
                       .statistics_divisor = static_cast<std::uint32_t>(request.statistics_divisor)};
    const kernels::NormSumsConstants constants{
        .gradient_type = dtype_code(gradient.scalar_type()),
        .input_type = dtype_code(request.input.scalar_type()),
        .statistics_type = type(request.rstd),
        .sum_type = type(result),
        .reduced_rank = request.reduced_size == request.reduced ? 1u : 2u,
        .statistics_by_element = request.statistics_divisor == 0 ? 1u : 0u,
        .has_mean = request.mean.defined() ? 1u : 0u,
        .has_rstd = request.rstd.defined() ? 1u : 0u,
        .has_sum = request.sum.defined() ? 1u : 0u,
        .has_product = request.product.defined() ? 1u : 0u,
        .columns = schedule.columns,
        .columns_fastest = schedule.columns_fastest ? 1u : 0u,
        .split = schedule.parts > 1 ? 1u : 0u,
    };
    c10::SmallVector<Access, 8> accesses{reads(gradient), reads(request.input)};
    for (const auto* tensor : {&request.mean, &request.rstd})
        if (tensor->defined())
            accesses.push_back(reads(*tensor));
    c10::SmallVector<Access, 4> results;
    for (const auto* tensor : {&request.sum, &request.product})
        if (tensor->defined())
            results.push_back(writes(*tensor));
    const ReductionKernels wide_kernels{kernels::norm_gradient_sums_float64.kernel,
                                        kernels::norm_gradient_sums_parts_float64.kernel};
    const ReductionKernels narrow_kernels{kernels::norm_gradient_sums.kernel,
                                          kernels::norm_gradient_sums_parts.kernel};
    launch_reduction(schedule, wide ? wide_kernels : narrow_kernels, std::as_bytes(std::span(&p, 1)), scratch,
                     accesses, results, constants, gradient.device());
}

namespace {

using Accesses = c10::SmallVector<Access, 8>;
using RowParameters = kernels::NormRowsParameters;

/// The tensor's address, recorded as read; 0 if it is undefined.
std::uint64_t read_if_defined(const at::Tensor& tensor, Accesses& accesses) {
    if (!tensor.defined())
        return 0;
    accesses.push_back(reads(tensor));
    return address(tensor);
}

/// A contiguous matrix whose rows are normalized. groups is 0 except for group norm.
struct RowNorm {
    std::int64_t rows = 0, size = 0;
    std::int64_t groups = 0, channels = 1, spatial = 1; ///< channels per group, positions per channel
    bool centered = true;
    double epsilon = 0;

    RowParameters parameters(bool wide) const {
        RowParameters p{};
        p.epsilon = compute_bits(epsilon, wide);
        p.rows = static_cast<std::uint32_t>(rows);
        p.size = static_cast<std::uint32_t>(size);
        p.groups = static_cast<std::uint32_t>(groups);
        p.channels = static_cast<std::uint32_t>(channels);
        p.spatial = static_cast<std::uint32_t>(spatial);
        return p;
    }
};

/// What a launch computes; see kernels/normalization/norm_rows.slang.
enum class Stage : std::uint32_t { whole, sums, squares, results };

struct RowKernels {
    const kernels::Kernel &rows, &merge;
};

/// Queues one launch if a workgroup can process a row. Otherwise rows are split into parts: for each of
/// `states`, a launch computes it for the parts and another merges them; a last launch computes the results.
/// Sets the constants `stage` and `columns` of each launch.
void launch_rows(RowParameters& p, RowKernels kernels, std::initializer_list<Stage> states,
                 kernels::NormRowsConstants constants, std::span<const Access> accesses, c10::Device device,
                 bool wide) {
    constexpr std::int64_t longest = most_iterations / 4; // elements per thread, each read three times
    ReductionSchedule schedule = schedule_lines(p.rows, p.size, true, longest);
    const bool aligned = std::ranges::all_of(std::array{p.input, p.gradient, p.weight, p.bias, p.output},
                                             [](std::uint64_t begin) { return begin % 16 == 0; });
    if (aligned && !wide)
        constants.kept_quads = keep_lines(schedule, p.rows, p.size);
    const at::Tensor scratch = reduction_scratch(schedule, p.rows, device);
    p.parts = schedule.parts;
    p.part_size = schedule.part_size;
    c10::SmallVector<Access, 10> all(accesses.begin(), accesses.end());
    if (scratch.defined()) {
        p.partial = address(scratch);
        all.push_back(writes(scratch));
    }
    const auto run = [&](const kernels::Kernel& kernel, Stage stage, std::uint32_t columns, Groups groups) {
        constants.stage = static_cast<std::uint32_t>(stage);
        constants.columns = columns;
        launch(device.index(), kernel, groups, std::as_bytes(std::span(&p, 1)), all, constants);
    };
    if (schedule.parts == 1) {
        run(kernels.rows, Stage::whole, schedule.columns, schedule.groups);
        return;
    }
    for (const Stage stage : states) {
        run(kernels.rows, stage, schedule.columns, schedule.groups);
        run(kernels.merge, stage, schedule.merge_columns, schedule.merge_groups);
    }
    run(kernels.rows, Stage::results, schedule.columns, schedule.groups);
}

void forward_rows(const RowNorm& norm, const at::Tensor& input, const at::Tensor& weight,
                  const at::Tensor& bias, const at::Tensor& output, const at::Tensor& mean,
                  const at::Tensor& rstd) {
    if (input.numel() == 0)
        return;
    check_norm_input(input);
    const bool wide = input.scalar_type() == at::kDouble;
    RowParameters p = norm.parameters(wide);
    p.input = address(input);
    p.output = address(output);
    p.rstd = address(rstd);
    Accesses accesses{reads(input), writes(output), writes(rstd)};
    if (norm.centered) {
        p.mean = address(mean);
        accesses.push_back(writes(mean));
    }
    const at::Tensor& affine = weight.defined() ? weight : bias;
    p.weight = read_if_defined(weight, accesses);
    p.bias = read_if_defined(bias, accesses);
    const kernels::NormRowsConstants constants{
        .input_type = dtype_code(input.scalar_type()),
        .weight_type = dtype_code(affine.defined() ? affine.scalar_type() : at::kFloat),
        .output_type = dtype_code(output.scalar_type()),
        .statistics_type = dtype_code(rstd.scalar_type()),
        .has_weight = weight.defined() ? 1u : 0u,
        .has_bias = bias.defined() ? 1u : 0u,
        .grouped = norm.groups != 0 ? 1u : 0u,
        .centered = norm.centered ? 1u : 0u,
    };
    const RowKernels in_float32{kernels::norm_rows_forward.kernel, kernels::norm_rows_merge.kernel},
        in_float64{kernels::norm_rows_forward_float64.kernel, kernels::norm_rows_merge_float64.kernel};
    const RowKernels& used = wide ? in_float64 : in_float32;
    if (norm.centered)
        launch_rows(p, used, {Stage::sums, Stage::squares}, constants, accesses, input.device(), wide);
    else
        launch_rows(p, used, {Stage::squares}, constants, accesses, input.device(), wide);
}

void backward_rows(const RowNorm& norm, const at::Tensor& gradient, const at::Tensor& input,
                   const at::Tensor& weight, const at::Tensor& mean, const at::Tensor& rstd,
                   const at::Tensor& output) {
    check_norm_input(input);
    const bool wide = input.scalar_type() == at::kDouble;
    RowParameters p = norm.parameters(wide);
    p.input = address(input);
    p.gradient = address(gradient);
    p.output = address(output);
    p.rstd = address(rstd);
    Accesses accesses{reads(input), reads(gradient), reads(rstd), writes(output)};
    if (norm.centered) {
        p.mean = address(mean);
        accesses.push_back(reads(mean));
    }
    p.weight = read_if_defined(weight, accesses);
    const kernels::NormRowsConstants constants{
        .input_type = dtype_code(input.scalar_type()),
        .gradient_type = dtype_code(gradient.scalar_type()),
        .weight_type = dtype_code(weight.defined() ? weight.scalar_type() : at::kFloat),
        .output_type = dtype_code(output.scalar_type()),
        .statistics_type = dtype_code(rstd.scalar_type()),
        .has_weight = weight.defined() ? 1u : 0u,
        .grouped = norm.groups != 0 ? 1u : 0u,
        .centered = norm.centered ? 1u : 0u,
    };
    const RowKernels in_float32{kernels::norm_rows_backward.kernel, kernels::norm_rows_backward_merge.kernel},
        in_float64{kernels::norm_rows_backward_float64.kernel,
                   kernels::norm_rows_backward_merge_float64.kernel};
    launch_rows(p, wide ? in_float64 : in_float32, {Stage::sums}, constants, accesses, input.device(), wide);
}

/// The rows of a normalization over the last dimensions, and the shape of its statistics.
struct LayerShape {
    RowNorm norm;
    c10::SmallVector<std::int64_t, 8> statistics;

    LayerShape(const at::Tensor& input, at::IntArrayRef normalized_shape) {
        const auto normalized = static_cast<std::int64_t>(normalized_shape.size());
        TORCH_CHECK(normalized >= 1,
                    "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
                    "least one element, but got normalized_shape = ",
                    normalized_shape);
        TORCH_CHECK(input.dim() >= normalized && input.sizes().slice(static_cast<std::size_t>(
                                                     input.dim() - normalized)) == normalized_shape,
                    "Given normalized_shape=", normalized_shape, ", expected input with shape [*, ",
                    normalized_shape, "], but got input of size", input.sizes());
        norm.rows = norm.size = 1;
        for (std::int64_t d = 0; d < input.dim(); ++d) {
            const bool row = d < input.dim() - normalized;
            (row ? norm.rows : norm.size) *= input.size(d);
            statistics.push_back(row ? input.size(d) : 1);
        }
    }
};

void check_affine(const std::optional<at::Tensor>& tensor, at::IntArrayRef shape, const char* what) {
    TORCH_CHECK(!tensor || !tensor->defined() || tensor->sizes() == shape, "Expected ", what,
                " to be of same shape as normalized_shape, but got ", what, " of shape ",
                tensor && tensor->defined() ? tensor->sizes() : at::IntArrayRef(),
                " and normalized_shape = ", shape);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
layer_norm(const at::Tensor& self, at::IntArrayRef normalized_shape, const std::optional<at::Tensor>& weight,
           const std::optional<at::Tensor>& bias, double epsilon) {
    LayerShape shape(self, normalized_shape);
    check_affine(weight, normalized_shape, "weight");
    check_affine(bias, normalized_shape, "bias");
    require_parameter_dtypes(self, weight.value_or(at::Tensor()), bias.value_or(at::Tensor()));
    shape.norm.epsilon = epsilon;
    check_norm_input(self);
    const at::Tensor input = self.contiguous();
    const at::Tensor output = at::empty(input.sizes(), input.options());
    const auto options = input.options().dtype(statistics_type(input.scalar_type()));
    const at::Tensor mean = at::empty(shape.statistics, options), rstd = at::empty(shape.statistics, options);
    forward_rows(shape.norm, input, contiguous_or_undefined(weight), contiguous_or_undefined(bias), output,
                 mean, rstd);
    return {output, mean, rstd};
}

/// Gradients of the weight and the bias of a normalization over the last dimensions.
std::tuple<at::Tensor, at::Tensor> column_gradients(const RowNorm& norm, const at::Tensor& gradient,
                                                    const at::Tensor& input, const at::Tensor& mean,
                                                    const at::Tensor& rstd, const at::Tensor& like,
                                                    bool of_weight, bool of_bias) {
    at::Tensor weight_gradient, bias_gradient;
    if (of_weight)
        weight_gradient = at::empty(like.sizes(), like.options());
    if (of_bias)
        bias_gradient = at::empty(like.sizes(), like.options());
    gradient_sums({.gradient = gradient,
                   .input = input,
                   .mean = norm.centered ? mean : at::Tensor(),
                   .rstd = rstd,
                   .sum = bias_gradient,
                   .product = weight_gradient,
                   .outputs = norm.size,
                   .reduced = norm.rows,
                   .kept_stride = 1,
                   .reduced_size = norm.rows,
                   .reduced_stride0 = norm.size,
                   .reduced_stride1 = 0,
                   .statistics_divisor = 0});
    return {weight_gradient, bias_gradient};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
layer_norm_backward(const at::Tensor& grad_out, const at::Tensor& self, at::IntArrayRef normalized_shape,
                    const at::Tensor& saved_mean, const at::Tensor& saved_rstd,
                    const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                    std::array<bool, 3> mask) {
    const LayerShape shape(self, normalized_shape);
    check_norm_input(self);
    const at::Tensor input = self.contiguous(), gradient = grad_out.contiguous();
    const at::Tensor mean = saved_mean.contiguous(), rstd = saved_rstd.contiguous();
    const at::Tensor scale = contiguous_or_undefined(weight);
    at::Tensor input_gradient;
    if (mask[0]) {
        input_gradient = at::empty(input.sizes(), input.options());
        if (input.numel() > 0)
            backward_rows(shape.norm, gradient, input, scale, mean, rstd, input_gradient);
    }
    if (!mask[1] && !mask[2])
        return {input_gradient, at::Tensor(), at::Tensor()};
    const at::Tensor like = scale.defined() ? scale : contiguous_or_undefined(bias);
    const auto [weight_gradient, bias_gradient] =
        column_gradients(shape.norm, gradient, input, mean, rstd, like, mask[1], mask[2]);
    return {input_gradient, weight_gradient, bias_gradient};
}

std::tuple<at::Tensor, at::Tensor> rms_norm(const at::Tensor& self, at::IntArrayRef normalized_shape,
                                            const std::optional<at::Tensor>& weight,
                                            std::optional<double> epsilon) {
    LayerShape shape(self, normalized_shape);
    check_affine(weight, normalized_shape, "weight");
    shape.norm.centered = false;
    shape.norm.epsilon =
        epsilon.value_or(self.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                           : double{std::numeric_limits<float>::epsilon()});
    check_norm_input(self);
    const at::Tensor input = self.contiguous();
    const at::Tensor output = at::empty(input.sizes(), input.options());
    const at::Tensor rstd =
        at::empty(shape.statistics, input.options().dtype(statistics_type(input.scalar_type())));
    forward_rows(shape.norm, input, contiguous_or_undefined(weight), {}, output, {}, rstd);
    return {output, rstd};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& grad_out, const at::Tensor& self,
                                                     at::IntArrayRef normalized_shape,
                                                     const at::Tensor& saved_rstd,
                                                     const std::optional<at::Tensor>& weight,
                                                     std::array<bool, 2> mask) {
    LayerShape shape(self, normalized_shape);
    shape.norm.centered = false;
    check_norm_input(self);
    const at::Tensor input = self.contiguous(), gradient = grad_out.contiguous();
    const at::Tensor rstd = saved_rstd.contiguous();
    const at::Tensor scale = contiguous_or_undefined(weight);
    at::Tensor input_gradient, weight_gradient;
    if (mask[0]) {
        input_gradient = at::empty(input.sizes(), input.options());
        if (input.numel() > 0)
            backward_rows(shape.norm, gradient, input, scale, {}, rstd, input_gradient);
    }
    if (mask[1] && scale.defined())
        weight_gradient =
            std::get<0>(column_gradients(shape.norm, gradient, input, {}, rstd, scale, true, false));
    return {input_gradient, weight_gradient};
}

RowNorm group_rows(std::int64_t samples, std::int64_t channels, std::int64_t places, std::int64_t groups) {
    TORCH_CHECK(groups > 0 && channels % groups == 0,
                "Expected number of channels in input to be divisible by ", "num_groups, but got ", channels,
                " channels and num_groups=", groups);
    return {.rows = samples * groups,
            .size = channels / groups * places,
            .groups = groups,
            .channels = channels / groups,
            .spatial = std::max<std::int64_t>(places, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
group_norm(const at::Tensor& self, const std::optional<at::Tensor>& weight,
           const std::optional<at::Tensor>& bias, std::int64_t samples, std::int64_t channels,
           std::int64_t places, std::int64_t groups, double epsilon) {
    require_parameter_dtypes(self, weight.value_or(at::Tensor()), bias.value_or(at::Tensor()));
    RowNorm norm = group_rows(samples, channels, places, groups);
    norm.epsilon = epsilon;
    check_norm_input(self);
    const at::Tensor input = self.contiguous();
    const at::Tensor output = at::empty(input.sizes(), input.options());
    const auto options = input.options().dtype(statistics_type(input.scalar_type()));
    const at::Tensor mean = at::empty({samples, groups}, options),
                     rstd = at::empty({samples, groups}, options);
    forward_rows(norm, input, contiguous_or_undefined(weight), contiguous_or_undefined(bias), output, mean,
                 rstd);
    return {output.contiguous(self.suggest_memory_format()), mean, rstd};
}

/// Gradients of a group norm's weight and bias: sums over the positions of each sample's channel, then over
/// the samples.
std::tuple<at::Tensor, at::Tensor> channel_gradients(const RowNorm& norm, const at::Tensor& gradient,
                                                     const at::Tensor& input, const at::Tensor& mean,
                                                     const at::Tensor& rstd, const at::TensorOptions& options,
                                                     std::array<bool, 3> mask) {
    const std::int64_t channels = norm.groups * norm.channels, samples = norm.rows / norm.groups;
    const auto sums_options = rstd.options();
    const at::Tensor products = at::empty({samples, channels}, sums_options);
    const at::Tensor sums = at::empty({samples, channels}, sums_options);
    gradient_sums({.gradient = gradient,
                   .input = input,
                   .mean = mean,
                   .rstd = rstd,
                   .sum = sums,
                   .product = products,
                   .outputs = samples * channels,
                   .reduced = norm.spatial,
                   .kept_stride = norm.spatial,
                   .reduced_size = norm.spatial,
                   .reduced_stride0 = 1,
                   .reduced_stride1 = 0,
                   .statistics_divisor = norm.channels});
    at::Tensor weight_gradient, bias_gradient;
    if (mask[1]) {
        weight_gradient = at::empty({channels}, options);
        reduce(reduction_of(weight_gradient, {}, products, 0, Reduction::sum));
    }
    if (mask[2]) {
        bias_gradient = at::empty({channels}, options);
        reduce(reduction_of(bias_gradient, {}, sums, 0, Reduction::sum));
    }
    return {weight_gradient, bias_gradient};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
group_norm_backward(const at::Tensor& grad_out, const at::Tensor& self, const at::Tensor& saved_mean,
                    const at::Tensor& saved_rstd, const std::optional<at::Tensor>& weight,
                    std::int64_t samples, std::int64_t channels, std::int64_t places, std::int64_t groups,
                    std::array<bool, 3> mask) {
    const RowNorm norm = group_rows(samples, channels, places, groups);
    check_norm_input(self);
    const at::Tensor input = self.contiguous(), gradient = grad_out.contiguous();
    const at::Tensor mean = saved_mean.contiguous(), rstd = saved_rstd.contiguous();
    const at::Tensor scale = contiguous_or_undefined(weight);
    at::Tensor input_gradient;
    if (mask[0]) {
        input_gradient = at::empty(input.sizes(), input.options());
        if (input.numel() > 0)
            backward_rows(norm, gradient, input, scale, mean, rstd, input_gradient);
        input_gradient = input_gradient.contiguous(self.suggest_memory_format());
    }
    if (!mask[1] && !mask[2])
        return {input_gradient, at::Tensor(), at::Tensor()};
    const auto options = scale.defined() ? scale.options() : input.options();
    if (input.numel() == 0)
        return {input_gradient, mask[1] ? at::zeros({channels}, options) : at::Tensor(),
                mask[2] ? at::zeros({channels}, options) : at::Tensor()};
    const auto [weight_gradient, bias_gradient] =
        channel_gradients(norm, gradient, input, mean, rstd, options, mask);
    return {input_gradient, weight_gradient, bias_gradient};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "native_layer_norm", &layer_norm);
    register_operator(m, "native_layer_norm_backward", &layer_norm_backward);
    register_operator(m, "_fused_rms_norm", &rms_norm);
    register_operator(m, "_fused_rms_norm_backward", &rms_norm_backward);
    register_operator(m, "native_group_norm", &group_norm);
    register_operator(m, "native_group_norm_backward", &group_norm_backward);
}

} // namespace
} // namespace rvk
