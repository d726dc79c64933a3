/// torch.nn.utils.weight_norm: scales the slices of a weight v, along the first or last dimension, to the
/// norms g.

#include "../../dispatch/structured.h"

#include <ATen/ops/empty_like.h>

namespace rvk {

namespace {

/// Converts the tensor to the dtype of the norms: float32 for 16-bit tensors.
at::Tensor widened(const at::Tensor& tensor) {
    const auto type = tensor.scalar_type();
    return type == at::kHalf || type == at::kBFloat16 ? tensor.to(at::kFloat) : tensor;
}

/// The dimensions that the norms reduce: all but one.
std::vector<std::int64_t> summed_dimensions(const at::Tensor& v, std::int64_t dim) {
    TORCH_CHECK(dim == 0 || dim == v.dim() - 1, "fused kernels can only be applied for first or last dim");
    std::vector<std::int64_t> summed;
    for (std::int64_t d = 0; d < v.dim(); ++d)
        if (d != dim)
            summed.push_back(d);
    return summed;
}
void require_real(const at::Tensor& v) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(v.scalar_type()), "weight_norm of ", v.scalar_type());
}
at::Tensor sum_of_slices(const at::Tensor& values, const std::vector<std::int64_t>& summed) {
    return summed.empty() ? values : values.sum(summed, /*keepdim=*/true);
}

std::tuple<at::Tensor, at::Tensor> weight_norm(const at::Tensor& v, const at::Tensor& g, std::int64_t dim) {
    require_real(v);
    const auto summed = summed_dimensions(v, dim);
    const at::Tensor wide = widened(v);
    const at::Tensor norms =
        (summed.empty() ? wide.abs() : wide.norm(2, summed, /*keepdim=*/true)).view(g.sizes());
    const at::Tensor w = at::empty_like(v, at::MemoryFormat::Contiguous);
    w.copy_(wide.mul(widened(g).div(norms)));
    return {w, norms};
}

/// With s, the sum of grad_w v over a slice: grad_g = s / |v| and grad_v = g (grad_w - v s / |v|^2) / |v|.
std::tuple<at::Tensor, at::Tensor> weight_norm_backward(const at::Tensor& grad_w, const at::Tensor& v,
                                                        const at::Tensor& g, const at::Tensor& norms,
                                                        std::int64_t dim) {
    require_real(v);
    const auto summed = summed_dimensions(v, dim);
    const at::Tensor grad = widened(grad_w), wide = widened(v);
    const at::Tensor grad_g = sum_of_slices(grad.mul(wide), summed).div_(norms);
    const at::Tensor grad_v = grad.sub(wide.mul(grad_g.div(norms))).mul_(widened(g).div(norms));
    return {at::empty_like(v, at::MemoryFormat::Contiguous).copy_(grad_v),
            at::empty_like(g, at::MemoryFormat::Contiguous).copy_(grad_g)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_weight_norm_interface", &weight_norm);
    register_operator(m, "_weight_norm_interface_backward", &weight_norm_backward);
}

} // namespace

} // namespace rvk
