/// Operators of two tensors, or of a tensor and a number.

#include "../../dispatch/structured.h"
#include "elementwise.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/Pow.h>
#include <ATen/ops/add_native.h>
#include <ATen/ops/atan2_native.h>
#include <ATen/ops/bitwise_and_native.h>
#include <ATen/ops/bitwise_left_shift_native.h>
#include <ATen/ops/bitwise_or_native.h>
#include <ATen/ops/bitwise_right_shift_native.h>
#include <ATen/ops/bitwise_xor_native.h>
#include <ATen/ops/copysign_native.h>
#include <ATen/ops/div_native.h>
#include <ATen/ops/eq_native.h>
#include <ATen/ops/floor_divide_native.h>
#include <ATen/ops/fmax_native.h>
#include <ATen/ops/fmin_native.h>
#include <ATen/ops/fmod_native.h>
#include <ATen/ops/gcd_native.h>
#include <ATen/ops/ge_native.h>
#include <ATen/ops/gt_native.h>
#include <ATen/ops/heaviside_native.h>
#include <ATen/ops/hypot_native.h>
#include <ATen/ops/lcm_native.h>
#include <ATen/ops/le_native.h>
#include <ATen/ops/logaddexp2_native.h>
#include <ATen/ops/logaddexp_native.h>
#include <ATen/ops/logical_and_native.h>
#include <ATen/ops/logical_or_native.h>
#include <ATen/ops/logical_xor_native.h>
#include <ATen/ops/lshift_native.h>
#include <ATen/ops/lt_native.h>
#include <ATen/ops/maximum_native.h>
#include <ATen/ops/minimum_native.h>
#include <ATen/ops/mul_native.h>
#include <ATen/ops/ne_native.h>
#include <ATen/ops/nextafter_native.h>
#include <ATen/ops/pow_native.h>
#include <ATen/ops/remainder_native.h>
#include <ATen/ops/rshift_native.h>
#include <ATen/ops/rsub_native.h>
#include <ATen/ops/special_xlog1py_native.h>
#include <ATen/ops/sub_native.h>
#include <ATen/ops/xlogy_native.h>
#include <torch/library.h>

namespace rvk {

namespace {

void add(at::TensorIteratorBase& iterator, const c10::Scalar& alpha) {
    compute(iterator, Operation::add, {std::nullopt, std::nullopt, alpha});
}

void pow_scalar(at::TensorIteratorBase& iterator, const c10::Scalar& exponent) {
    compute(iterator, Operation::power_of_scalar, {exponent, std::nullopt, std::nullopt});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    using namespace at::native;
    register_structured<structured_ufunc_add_CPU>(m, "add.Tensor", "add.out", "add_.Tensor");
    register_structured<structured_sub_out>(m, "sub.Tensor", "sub.out", "sub_.Tensor");
    register_structured<structured_mul_out>(m, "mul.Tensor", "mul.out", "mul_.Tensor");
    register_structured<structured_div_out>(m, "div.Tensor", "div.out", "div_.Tensor");
    register_structured<structured_div_out_mode>(m, "div.Tensor_mode", "div.out_mode", "div_.Tensor_mode");
    register_structured<structured_remainder_out>(m, "remainder.Tensor", "remainder.Tensor_out",
                                                  "remainder_.Tensor");
    register_structured<structured_fmod_out>(m, "fmod.Tensor", "fmod.Tensor_out", "fmod_.Tensor");
    register_structured<structured_pow_Tensor_Tensor_out>(m, "pow.Tensor_Tensor", "pow.Tensor_Tensor_out",
                                                          "pow_.Tensor");
    register_structured<structured_pow_Tensor_Scalar_out>(m, "pow.Tensor_Scalar", "pow.Tensor_Scalar_out",
                                                          "pow_.Scalar");
    register_structured<structured_pow_Scalar_out>(m, "pow.Scalar", "pow.Scalar_out");
#define RVK_COMPARISON(name)                                                                                 \
    register_structured<structured_##name##_Tensor_out>(m, #name ".Tensor", #name ".Tensor_out",             \
                                                        #name "_.Tensor");                                   \
    register_structured<structured_##name##_Scalar_out>(m, #name ".Scalar", #name ".Scalar_out",             \
                                                        #name "_.Scalar")
    RVK_COMPARISON(eq);
    RVK_COMPARISON(ne);
    RVK_COMPARISON(lt);
    RVK_COMPARISON(le);
    RVK_COMPARISON(gt);
    RVK_COMPARISON(ge);
#define RVK_TENSOR_OVERLOADS(name)                                                                           \
    register_structured<structured_##name##_out>(m, #name ".Tensor", #name ".Tensor_out", #name "_.Tensor")
    RVK_TENSOR_OVERLOADS(bitwise_and);
    RVK_TENSOR_OVERLOADS(bitwise_or);
    RVK_TENSOR_OVERLOADS(bitwise_xor);
    RVK_TENSOR_OVERLOADS(bitwise_left_shift);
    RVK_TENSOR_OVERLOADS(bitwise_right_shift);
#define RVK_PLAIN(name) register_structured<structured_##name##_out>(m, #name, #name ".out", #name "_")
    RVK_PLAIN(gcd);
    RVK_PLAIN(lcm);
    RVK_PLAIN(atan2);
    RVK_PLAIN(hypot);
    RVK_PLAIN(nextafter);
    RVK_PLAIN(heaviside);
#define RVK_WITHOUT_IN_PLACE(name) register_structured<structured_##name##_out>(m, #name, #name ".out")
    RVK_WITHOUT_IN_PLACE(maximum);
    RVK_WITHOUT_IN_PLACE(minimum);
    RVK_WITHOUT_IN_PLACE(fmax);
    RVK_WITHOUT_IN_PLACE(fmin);
    RVK_WITHOUT_IN_PLACE(logaddexp);
    RVK_WITHOUT_IN_PLACE(logaddexp2);
    RVK_WITHOUT_IN_PLACE(special_xlog1py);
    register_structured<structured_copysign_out>(m, "copysign.Tensor", "copysign.out", "copysign_.Tensor");
    register_structured<structured_xlogy_out>(m, "xlogy.Tensor", "xlogy.OutTensor", "xlogy_.Tensor");
    register_operator(m, "logical_and.out", &logical_and_out);
    register_operator(m, "logical_or.out", &logical_or_out);
    register_operator(m, "logical_xor.out", &logical_xor_out);
    register_operator(m, "floor_divide",
                      static_cast<at::Tensor (*)(const at::Tensor&, const at::Tensor&)>(&floor_divide));
    register_operator(m, "floor_divide.out", &floor_divide_out);
    register_operator(m, "floor_divide_.Tensor",
                      static_cast<at::Tensor& (*)(at::Tensor&, const at::Tensor&)>(&floor_divide_));
    register_operator(
        m, "rsub.Tensor",
        static_cast<at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Scalar&)>(&rsub));
#define RVK_SHIFT(name)                                                                                      \
    register_operator(m, #name ".Tensor",                                                                    \
                      static_cast<at::Tensor (*)(const at::Tensor&, const at::Tensor&)>(&(name)));           \
    register_operator(m, #name ".Scalar",                                                                    \
                      static_cast<at::Tensor (*)(const at::Tensor&, const at::Scalar&)>(&(name)))
#define RVK_SHIFT_IN_PLACE(name)                                                                             \
    register_operator(m, #name ".Tensor",                                                                    \
                      static_cast<at::Tensor& (*)(at::Tensor&, const at::Tensor&)>(&(name)));                \
    register_operator(m, #name ".Scalar",                                                                    \
                      static_cast<at::Tensor& (*)(at::Tensor&, const at::Scalar&)>(&(name)))
    RVK_SHIFT(__lshift__);
    RVK_SHIFT(__rshift__);
    RVK_SHIFT_IN_PLACE(__ilshift__);
    RVK_SHIFT_IN_PLACE(__irshift__);
}

} // namespace

} // namespace rvk

