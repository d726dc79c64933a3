/// Batch norm: kernels/normalization/norm_channels.slang over the statistics of kernels/reduction.

#include "../../dispatch/same_dtype.h"
#include "../../dispatch/structured.h"
#include "../reduction/reduction_launch.h"
#include "normalization.h"

#include <rekindle/kernels/families/norm_channels.h>
#include <rekindle/kernels/families/norm_channels_float64.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <array>

namespace rvk {

namespace {

using kernels::NormChannelsParameters;

using Optional = std::optional<at::Tensor>;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

/// The input in a dense layout that the kernels support; unchanged if it already has one.
struct Layout {
    at::Tensor input;
    at::MemoryFormat format = at::MemoryFormat::Contiguous;
    std::int64_t channels = 0, places = 1, elements = 0; ///< elements: per channel
    bool last = false;                                   ///< channels vary fastest

    explicit Layout(const at::Tensor& self) {
        TORCH_CHECK(self.dim() >= 2, "batch norm needs at least 2 dimensions, but got ", self.dim());
        channels = self.size(1);
        for (std::int64_t d = 2; d < self.dim(); ++d)
            places *= self.size(d);
        elements = self.size(0) * places;
        const auto suggested = self.suggest_memory_format();
        if (!self.is_contiguous() && suggested != at::MemoryFormat::Contiguous &&
            self.is_contiguous(suggested)) {
            format = suggested;
            last = true;
        }
        input = self.contiguous(format);
    }

