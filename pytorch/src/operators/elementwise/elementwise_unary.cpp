/// Operators of one tensor.

#include "../../dispatch/structured.h"
#include "elementwise.h"

#include <ATen/native/TensorCompare.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/abs_native.h>
#include <ATen/ops/acos_native.h>
#include <ATen/ops/acosh_native.h>
#include <ATen/ops/angle_native.h>
#include <ATen/ops/asin_native.h>
#include <ATen/ops/asinh_native.h>
#include <ATen/ops/atan_native.h>
#include <ATen/ops/atanh_native.h>
#include <ATen/ops/bitwise_not_native.h>
#include <ATen/ops/ceil_native.h>
#include <ATen/ops/conj_physical_native.h>
#include <ATen/ops/cos_native.h>
#include <ATen/ops/cosh_native.h>
#include <ATen/ops/digamma_native.h>
#include <ATen/ops/erf_native.h>
#include <ATen/ops/erfc_native.h>
#include <ATen/ops/erfinv_native.h>
#include <ATen/ops/exp2_native.h>
#include <ATen/ops/exp_native.h>
#include <ATen/ops/expm1_native.h>
#include <ATen/ops/floor_native.h>
#include <ATen/ops/frac_native.h>
#include <ATen/ops/isnan_native.h>
#include <ATen/ops/isneginf_native.h>
#include <ATen/ops/isposinf_native.h>
#include <ATen/ops/lgamma_native.h>
#include <ATen/ops/log10_native.h>
#include <ATen/ops/log1p_native.h>
#include <ATen/ops/log2_native.h>
#include <ATen/ops/log_native.h>
#include <ATen/ops/logical_not_native.h>
#include <ATen/ops/logit_native.h>
#include <ATen/ops/nan_to_num_native.h>
#include <ATen/ops/neg_native.h>
#include <ATen/ops/polygamma_native.h>
#include <ATen/ops/reciprocal_native.h>
#include <ATen/ops/round_native.h>
#include <ATen/ops/rsqrt_native.h>
#include <ATen/ops/sgn_native.h>
#include <ATen/ops/sigmoid_native.h>
#include <ATen/ops/sign_native.h>
#include <ATen/ops/signbit_native.h>
#include <ATen/ops/sin_native.h>
#include <ATen/ops/sinc_native.h>
#include <ATen/ops/sinh_native.h>
#include <ATen/ops/special_entr_native.h>
#include <ATen/ops/special_erfcx_native.h>
#include <ATen/ops/special_log_ndtr_native.h>
#include <ATen/ops/sqrt_native.h>
#include <ATen/ops/tan_native.h>
#include <ATen/ops/tanh_native.h>
#include <ATen/ops/trunc_native.h>
#include <cmath>
#include <cstdlib>
#include <torch/library.h>

// Structured operators with an in-place variant: name, operation.
// (clang-format would indent every line further than the previous one.)
// clang-format off
#define RVK_UNARY(F) \
    F(acos, acos) F(acosh, acosh) F(asin, asin) F(asinh, asinh) F(atan, atan) F(atanh, atanh) \
    F(ceil, ceil) F(cos, cos) F(cosh, cosh) F(digamma, digamma) F(erf, erf) F(erfc, erfc) \
    F(erfinv, erfinv) F(exp, exp) F(exp2, exp2) F(expm1, expm1) F(floor, floor) F(frac, frac) \
    F(lgamma, lgamma) F(log, log) F(log10, log10) F(log1p, log1p) F(log2, log2) F(neg, negate) \
    F(reciprocal, reciprocal) F(round, round) F(rsqrt, rsqrt) F(sgn, sign) F(sigmoid, sigmoid) \
    F(sign, sign) F(sin, sin) F(sinc, sinc) F(sinh, sinh) F(sqrt, sqrt) F(tan, tan) F(tanh, tanh) \
    F(trunc, trunc)
// Structured operators without an in-place variant.
#define RVK_UNARY_WITHOUT_IN_PLACE(F) \
    F(signbit, signbit) F(isposinf, is_positive_infinity) F(isneginf, is_negative_infinity) \
    F(special_entr, entropy)
// Structured operators for float32 and float64 only.
#define RVK_UNARY_NOT_OF_16_BITS(F) \
    F(special_erfcx, erfcx) F(special_log_ndtr, log_normal_distribution)
// clang-format on

