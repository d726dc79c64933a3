/// Binary cross-entropy of probabilities and its derivative.

#include "../../dispatch/same_dtype.h"
#include "../../dispatch/structured.h"
#include "../lib/value_checks.h"
#include "elementwise.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <torch/library.h>

namespace rvk {

namespace {

using Optional = std::optional<at::Tensor>;

/// The factor of each element: its weight, or one.
at::Tensor factor_of(const Optional& weight, const at::Tensor& self) {
    if (weight && weight->defined())
        return *weight;
    return at::full({}, 1, self.options().device(at::kCPU));
}

at::Tensor& loss_out(const at::Tensor& self, const at::Tensor& target, const Optional& weight,
                     std::int64_t reduction, at::Tensor& out) {
    require_same_dtype(self, "input", target, "target");
    require_same_dtype(self, "input", weight.value_or(at::Tensor()), "weight");
    at::Tensor each = reduction == at::Reduction::None ? out : at::empty({0}, self.options());
    each.resize_as_(self);
    if (at::isFloatingType(self.scalar_type()))
        report_unless_probability(self, Report::binary_cross_entropy);
    auto iterator = iterator_of(each, {self, target, factor_of(weight, self)});
    compute(iterator, Operation::binary_cross_entropy);
    if (reduction == at::Reduction::None)
        return out;
    out.resize_({});
    if (reduction == at::Reduction::Mean)
        at::mean_out(out, each, c10::OptionalArrayRef<std::int64_t>());
    else
        at::sum_out(out, each, c10::OptionalArrayRef<std::int64_t>());
    return out;
}

at::Tensor loss(const at::Tensor& self, const at::Tensor& target, const Optional& weight,
                std::int64_t reduction) {
    at::Tensor out = reduction == at::Reduction::None ? at::empty_like(self) : at::empty({}, self.options());
    return loss_out(self, target, weight, reduction, out);
}

at::Tensor& backward_out(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& target,
                         const Optional& weight, std::int64_t reduction, at::Tensor& out) {
    at::Tensor factor = gradient;
    if (weight && weight->defined())
        factor = at::mul(factor, *weight);
    if (reduction == at::Reduction::Mean)
        factor = at::div(factor, static_cast<double>(self.numel()));
    out.resize_as_(self);
    auto iterator = iterator_of(out, {self, target, factor});
    compute(iterator, Operation::binary_cross_entropy_backward);
    return out;
}

at::Tensor backward(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& target,
                    const Optional& weight, std::int64_t reduction) {
    at::Tensor out = at::empty_like(self);
    return backward_out(gradient, self, target, weight, reduction, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "binary_cross_entropy", &loss);
    register_operator(m, "binary_cross_entropy.out", &loss_out);
    register_operator(m, "binary_cross_entropy_backward", &backward);
    register_operator(m, "binary_cross_entropy_backward.grad_input", &backward_out);
}

} // namespace

} // namespace rvk
