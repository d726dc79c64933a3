/// Activations and their derivatives.

#include "../../dispatch/structured.h"
#include "elementwise.h"

#include <ATen/core/Reduction.h>
#include <ATen/native/Activation.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/Gelu.h>
#include <ATen/ops/_prelu_kernel_native.h>
#include <ATen/ops/elu_backward_native.h>
#include <ATen/ops/elu_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu_backward_native.h>
#include <ATen/ops/gelu_native.h>
#include <ATen/ops/glu_native.h>
#include <ATen/ops/hardshrink_backward_native.h>
#include <ATen/ops/hardshrink_native.h>
#include <ATen/ops/hardsigmoid_backward_native.h>
#include <ATen/ops/hardsigmoid_native.h>
#include <ATen/ops/hardswish_backward_native.h>
#include <ATen/ops/hardswish_native.h>
#include <ATen/ops/hardtanh_backward_native.h>
#include <ATen/ops/hardtanh_native.h>
#include <ATen/ops/leaky_relu_backward_native.h>
#include <ATen/ops/leaky_relu_native.h>
#include <ATen/ops/logit_backward_native.h>
#include <ATen/ops/mish_backward_native.h>
#include <ATen/ops/mish_native.h>
#include <ATen/ops/relu_native.h>
#include <ATen/ops/sigmoid_backward_native.h>
#include <ATen/ops/silu_backward_native.h>
#include <ATen/ops/silu_native.h>
#include <ATen/ops/softplus_backward_native.h>
#include <ATen/ops/softplus_native.h>
#include <ATen/ops/softshrink_backward_native.h>
#include <ATen/ops/softshrink_native.h>
#include <ATen/ops/tanh_backward_native.h>
#include <ATen/ops/threshold_backward_native.h>
#include <ATen/ops/threshold_native.h>
#include <torch/library.h>