namespace rvk {

namespace {

/// The CPU and CUDA have no 16-bit kernels for these operators.
template <Operation operation>
void not_of_16_bits(at::TensorIteratorBase& iterator) {
    const auto dtype = iterator.common_dtype();
    TORCH_CHECK_NOT_IMPLEMENTED(dtype != at::kHalf && dtype != at::kBFloat16, "elements of ", dtype);
    on_each<operation>(iterator);
}

void bitwise_not(at::TensorIteratorBase& iterator) {
    compute(iterator, iterator.common_dtype() == at::kBool ? Operation::logical_not : Operation::bitwise_not);
}

void round_decimals(at::TensorIteratorBase& iterator, std::int64_t decimals) {
    compute(iterator, Operation::round_to_decimals,
            {c10::Scalar(std::pow(10.0, static_cast<double>(std::abs(decimals)))),
             c10::Scalar(decimals < 0 ? -1.0 : 1.0), std::nullopt});
}

/// The derivative of order n of the digamma function.
void polygamma(at::TensorIteratorBase& iterator, std::int64_t n) {
    if (n == 0) {
        compute(iterator, Operation::digamma);
        return;
    }
    const double order = static_cast<double>(n);
    const double factorial = std::tgamma(order + 1) * (n % 2 == 0 ? -1 : 1);
    compute(iterator, Operation::polygamma, {c10::Scalar(order + 1), c10::Scalar(factorial), std::nullopt});
}

void logit(at::TensorIteratorBase& iterator, const c10::Scalar& epsilon) {
    const double e = epsilon.toDouble();
    compute(iterator, Operation::logit, {c10::Scalar(e), c10::Scalar(e < 0 ? -1.0 : 1.0 - e), std::nullopt});
}

template <class T>
std::array<double, 2> extremes() {
    return {static_cast<double>(std::numeric_limits<T>::max()),
            static_cast<double>(std::numeric_limits<T>::lowest())};
}
void nan_to_num(at::TensorIteratorBase& iterator, std::optional<double> nan, std::optional<double> positive,
                std::optional<double> negative) {
    const auto dtype = iterator.common_dtype();
    const auto [largest, lowest] = dtype == at::kHalf       ? extremes<c10::Half>()
                                   : dtype == at::kBFloat16 ? extremes<c10::BFloat16>()
                                   : dtype == at::kDouble   ? extremes<double>()
                                                            : extremes<float>();
    compute(iterator, Operation::nan_to_number,
            {c10::Scalar(nan.value_or(0.0)), c10::Scalar(positive.value_or(largest)),
             c10::Scalar(negative.value_or(lowest))});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
#define RVK_REGISTER(name, operation)                                                                        \
    register_structured<at::native::structured_##name##_out>(m, #name, #name ".out", #name "_");
#define RVK_REGISTER_WITHOUT_IN_PLACE(name, operation)                                                       \
    register_structured<at::native::structured_##name##_out>(m, #name, #name ".out");
    RVK_UNARY(RVK_REGISTER)
    RVK_UNARY_WITHOUT_IN_PLACE(RVK_REGISTER_WITHOUT_IN_PLACE)
    RVK_UNARY_NOT_OF_16_BITS(RVK_REGISTER_WITHOUT_IN_PLACE)
    RVK_REGISTER(bitwise_not, )
    register_structured<at::native::structured_round_decimals_out>(m, "round.decimals", "round.decimals_out",
                                                                   "round_.decimals");
    register_structured<at::native::structured_polygamma_out>(m, "polygamma", "polygamma.out");
    register_operator(m, "polygamma_", &at::native::polygamma_);
    register_operator(m, "abs.out", &at::native::abs_out);
    register_operator(m, "angle", &at::native::angle);
    register_operator(m, "angle.out", &at::native::angle_out);
    register_operator(m, "isnan", &at::native::isnan);
    register_operator(m, "logical_not.out", &at::native::logical_not_out);
    register_operator(m, "logit", &at::native::logit);
    register_operator(m, "logit.out", &at::native::logit_out);
    register_operator(m, "logit_", &at::native::logit_);
    register_operator(m, "nan_to_num.out", &at::native::nan_to_num_out);
}

} // namespace

} // namespace rvk

namespace at::native {
#define RVK_STUB(name, operation)                                                                            \
    REGISTER_PRIVATEUSE1_DISPATCH(name##_stub, &rvk::on_each<rvk::Operation::operation>)
RVK_UNARY(RVK_STUB)
RVK_UNARY_WITHOUT_IN_PLACE(RVK_STUB)
#define RVK_STUB_NOT_OF_16_BITS(name, operation)                                                             \
    REGISTER_PRIVATEUSE1_DISPATCH(name##_stub, &rvk::not_of_16_bits<rvk::Operation::operation>)
RVK_UNARY_NOT_OF_16_BITS(RVK_STUB_NOT_OF_16_BITS)
RVK_STUB(abs, absolute)
RVK_STUB(angle, angle)
RVK_STUB(logical_not, logical_not)
REGISTER_PRIVATEUSE1_DISPATCH(bitwise_not_stub, &rvk::bitwise_not)
REGISTER_PRIVATEUSE1_DISPATCH(logit_stub, &rvk::logit)
REGISTER_PRIVATEUSE1_DISPATCH(nan_to_num_stub, &rvk::nan_to_num)
REGISTER_PRIVATEUSE1_DISPATCH(polygamma_stub, &rvk::polygamma)
REGISTER_PRIVATEUSE1_DISPATCH(round_decimals_stub, &rvk::round_decimals)
} // namespace at::native