namespace at::native {
#define RVK_STUB(name, operation)                                                                            \
    REGISTER_PRIVATEUSE1_DISPATCH(name##_stub, &rvk::on_each<rvk::Operation::operation>)
#define RVK_ITERATOR_STUB(name, operation)                                                                   \
    REGISTER_PRIVATEUSE1_DISPATCH(name##_stub, &rvk::on_each_of<rvk::Operation::operation>)
REGISTER_PRIVATEUSE1_DISPATCH(add_stub, &rvk::add)
RVK_STUB(mul, multiply)
RVK_STUB(div_true, divide)
RVK_STUB(div_trunc, divide_trunc)
RVK_STUB(div_floor, divide_floor)
RVK_STUB(remainder, remainder)
RVK_STUB(fmod, fmod)
RVK_STUB(pow_tensor_tensor, power)
REGISTER_PRIVATEUSE1_DISPATCH(pow_tensor_scalar_stub, &rvk::pow_scalar)
RVK_STUB(eq, equal)
RVK_STUB(ne, not_equal)
RVK_STUB(lt, less)
RVK_STUB(le, less_equal)
RVK_STUB(gt, greater)
RVK_STUB(ge, greater_equal)
RVK_STUB(bitwise_and, bitwise_and)
RVK_STUB(bitwise_or, bitwise_or)
RVK_STUB(bitwise_xor, bitwise_xor)
RVK_STUB(lshift, shift_left)
RVK_STUB(rshift, shift_right)
RVK_STUB(gcd, greatest_common_divisor)
RVK_STUB(lcm, least_common_multiple)
RVK_STUB(atan2, arctangent2)
RVK_STUB(hypot, hypot)
RVK_STUB(nextafter, nextafter)
RVK_STUB(heaviside, heaviside)
RVK_STUB(maximum, maximum)
RVK_STUB(minimum, minimum)
RVK_STUB(fmax, fmax)
RVK_STUB(fmin, fmin)
RVK_STUB(logaddexp, log_add_exp)
RVK_STUB(logaddexp2, log_add_exp2)
RVK_STUB(xlog1py, x_log1p_y)
RVK_STUB(xlogy, x_log_y)
RVK_STUB(copysign, copysign)
RVK_ITERATOR_STUB(logical_and, logical_and)
RVK_ITERATOR_STUB(logical_or, logical_or)
RVK_ITERATOR_STUB(logical_xor, logical_xor)
} // namespace at::native
