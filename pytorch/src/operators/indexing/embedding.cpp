/// Gradients of embeddings, embedding_renorm_, and repeat_interleave.

#include "../../dispatch/structured.h"
#include "../lib/value_checks.h"
#include "index_operation.h"

#include <rekindle/kernels/families/shape.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <limits>

namespace rvk {

namespace {

at::Tensor embedding_dense_backward(const at::Tensor& grad_output, const at::Tensor& indices,
                                    std::int64_t rows, std::int64_t padding_index, bool scale_by_frequency) {
    TORCH_CHECK(
        indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
        "embedding_backward: Expected tensor for argument #2 'indices' to have one of the following scalar ",
        "types: Long, Int; but got ", indices.scalar_type());
    const at::Tensor index = indices.reshape({-1});
    at::Tensor grad = grad_output.reshape({index.numel(), grad_output.size(-1)});
    at::Tensor out = at::zeros({rows, grad_output.size(-1)}, grad_output.options());
    if (grad.numel() == 0)
        return out;
    if (scale_by_frequency) {
        const at::Tensor counts =
            at::zeros({rows}, grad.options()).index_add_(0, index, at::ones({index.numel()}, grad.options()));
        grad = grad.div(counts.index_select(0, index).unsqueeze(1));
    }
    auto operation = IndexOperation::along(out, 0, index, grad);
    if (padding_index >= 0)
        operation.ignore(padding_index);
    operation.accumulate(out, grad, out.scalar_type(), IndexReduction::sum);
    return out;
}

/// Scales rows whose norm exceeds `maximum` down to it. A row that is selected several times gets the same
/// values each time.
at::Tensor& embedding_renorm(at::Tensor& self, const at::Tensor& indices, double maximum, double norm_type) {
    TORCH_CHECK(self.dim() == 2, "embedding_renorm_: self must have two dimensions");
    TORCH_CHECK(indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
                "embedding_renorm_: indices must be Long or Int");
    const at::Tensor index = indices.reshape({-1});
    if (index.numel() == 0)
        return self;
    const at::Tensor rows = self.index_select(0, index);
    const at::Tensor norms = rows.norm(norm_type, 1, true);
    const at::Tensor scale = at::where(norms.gt(maximum), norms.add(1e-7).reciprocal().mul(maximum), 1.0);
    const at::Tensor scaled = rows.mul(scale.to(rows.scalar_type()));
    IndexOperation::along(self, 0, index, scaled).scatter(self, scaled, /*unique=*/true);
    return self;
}

at::Tensor repeat_interleave(const at::Tensor& repeats, std::optional<std::int64_t> output_size) {
    TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
    TORCH_CHECK(repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt,
                "repeats has to be Long or Int tensor");
    if (repeats.size(0) == 0)
        return at::empty({0}, repeats.options());
    const at::Tensor sums = repeats.cumsum(0, at::kLong);
    std::int64_t count = 0;
    if (output_size) {
        count = *output_size;
    } else {
        const AllowCopyToHost allow("the size of the result depends on values");
        TORCH_CHECK(repeats.min().item().toLong() >= 0, "repeats can not be negative");
        count = sums.select(0, -1).item().toLong();
    }
    const at::Tensor numbers = at::empty({count}, repeats.options().dtype(at::kLong));
    if (output_size) {
        report_unless_between(repeats, 0, std::numeric_limits<std::int64_t>::max(), Report::repeats);
        report_unless_between(sums.select(0, -1), count, count, Report::output_size);
    }
    if (count == 0)
        return numbers.to(repeats.scalar_type());
    kernels::ShapeParameters p{};
    p.result = address(numbers);
    p.source = address(sums);
    p.diagonal = sums.numel();
    p.count = static_cast<std::uint32_t>(count);
    launch(repeats.device(), kernels::shape_repeat, linear_groups(count, 256), p,
           {reads(sums), writes(numbers)});
    return numbers.to(repeats.scalar_type());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "embedding_dense_backward", &embedding_dense_backward);
    register_operator(m, "embedding_renorm_", &embedding_renorm);
    register_operator(m, "repeat_interleave.Tensor", &repeat_interleave);
}

} // namespace

} // namespace rvk
