/// Operators of three tensors, clamps, elementwise losses and their derivatives.

#include "../../dispatch/structured.h"
#include "elementwise.h"

#include <ATen/core/Reduction.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/Lerp.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/ops/addcdiv_native.h>
#include <ATen/ops/addcmul_native.h>
#include <ATen/ops/clamp_max_native.h>
#include <ATen/ops/clamp_min_native.h>
#include <ATen/ops/clamp_native.h>
#include <ATen/ops/huber_loss_backward_native.h>
#include <ATen/ops/huber_loss_native.h>
#include <ATen/ops/lerp_native.h>
#include <ATen/ops/mse_loss_backward_native.h>
#include <ATen/ops/mse_loss_native.h>
#include <ATen/ops/smooth_l1_loss_backward_native.h>
#include <ATen/ops/smooth_l1_loss_native.h>
#include <ATen/ops/where_native.h>
#include <torch/library.h>

namespace rvk {

namespace {

/// Rejects CPU scalars in the operands for which CUDA's kernel rejects them.
void refuse_numbers(const at::TensorIteratorBase& iterator, std::initializer_list<int> operands) {
    for (const int i : operands)
        if (iterator.is_cpu_scalar(i))
            report_two_devices(iterator.device(0), iterator.device(i), running_operator());
}

void addcmul(at::TensorIteratorBase& iterator, const c10::Scalar& value) {
    refuse_numbers(iterator, {1, 2});
    compute(iterator, Operation::add_product, {value, std::nullopt, std::nullopt});
}
void addcdiv(at::TensorIteratorBase& iterator, const c10::Scalar& value) {
    compute(iterator, Operation::add_quotient, {value, std::nullopt, std::nullopt});
}
void lerp_scalar(at::TensorIteratorBase& iterator, const c10::Scalar& weight) {
    refuse_numbers(iterator, {1, 2});
    compute(iterator, Operation::lerp_scalar, {std::nullopt, std::nullopt, weight});
}
void lerp_tensor(at::TensorIteratorBase& iterator) {
    refuse_numbers(iterator, {1, 2});
    compute(iterator, Operation::lerp);
}
void clamp_scalar(at::TensorIteratorBase& iterator, const c10::Scalar& low, const c10::Scalar& high) {
    compute(iterator, Operation::clamp_scalar, {low, high, std::nullopt});
}
void clamp_min_scalar(at::TensorIteratorBase& iterator, c10::Scalar low) {
    compute(iterator, Operation::clamp_scalar_below, {low, std::nullopt, std::nullopt});
}
void clamp_max_scalar(at::TensorIteratorBase& iterator, c10::Scalar high) {
    compute(iterator, Operation::clamp_scalar_above, {high, std::nullopt, std::nullopt});
}
/// The condition is bool or uint8; the values have the output's dtype.
void where(at::TensorIterator& iterator) {
    compute_as(iterator.dtype(0), iterator, Operation::where);
}
void smooth_l1(at::TensorIteratorBase& iterator, double beta) {
    refuse_numbers(iterator, {1, 2});
    compute(iterator, Operation::smooth_l1, {std::nullopt, std::nullopt, c10::Scalar(beta)});
}
void huber(at::TensorIterator& iterator, double delta) {
    compute(iterator, Operation::huber, {std::nullopt, std::nullopt, c10::Scalar(delta)});
}
void mse_backward(at::TensorIterator& iterator, const c10::Scalar& factor) {
    compute(iterator, Operation::squared_error_backward, {factor, std::nullopt, std::nullopt});
}
void smooth_l1_backward(at::TensorIterator& iterator, const c10::Scalar& factor, double beta) {
    compute(iterator, Operation::smooth_l1_backward, {factor, c10::Scalar(beta), std::nullopt});
}
void huber_backward(at::TensorIterator& iterator, const c10::Scalar& factor, double delta) {
    compute(iterator, Operation::huber_backward, {factor, c10::Scalar(delta), std::nullopt});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    using namespace at::native;
    register_structured<structured_addcmul_out>(m, "addcmul", "addcmul.out", "addcmul_");
    register_structured<structured_addcdiv_out>(m, "addcdiv", "addcdiv.out", "addcdiv_");
    register_structured<structured_lerp_Scalar>(m, "lerp.Scalar", "lerp.Scalar_out", "lerp_.Scalar");
    register_structured<structured_lerp_Tensor>(m, "lerp.Tensor", "lerp.Tensor_out", "lerp_.Tensor");
    register_structured<structured_clamp_out>(m, "clamp", "clamp.out", "clamp_");
    register_structured<structured_clamp_Tensor_out>(m, "clamp.Tensor", "clamp.Tensor_out", "clamp_.Tensor");
    register_structured<structured_clamp_min_out>(m, "clamp_min", "clamp_min.out", "clamp_min_");
    register_structured<structured_clamp_max_out>(m, "clamp_max", "clamp_max.out", "clamp_max_");
    register_structured<structured_clamp_min_Tensor_out>(m, "clamp_min.Tensor", "clamp_min.Tensor_out",
                                                         "clamp_min_.Tensor");
    register_structured<structured_clamp_max_Tensor_out>(m, "clamp_max.Tensor", "clamp_max.Tensor_out",
                                                         "clamp_max_.Tensor");
    register_operator(m, "where.self",
                      static_cast<at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&)>(
                          &at::native::where));
    register_operator(m, "where.self_out", &where_self_out);
    register_structured<structured_mse_loss_out>(m, "mse_loss", "mse_loss.out");
    register_structured<structured_smooth_l1_loss_out>(m, "smooth_l1_loss", "smooth_l1_loss.out");
    register_operator(m, "huber_loss", &huber_loss);
    register_operator(m, "huber_loss.out", &huber_loss_out);
    register_operator(m, "huber_loss_backward.out", &huber_loss_backward_out);
    register_operator(m, "mse_loss_backward", &mse_loss_backward);
    register_operator(m, "mse_loss_backward.grad_input", &mse_loss_backward_out);
    register_operator(m, "smooth_l1_loss_backward.grad_input", &smooth_l1_loss_backward_out);
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(addcmul_stub, &rvk::addcmul)
REGISTER_PRIVATEUSE1_DISPATCH(addcdiv_stub, &rvk::addcdiv)
REGISTER_PRIVATEUSE1_DISPATCH(lerp_kernel_scalar_weight, &rvk::lerp_scalar)
REGISTER_PRIVATEUSE1_DISPATCH(lerp_kernel_tensor_weight, &rvk::lerp_tensor)
REGISTER_PRIVATEUSE1_DISPATCH(clamp_stub, &rvk::on_each<rvk::Operation::clamp>)
REGISTER_PRIVATEUSE1_DISPATCH(clamp_scalar_stub, &rvk::clamp_scalar)
REGISTER_PRIVATEUSE1_DISPATCH(clamp_min_scalar_stub, &rvk::clamp_min_scalar)
REGISTER_PRIVATEUSE1_DISPATCH(clamp_max_scalar_stub, &rvk::clamp_max_scalar)
REGISTER_PRIVATEUSE1_DISPATCH(where_kernel, &rvk::where)
REGISTER_PRIVATEUSE1_DISPATCH(mse_stub, &rvk::on_each<rvk::Operation::squared_error>)
REGISTER_PRIVATEUSE1_DISPATCH(smooth_l1_stub, &rvk::smooth_l1)
REGISTER_PRIVATEUSE1_DISPATCH(huber_stub, &rvk::huber)
REGISTER_PRIVATEUSE1_DISPATCH(mse_backward_stub, &rvk::mse_backward)
REGISTER_PRIVATEUSE1_DISPATCH(smooth_l1_backward_stub, &rvk::smooth_l1_backward)
REGISTER_PRIVATEUSE1_DISPATCH(huber_backward_stub, &rvk::huber_backward)
} // namespace at::native
