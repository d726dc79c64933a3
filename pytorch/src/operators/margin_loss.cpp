/// Margin losses run on the CPU, which supports float32 and float64; 16-bit numbers are converted to float32,
/// in which CUDA computes too.

#include "../dispatch/structured.h"

#include <ATen/ops/multi_margin_loss.h>
#include <ATen/ops/multi_margin_loss_backward.h>
#include <ATen/ops/multilabel_margin_loss_backward.h>
#include <ATen/ops/multilabel_margin_loss_forward.h>

namespace rvk {

namespace {

using Optional = std::optional<at::Tensor>;

/// The fallback handles other dtypes.
void require_16_bits(const at::Tensor& self, const char* name) {
    TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16, name,
                                " of ", self.scalar_type());
}
Optional widened(const Optional& tensor) {
    return tensor && tensor->defined() ? Optional(tensor->to(at::kFloat)) : tensor;
}

at::Tensor multi_margin(const at::Tensor& self, const at::Tensor& target, const at::Scalar& p,
                        const at::Scalar& margin, const Optional& weight, std::int64_t reduction) {
    require_16_bits(self, "multi_margin_loss");
    return at::multi_margin_loss(self.to(at::kFloat), target, p, margin, widened(weight), reduction)
        .to(self.scalar_type());
}
at::Tensor multi_margin_backward(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& target,
                                 const at::Scalar& p, const at::Scalar& margin, const Optional& weight,
                                 std::int64_t reduction) {
    require_16_bits(self, "multi_margin_loss_backward");
    return at::multi_margin_loss_backward(gradient.to(at::kFloat), self.to(at::kFloat), target, p, margin,
                                          widened(weight), reduction)
        .to(self.scalar_type());
}

std::tuple<at::Tensor, at::Tensor> multilabel_margin(const at::Tensor& self, const at::Tensor& target,
                                                     std::int64_t reduction) {
    require_16_bits(self, "multilabel_margin_loss_forward");
    const auto [loss, is_target] = at::multilabel_margin_loss_forward(self.to(at::kFloat), target, reduction);
    return {loss.to(self.scalar_type()), is_target.to(self.scalar_type())};
}
at::Tensor multilabel_margin_backward(const at::Tensor& gradient, const at::Tensor& self,
                                      const at::Tensor& target, std::int64_t reduction,
                                      const at::Tensor& is_target) {
    require_16_bits(self, "multilabel_margin_loss_backward");
    return at::multilabel_margin_loss_backward(gradient.to(at::kFloat), self.to(at::kFloat), target,
                                               reduction, is_target.to(at::kFloat))
        .to(self.scalar_type());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "multi_margin_loss", &multi_margin);
    register_operator(m, "multi_margin_loss_backward", &multi_margin_backward);
    register_operator(m, "multilabel_margin_loss_forward", &multilabel_margin);
    register_operator(m, "multilabel_margin_loss_backward", &multilabel_margin_backward);
}

} // namespace

} // namespace rvk
