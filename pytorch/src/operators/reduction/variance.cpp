/// var and std for PyTorch versions whose own functions reject this device.

#include "../../compat.h"

#if RVK_REGISTERS_VARIANCE

#include "../../dispatch/structured.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/ops/empty.h>
#include <limits>
#include <torch/library.h>

namespace rvk {

/// The body of std_var_stub (reduction.cpp), whose caller these PyTorch versions do not export.
void variance_kernel(at::TensorIterator& iterator, double correction, bool take_root);

namespace {

using OptionalDimensions = at::OptionalIntArrayRef;
using Correction = const std::optional<at::Scalar>&;

double correction_of(Correction correction) {
    return correction ? correction->toDouble() : 1.0;
}

void require_real(const at::Tensor& self) {
    TORCH_CHECK(at::isFloatingType(self.scalar_type()) || self.is_complex(),
                "std and var only support floating point and complex dtypes");
    TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "the variance of complex numbers");
}

at::Tensor& compute(const at::Tensor& self, OptionalDimensions dimensions, Correction correction, bool keep,
                    bool take_root, at::Tensor& out) {
    require_real(self);
    TORCH_CHECK(at::canCast(self.scalar_type(), out.scalar_type()), "result type ", self.scalar_type(),
                " can't be cast to the desired output type ", out.scalar_type());
    auto iterator =
        at::native::make_reduction(take_root ? "std" : "var", out, self, dimensions, keep, out.scalar_type());
    if (iterator.numel() == 0)
        out.fill_(std::numeric_limits<double>::quiet_NaN());
    else
        variance_kernel(iterator, correction_of(correction), take_root);
    return out;
}

template <bool take_root>
at::Tensor& variance_out(const at::Tensor& self, OptionalDimensions dimensions, Correction correction,
                         bool keep, at::Tensor& out) {
    return compute(self, dimensions, correction, keep, take_root, out);
}

template <bool take_root>
at::Tensor variance(const at::Tensor& self, OptionalDimensions dimensions, Correction correction, bool keep) {
    at::Tensor out = at::empty({0}, self.options());
    return compute(self, dimensions, correction, keep, take_root, out);
}

template <bool take_root>
std::tuple<at::Tensor, at::Tensor> variance_and_mean(const at::Tensor& self, OptionalDimensions dimensions,
                                                     Correction correction, bool keep) {
    require_real(self);
    return {variance<take_root>(self, dimensions, correction, keep), self.mean(dimensions, keep)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "var.correction", &variance<false>);
    register_operator(m, "std.correction", &variance<true>);
    register_operator(m, "var.correction_out", &variance_out<false>);
    register_operator(m, "std.correction_out", &variance_out<true>);
    register_operator(m, "var_mean.correction", &variance_and_mean<false>);
    register_operator(m, "std_mean.correction", &variance_and_mean<true>);
}

} // namespace

} // namespace rvk

#endif