    std::int64_t inner() const { return last ? 1 : places; }
    bool vectors(bool wide) const {
        return !wide && input.numel() % 4 == 0 && (last ? channels % 4 == 0 : places % 4 == 0);
    }
    at::Tensor empty() const { return at::empty(input.sizes(), input.options().memory_format(format)); }
};

/// The parameters that all batch norm kernels share.
NormChannelsParameters parameters_of(const Layout& layout, const at::Tensor& mean,
                                     const at::Tensor& variance_or_rstd, const at::Tensor& weight,
                                     double epsilon, bool wide) {
    NormChannelsParameters p{};
    p.input = address(layout.input);
    p.mean = address(mean);
    p.rstd = address(variance_or_rstd);
    p.weight = weight.defined() ? address(weight) : 0;
    p.epsilon = compute_bits(epsilon, wide);
    p.count = static_cast<std::uint64_t>(layout.input.numel());
    p.channels = static_cast<std::uint32_t>(layout.channels);
    p.inner = static_cast<std::uint32_t>(layout.inner());
    return p;
}

bool aligned(std::initializer_list<std::uint64_t> addresses) {
    return std::ranges::all_of(addresses, [](std::uint64_t a) { return a % 16 == 0; });
}

/// Computes the mean and 1 / sqrt(variance + epsilon) of every channel; updates the running statistics.
void take_statistics(const Layout& layout, const at::Tensor& mean, const at::Tensor& rstd,
                     const at::Tensor& running_mean, const at::Tensor& running_variance, double momentum,
                     double epsilon, bool wide) {
    ReductionRequest request{Reduction::variance, 0, layout.input, rstd, mean, {}};
    for (std::int64_t d = 0; d < layout.input.dim(); ++d)
        request.dimensions.push_back({layout.input.size(d), layout.input.stride(d), d == 1 ? 1 : 0, d != 1});
    reduce(request);
    NormChannelsParameters p = parameters_of(layout, mean, rstd, {}, epsilon, wide);
    p.count = static_cast<std::uint64_t>(layout.channels);
    p.factor = compute_bits(momentum, wide);
    const auto elements = static_cast<double>(layout.elements);
    p.unbiased = compute_bits(elements / (elements - 1), wide);
    c10::SmallVector<Access, 4> accesses{reads(mean), writes(rstd)};
    auto running_type = at::kFloat;
    if (running_mean.defined()) {
        p.sum = address(running_mean);
        accesses.push_back(writes(running_mean));
        running_type = running_mean.scalar_type();
    }
    if (running_variance.defined()) {
        p.product = address(running_variance);
        accesses.push_back(writes(running_variance));
        running_type = running_variance.scalar_type();
    }
    const kernels::NormChannelsConstants constants{.statistics_type = dtype_code(mean.scalar_type()),
                                                   .running_type = dtype_code(running_type)};
    launch(layout.input.device().index(),
           wide ? kernels::norm_channels_update_float64.kernel : kernels::norm_channels_update.kernel,
           linear_groups(layout.channels, 256), std::as_bytes(std::span(&p, 1)), accesses, constants);
}

/// With from_variance, `variance_or_rstd` is the variance.
at::Tensor apply(const Layout& layout, const at::Tensor& mean, const at::Tensor& variance_or_rstd,
                 bool from_variance, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
                 bool wide) {
    const at::Tensor output = layout.empty();
    NormChannelsParameters p = parameters_of(layout, mean, variance_or_rstd, weight, epsilon, wide);
    p.output = address(output);
    p.bias = bias.defined() ? address(bias) : 0;
    const bool vectors = layout.vectors(wide) && aligned({p.input, p.output});
    const at::Tensor& affine = weight.defined() ? weight : bias;
    const kernels::NormChannelsConstants constants{
        .input_type = dtype_code(layout.input.scalar_type()),
        .weight_type = dtype_code(affine.defined() ? affine.scalar_type() : at::kFloat),
        .statistics_type = dtype_code(mean.scalar_type()),
        .from_variance = from_variance,
        .has_weight = weight.defined(),
        .has_bias = bias.defined(),
        .vectors = vectors};
    c10::SmallVector<Access, 6> accesses{reads(layout.input), reads(mean), reads(variance_or_rstd),
                                         writes(output)};
    for (const auto* tensor : {&weight, &bias})
        if (tensor->defined())
            accesses.push_back(reads(*tensor));
    launch(layout.input.device().index(),
           wide ? kernels::norm_channels_forward_float64.kernel : kernels::norm_channels_forward.kernel,
           linear_groups(layout.input.numel(), vectors ? 1024 : 256), std::as_bytes(std::span(&p, 1)),
           accesses, constants);
    return output;
}

ThreeTensors forward(const at::Tensor& self, const Optional& weight, const Optional& bias,
                     const Optional& running_mean, const Optional& running_variance, bool training,
                     double momentum, double epsilon) {
    check_norm_input(self);
    const bool wide = self.scalar_type() == at::kDouble;
    const at::Tensor none;
    require_parameter_dtypes(self, weight.value_or(none), bias.value_or(none));
    require_parameter_dtypes(self, running_mean.value_or(none), running_variance.value_or(none));
    const Layout layout(self);
    const at::Tensor scale = contiguous_or_undefined(weight), shift = contiguous_or_undefined(bias);
    const auto options = self.options().dtype(statistics_type(self.scalar_type()));
    const bool has_running = running_mean && running_mean->defined();
    TORCH_CHECK(training || has_running,
                "Expected running_mean and running_var to be defined when training=False");
    if (!training) {
        const auto none_saved = [&] { return at::empty({0}, options); };
        if (self.numel() == 0)
            return {layout.empty(), none_saved(), none_saved()};
        return {apply(layout, running_mean->contiguous(), running_variance->contiguous(), true, scale, shift,
                      epsilon, wide),
                none_saved(), none_saved()};
    }
    const at::Tensor mean = at::empty({layout.channels}, options),
                     rstd = at::empty({layout.channels}, options);
    if (self.numel() == 0)
        return {layout.empty(), mean.zero_(), rstd.zero_()};
    at::Tensor moving_mean, moving_variance; // the kernel needs them contiguous
    if (has_running) {
        moving_mean = running_mean->contiguous();
        moving_variance = running_variance->contiguous();
    }
    take_statistics(layout, mean, rstd, moving_mean, moving_variance, momentum, epsilon, wide);
    if (has_running && !running_mean->is_contiguous())
        running_mean->copy_(moving_mean);
    if (has_running && !running_variance->is_contiguous())
        running_variance->copy_(moving_variance);
    return {apply(layout, mean, rstd, false, scale, shift, epsilon, wide), mean, rstd};
}

/// 1 / sqrt(variance + epsilon) in a new tensor.
at::Tensor rstd_of(const at::Tensor& variance, const at::TensorOptions& options, double epsilon, bool wide) {
    at::Tensor rstd = at::empty(variance.sizes(), options);
    rstd.copy_(variance);
    NormChannelsParameters p{};
    p.mean = p.rstd = address(rstd);
    p.epsilon = compute_bits(epsilon, wide);
    p.count = static_cast<std::uint64_t>(variance.numel());
    const kernels::NormChannelsConstants constants{.statistics_type = dtype_code(rstd.scalar_type())};
    const std::array<Access, 1> accesses{writes(rstd)};
    launch(variance.device().index(),
           wide ? kernels::norm_channels_update_float64.kernel : kernels::norm_channels_update.kernel,
           linear_groups(variance.numel(), 256), std::as_bytes(std::span(&p, 1)), accesses, constants);
    return rstd;
}

at::Tensor input_gradient_of(const Layout& layout, const at::Tensor& gradient, const at::Tensor& mean,
                             const at::Tensor& rstd, const at::Tensor& weight, const at::Tensor& sum,
                             const at::Tensor& product, bool training, bool wide) {
    const at::Tensor output = layout.empty();
    NormChannelsParameters p = parameters_of(layout, mean, rstd, weight, 0, wide);
    p.gradient = address(gradient);
    p.output = address(output);
    p.sum = address(sum);
    p.product = address(product);
    p.factor = compute_bits(1.0 / static_cast<double>(layout.elements), wide);
    const bool vectors = layout.vectors(wide) && aligned({p.input, p.gradient, p.output});
    const kernels::NormChannelsConstants constants{
        .input_type = dtype_code(layout.input.scalar_type()),
        .weight_type = dtype_code(weight.defined() ? weight.scalar_type() : at::kFloat),
        .statistics_type = dtype_code(mean.scalar_type()),
        .has_weight = weight.defined(),
        .training = training,
        .vectors = vectors};
    c10::SmallVector<Access, 8> accesses{reads(layout.input), reads(gradient), reads(mean),   reads(rstd),
                                         reads(sum),          reads(product),  writes(output)};
    if (weight.defined())
        accesses.push_back(reads(weight));
    launch(layout.input.device().index(),
           wide ? kernels::norm_channels_backward_float64.kernel : kernels::norm_channels_backward.kernel,
           linear_groups(layout.input.numel(), vectors ? 1024 : 256), std::as_bytes(std::span(&p, 1)),
           accesses, constants);
    return output;
}

ThreeTensors backward(const at::Tensor& grad_out, const at::Tensor& self, const Optional& weight,
                      const Optional& running_mean, const Optional& running_variance,
                      const Optional& saved_mean, const Optional& saved_rstd, bool training, double epsilon,
                      std::array<bool, 3> mask) {
    check_norm_input(self);
    const bool wide = self.scalar_type() == at::kDouble;
    const Layout layout(self);
    const at::Tensor scale = contiguous_or_undefined(weight);
    const auto options = self.options().dtype(statistics_type(self.scalar_type()));
    const auto affine = scale.defined() ? scale.options() : options;
    if (self.numel() == 0)
        return {mask[0] ? layout.empty() : at::Tensor(),
                mask[1] ? at::zeros({layout.channels}, affine) : at::Tensor(),
                mask[2] ? at::zeros({layout.channels}, affine) : at::Tensor()};
    const at::Tensor gradient = grad_out.to(self.scalar_type()).contiguous(layout.format);
    at::Tensor mean = contiguous_or_undefined(saved_mean), rstd = contiguous_or_undefined(saved_rstd);
    if (!training) {
        mean = running_mean->to(options).contiguous();
        rstd = rstd_of(*running_variance, options, epsilon, wide);
    }
    const at::Tensor sum = at::empty({layout.channels}, options),
                     product = at::empty({layout.channels}, options);
    gradient_sums({.gradient = gradient,
                   .input = layout.input,
                   .mean = mean,
                   .rstd = rstd,
                   .sum = sum,
                   .product = product,
                   .outputs = layout.channels,
                   .reduced = layout.elements,
                   .kept_stride = layout.inner(),
                   .reduced_size = layout.last ? layout.elements : layout.places,
                   .reduced_stride0 = layout.last ? layout.channels : 1,
                   .reduced_stride1 = layout.last ? 0 : layout.channels * layout.places,
                   .statistics_divisor = 1});
    at::Tensor input_gradient;
    if (mask[0])
        input_gradient = input_gradient_of(layout, gradient, mean, rstd, scale, sum, product, training, wide);
    return {input_gradient, mask[1] ? product.to(affine.dtype()) : at::Tensor(),
            mask[2] ? sum.to(affine.dtype()) : at::Tensor()};
}

ThreeTensors native_batch_norm(const at::Tensor& self, const Optional& weight, const Optional& bias,
                               const Optional& running_mean, const Optional& running_variance, bool training,
                               double momentum, double epsilon) {
    return forward(self, weight, bias, running_mean, running_variance, training, momentum, epsilon);
}

ThreeTensors batch_norm_legit(const at::Tensor& self, const Optional& weight, const Optional& bias,
                              at::Tensor& running_mean, at::Tensor& running_variance, bool training,
                              double momentum, double epsilon) {
    return forward(self, weight, bias, running_mean, running_variance, training, momentum, epsilon);
}

ThreeTensors batch_norm_without_running(const at::Tensor& self, const Optional& weight, const Optional& bias,
                                        bool training, double momentum, double epsilon) {
    return forward(self, weight, bias, {}, {}, training, momentum, epsilon);
}

FourTensors batch_norm_with_update(const at::Tensor& self, const Optional& weight, const Optional& bias,
                                   at::Tensor& running_mean, at::Tensor& running_variance, double momentum,
                                   double epsilon) {
    auto [output, mean, rstd] =
        forward(self, weight, bias, running_mean, running_variance, true, momentum, epsilon);
    return {output, mean, rstd, at::empty({0}, self.options().dtype(at::kByte))};
}

ThreeTensors batch_norm_backward(const at::Tensor& grad_out, const at::Tensor& self, const at::Tensor& weight,
                                 const Optional& running_mean, const Optional& running_variance,
                                 const Optional& saved_mean, const Optional& saved_rstd, bool training,
                                 double epsilon, std::array<bool, 3> mask, const at::Tensor&) {
    return backward(grad_out, self, weight, running_mean, running_variance, saved_mean, saved_rstd, training,
                    epsilon, mask);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "native_batch_norm", &native_batch_norm);
    register_operator(m, "_native_batch_norm_legit", &batch_norm_legit);
    register_operator(m, "_native_batch_norm_legit.no_stats", &batch_norm_without_running);
    register_operator(m, "_batch_norm_with_update", &batch_norm_with_update);
    register_operator(m, "native_batch_norm_backward", &backward);
    register_operator(m, "batch_norm_backward", &batch_norm_backward);
}

} // namespace
} // namespace rvk