namespace rvk {

namespace {

using Iterator = at::TensorIteratorBase;

void softplus(Iterator& iterator, const c10::Scalar& beta, const c10::Scalar& threshold) {
    compute(iterator, Operation::softplus, {beta, threshold, std::nullopt});
}
void softplus_backward(Iterator& iterator, const c10::Scalar& beta, const c10::Scalar& threshold) {
    compute(iterator, Operation::softplus_backward, {beta, threshold, std::nullopt});
}
Parameters elu_parameters(const c10::Scalar& alpha, const c10::Scalar& scale,
                          const c10::Scalar& input_scale) {
    return {c10::Scalar(alpha.toDouble() * scale.toDouble()), scale, input_scale};
}
void elu(Iterator& iterator, const c10::Scalar& alpha, const c10::Scalar& scale,
         const c10::Scalar& input_scale) {
    compute(iterator, Operation::elu, elu_parameters(alpha, scale, input_scale));
}
void elu_backward(Iterator& iterator, const c10::Scalar& alpha, const c10::Scalar& scale,
                  const c10::Scalar& input_scale, bool is_result) {
    compute(iterator, is_result ? Operation::elu_backward_of_result : Operation::elu_backward,
            elu_parameters(alpha, scale, input_scale));
}
void threshold(Iterator& iterator, const c10::Scalar& limit, const c10::Scalar& value) {
    compute(iterator, Operation::threshold, {limit, value, std::nullopt});
}
void hardtanh_backward(at::TensorIterator& iterator, const c10::Scalar& low, const c10::Scalar& high) {
    compute(iterator, Operation::hardtanh_backward, {low, high, std::nullopt});
}
/// For operations with one parameter, s0.
template <Operation operation>
void with_scalar(Iterator& iterator, const c10::Scalar& value) {
    compute(iterator, operation, {value, std::nullopt, std::nullopt});
}
void logit_backward(Iterator& iterator, const c10::Scalar& epsilon) {
    const double e = epsilon.toDouble();
    compute(iterator, Operation::logit_backward,
            {c10::Scalar(e), c10::Scalar(e < 0 ? -1.0 : 1.0 - e), std::nullopt});
}

bool uses_tanh(c10::string_view approximate) {
    return at::native::get_gelutype_enum(approximate) == at::native::GeluType::Tanh;
}

// PyTorch's own structured class would call oneDNN first.
struct Gelu : at::meta::structured_gelu {
    void impl(const at::Tensor&, c10::string_view approximate, const at::Tensor&) {
        compute(*this, uses_tanh(approximate) ? Operation::gelu_tanh : Operation::gelu);
    }
};
struct GeluBackward : at::meta::structured_gelu_backward {
    void impl(const at::Tensor&, const at::Tensor&, c10::string_view approximate, const at::Tensor&) {
        compute(*this, uses_tanh(approximate) ? Operation::gelu_tanh_backward : Operation::gelu_backward);
    }
};

/// `buffer`, in which the CPU saves values for the derivative, stays empty on this device.
std::tuple<at::Tensor&, at::Tensor&> log_sigmoid_out(const at::Tensor& self, at::Tensor& output,
                                                     at::Tensor& buffer) {
    auto iterator = at::TensorIterator::unary_op(output, self);
    compute(iterator, Operation::log_sigmoid);
    buffer.resize_({0});
    return {output, buffer};
}
std::tuple<at::Tensor, at::Tensor> log_sigmoid(const at::Tensor& self) {
    at::Tensor output = at::empty_like(self), buffer = at::empty({0}, self.options());
    log_sigmoid_out(self, output, buffer);
    return {output, buffer};
}
at::Tensor& log_sigmoid_backward_out(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor&,
                                     at::Tensor& result) {
    auto iterator = iterator_of(result, {gradient, self});
    compute(iterator, Operation::log_sigmoid_backward);
    return result;
}
at::Tensor log_sigmoid_backward(const at::Tensor& gradient, const at::Tensor& self,
                                const at::Tensor& buffer) {
    at::Tensor result = at::empty_like(gradient);
    return log_sigmoid_backward_out(gradient, self, buffer, result);
}

at::Tensor& glu_backward_out(const at::Tensor& gradient, const at::Tensor& self, std::int64_t dim,
                             at::Tensor& result) {
    const auto wrapped = at::maybe_wrap_dim(dim, self.dim());
    TORCH_CHECK(self.size(wrapped) % 2 == 0, "Halving dimension must be even, but dimension ", wrapped,
                " is size ", self.size(wrapped));
    const std::int64_t half = self.size(wrapped) / 2;
    result.resize_(self.sizes());
    const at::Tensor value = self.narrow(wrapped, 0, half), gate = self.narrow(wrapped, half, half);
    auto of_value = iterator_of(result.narrow(wrapped, 0, half), {gradient, gate});
    compute(of_value, Operation::gated_linear);
    auto of_gate = iterator_of(result.narrow(wrapped, half, half), {gradient, value, gate});
    compute(of_gate, Operation::gated_linear_gate_backward);
    return result;
}
at::Tensor glu_backward(const at::Tensor& gradient, const at::Tensor& self, std::int64_t dim) {
    at::Tensor result = at::empty({0}, self.options());
    return glu_backward_out(gradient, self, dim, result);
}

std::tuple<at::Tensor, at::Tensor> prelu_backward(const at::Tensor& gradient, const at::Tensor& self,
                                                  const at::Tensor& weight) {
    at::Tensor of_self = at::empty_like(self), of_weight = at::empty_like(self);
    auto first = iterator_of(of_self, {weight, self, gradient});
    compute(first, Operation::parametric_relu_backward);
    auto second = iterator_of(of_weight, {weight, self, gradient});
    compute(second, Operation::parametric_relu_weight_backward);
    return {of_self, of_weight};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    using namespace at::native;
#define RVK_IN_PLACE(name) register_structured<structured_##name##_out>(m, #name, #name ".out", #name "_")
#define RVK_FUNCTION(name) register_structured<structured_##name##_out>(m, #name, #name ".out")
#define RVK_DERIVATIVE(name)                                                                                 \
    register_structured<structured_##name##_backward_out>(m, #name "_backward", #name "_backward.grad_input")
    RVK_IN_PLACE(silu);
    RVK_IN_PLACE(mish);
    RVK_IN_PLACE(elu);
    RVK_IN_PLACE(hardsigmoid);
    RVK_IN_PLACE(leaky_relu);
    RVK_IN_PLACE(threshold);
    RVK_FUNCTION(softplus);
    RVK_FUNCTION(softshrink);
    RVK_FUNCTION(hardshrink);
    RVK_FUNCTION(glu);
    RVK_DERIVATIVE(sigmoid);
    RVK_DERIVATIVE(tanh);
    RVK_DERIVATIVE(silu);
    RVK_DERIVATIVE(softplus);
    RVK_DERIVATIVE(elu);
    RVK_DERIVATIVE(hardsigmoid);
    RVK_DERIVATIVE(leaky_relu);
    RVK_DERIVATIVE(threshold);
    RVK_DERIVATIVE(softshrink);
    RVK_DERIVATIVE(hardshrink);
    RVK_DERIVATIVE(logit);
    register_structured<Gelu>(m, "gelu", "gelu.out", "gelu_");
    register_structured<GeluBackward>(m, "gelu_backward", "gelu_backward.grad_input");
    register_operator(m, "relu", &relu);
    register_operator(m, "relu_", &relu_);
    register_operator(m, "hardtanh", &hardtanh);
    register_operator(m, "hardtanh.out", &hardtanh_out);
    register_operator(m, "hardtanh_", &hardtanh_);
    register_operator(m, "hardtanh_backward", &at::native::hardtanh_backward);
    register_operator(m, "hardtanh_backward.grad_input", &hardtanh_backward_out);
    register_operator(m, "hardswish", &hardswish);
    register_operator(m, "hardswish.out", &hardswish_out);
    register_operator(m, "hardswish_", &hardswish_);
    register_operator(m, "hardswish_backward", &hardswish_backward);
    register_operator(m, "mish_backward", &mish_backward);
    register_operator(m, "log_sigmoid_forward", &log_sigmoid);
    register_operator(m, "log_sigmoid_forward.output", &log_sigmoid_out);
    register_operator(m, "log_sigmoid_backward", &log_sigmoid_backward);
    register_operator(m, "log_sigmoid_backward.grad_input", &log_sigmoid_backward_out);
    register_operator(m, "glu_backward", &rvk::glu_backward);
    register_operator(m, "glu_backward.grad_input", &rvk::glu_backward_out);
    register_operator(m, "_prelu_kernel", &_prelu_kernel);
    register_operator(m, "_prelu_kernel_backward", &prelu_backward);
}

} // namespace

} // namespace rvk

