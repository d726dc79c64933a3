/// Margin losses. multi_margin_loss is composed of the device's other operators. multilabel_margin_loss runs
/// on the CPU, which supports float32 and float64; 16-bit numbers are converted to float32, which CUDA's
/// kernels compute in as well.

#include "../../dispatch/structured.h"

#include <ATen/core/Reduction.h>
#include <ATen/native/LossMulti.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/multilabel_margin_loss_backward.h>
#include <ATen/ops/multilabel_margin_loss_forward.h>

namespace rvk {

namespace {

using Optional = std::optional<at::Tensor>;

/// Multi-class margin loss of samples × classes. Each class except the target adds
/// max(0, margin - input[target] + input[class])^p, times the weight of the target.
class MultiMargin {
  public:
    MultiMargin(const at::Tensor& self, const at::Tensor& target, const at::Scalar& p,
                const at::Scalar& margin, const Optional& weight)
        : squares_(p.toDouble() == 2) {
        TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()), "multi_margin_loss of ",
                                    self.scalar_type());
        TORCH_CHECK(p.toDouble() == 1 || p.toDouble() == 2, "only p == 1 and p == 2 supported");
        std::int64_t samples = 0, classes = 0;
        at::native::multi_margin_loss_shape_check(samples, classes, self.dim(), self, target, weight);
        TORCH_CHECK(target.scalar_type() == at::kLong, "expected scalar type Long but found ",
                    target.scalar_type());
        const bool narrow = self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16;
        const at::Tensor input = (narrow ? self.to(at::kFloat) : self).reshape({samples, classes});
        own_ = target.reshape({samples, 1});
        excess_ = input.sub(input.gather(1, own_)).add_(margin).clamp_min_(0).scatter_(1, own_, 0);
        factor_ = excess_.new_full({1, 1}, 1.0 / static_cast<double>(classes));
        if (weight && weight->defined())
            factor_ = weight->reshape({-1})
                          .to(excess_.scalar_type())
                          .index_select(0, own_.view(-1))
                          .unsqueeze(1)
                          .mul(factor_);
    }

    /// Returns the loss of each sample.
    at::Tensor losses() const { return (squares_ ? excess_.square() : excess_).mul(factor_).sum(1); }
    /// Returns the gradient of each sample's loss with respect to the input.
    at::Tensor gradients() const {
        const at::Tensor slopes =
            (squares_ ? excess_.mul(2) : excess_.gt(0).to(excess_.scalar_type())).mul(factor_);
        return slopes.scatter(1, own_, slopes.sum(1, /*keepdim=*/true).neg());
    }

  private:
    bool squares_;
    at::Tensor own_;    ///< samples × 1: the target of each sample
    at::Tensor excess_; ///< samples × classes; 0 at the target
    at::Tensor factor_; ///< samples × 1, or 1 × 1 for all samples
};

at::Tensor reduced(const at::Tensor& losses, std::int64_t reduction) {
    if (reduction == at::Reduction::Mean)
        return losses.mean();
    return reduction == at::Reduction::Sum ? losses.sum() : losses;
}

at::Tensor multi_margin(const at::Tensor& self, const at::Tensor& target, const at::Scalar& p,
                        const at::Scalar& margin, const Optional& weight, std::int64_t reduction) {
    const MultiMargin problem(self, target, p, margin, weight);
    const at::Tensor losses = problem.losses();
    const at::Tensor result = target.dim() == 0 && reduction == at::Reduction::None
                                  ? losses.squeeze(0)
                                  : reduced(losses, reduction);
    return result.to(self.scalar_type());
}
at::Tensor& multi_margin_out(const at::Tensor& self, const at::Tensor& target, const at::Scalar& p,
                             const at::Scalar& margin, const Optional& weight, std::int64_t reduction,
                             at::Tensor& out) {
    const at::Tensor result = multi_margin(self, target, p, margin, weight, reduction);
    at::native::resize_output(out, result.sizes());
    return out.copy_(result);
}

at::Tensor multi_margin_backward(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& target,
                                 const at::Scalar& p, const at::Scalar& margin, const Optional& weight,
                                 std::int64_t reduction) {
    const at::Tensor slopes = MultiMargin(self, target, p, margin, weight).gradients();
    at::Tensor scale = gradient.to(slopes.scalar_type());
    if (reduction == at::Reduction::Mean && slopes.size(0) != 0)
        scale = scale.div(slopes.size(0));
    if (reduction == at::Reduction::None)
        scale = scale.reshape({-1, 1});
    return slopes.mul(scale).view(self.sizes()).to(self.scalar_type());
}
at::Tensor& multi_margin_backward_out(const at::Tensor& gradient, const at::Tensor& self,
                                      const at::Tensor& target, const at::Scalar& p, const at::Scalar& margin,
                                      const Optional& weight, std::int64_t reduction,
                                      at::Tensor& grad_input) {
    const at::Tensor result = multi_margin_backward(gradient, self, target, p, margin, weight, reduction);
    at::native::resize_output(grad_input, result.sizes());
    return grad_input.copy_(result);
}

/// Leaves other dtypes to the fallback.
void require_16_bits(const at::Tensor& self, const char* name) {
    TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16, name,
                                " of ", self.scalar_type());
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
    register_operator(m, "multi_margin_loss.out", &multi_margin_out);
    register_operator(m, "multi_margin_loss_backward", &multi_margin_backward);
    register_operator(m, "multi_margin_loss_backward.grad_input", &multi_margin_backward_out);
    register_operator(m, "multilabel_margin_loss_forward", &multilabel_margin);
    register_operator(m, "multilabel_margin_loss_backward", &multilabel_margin_backward);
}

} // namespace

} // namespace rvk