namespace at::native {
#define RVK_STUB(name, operation)                                                                            \
    REGISTER_PRIVATEUSE1_DISPATCH(name##_stub, &rvk::on_each<rvk::Operation::operation>)
#define RVK_ITERATOR_STUB(name, operation)                                                                   \
    REGISTER_PRIVATEUSE1_DISPATCH(name##_stub, &rvk::on_each_of<rvk::Operation::operation>)
#define RVK_SCALAR_STUB(name, operation)                                                                     \
    REGISTER_PRIVATEUSE1_DISPATCH(name##_stub, &rvk::with_scalar<rvk::Operation::operation>)
RVK_STUB(silu, silu)
RVK_STUB(silu_backward, silu_backward)
RVK_STUB(mish, mish)
RVK_STUB(sigmoid_backward, sigmoid_backward)
RVK_STUB(tanh_backward, tanh_backward)
RVK_STUB(hardsigmoid, hard_sigmoid)
RVK_STUB(hardsigmoid_backward, hard_sigmoid_backward)
RVK_STUB(glu, gated_linear)
RVK_ITERATOR_STUB(mish_backward, mish_backward)
RVK_ITERATOR_STUB(hardswish, hard_swish)
RVK_ITERATOR_STUB(hardswish_backward, hard_swish_backward)
RVK_ITERATOR_STUB(prelu, parametric_relu)
RVK_SCALAR_STUB(hardshrink, hard_shrink)
RVK_SCALAR_STUB(softshrink, soft_shrink)
RVK_SCALAR_STUB(shrink_backward, shrink_backward)
RVK_SCALAR_STUB(leaky_relu, leaky_relu)
RVK_SCALAR_STUB(leaky_relu_backward, leaky_relu_backward)
REGISTER_PRIVATEUSE1_DISPATCH(elu_stub, &rvk::elu)
REGISTER_PRIVATEUSE1_DISPATCH(elu_backward_stub, &rvk::elu_backward)
REGISTER_PRIVATEUSE1_DISPATCH(softplus_stub, &rvk::softplus)
REGISTER_PRIVATEUSE1_DISPATCH(softplus_backward_stub, &rvk::softplus_backward)
REGISTER_PRIVATEUSE1_DISPATCH(threshold_stub, &rvk::threshold)
REGISTER_PRIVATEUSE1_DISPATCH(hardtanh_backward_stub, &rvk::hardtanh_backward)
REGISTER_PRIVATEUSE1_DISPATCH(logit_backward_stub, &rvk::logit_backward)
} // namespace at::native
