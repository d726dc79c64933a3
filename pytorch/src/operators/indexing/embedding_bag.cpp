/// Sums, means, and maxima of the table rows in each bag, and their gradients, composed of gathers and
/// deterministic accumulation.

#include "../../dispatch/same_dtype.h"
#include "../../dispatch/structured.h"
#include "index_operation.h"

#include <ATen/ops/_embedding_bag_sparse_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <limits>

namespace rvk {

namespace {

/// The bag number of rows that belong to no bag.
constexpr std::int64_t ignored_bag = -1;

enum Mode : std::int64_t { sum = 0, mean = 1, maximum = 2 };
using Weights = std::optional<at::Tensor>;
using Bags = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

/// The bag of each index: the number of bags that begin at or before it, minus one.
at::Tensor bag_of_index(const at::Tensor& offsets, std::int64_t count) {
    const at::Tensor begins = at::zeros({count + 1}, offsets.options().dtype(at::kLong));
    begins.index_add_(0, offsets, at::ones_like(offsets, begins.options()));
    return begins.cumsum(0).narrow(0, 0, count).sub(1);
}

/// Adds the values to the rows that the indices select, except for the padding row.
void add_rows(const at::Tensor& to, const at::Tensor& index, const at::Tensor& values,
              std::int64_t padding_index) {
    auto operation = IndexOperation::along(to, 0, index, values);
    if (padding_index >= 0)
        operation.ignore(padding_index);
    operation.accumulate(to, values, to.scalar_type(), IndexReduction::sum);
}

/// Combines the rows of `values` that belong to the same bag. Skips padding rows, which `padding` marks if it
/// is defined. Bags without rows keep the values of `to`.
void combine_rows(const at::Tensor& to, const at::Tensor& bag, const at::Tensor& values,
                  const at::Tensor& padding, IndexReduction reduction) {
    const at::Tensor to_bag = padding.defined() ? bag.masked_fill(padding, ignored_bag) : bag;
    auto operation = IndexOperation::along(to, 0, to_bag, values);
    operation.ignore(ignored_bag);
    operation.accumulate(to, values, to.scalar_type(), reduction);
}

/// The elementwise maximum of each bag, and the table row that each element comes from, the first if several
/// are equal.
std::tuple<at::Tensor, at::Tensor> largest_rows(const at::Tensor& rows, const at::Tensor& index,
                                                const at::Tensor& bag, const at::Tensor& sizes,
                                                const at::Tensor& padding) {
    const std::int64_t bags = sizes.size(0), columns = rows.size(1), count = rows.size(0);
    const at::Tensor lowest =
        at::full({bags, columns}, -std::numeric_limits<double>::infinity(), rows.options());
    combine_rows(lowest, bag, rows, padding, IndexReduction::maximum);
    const at::Tensor filled = sizes.gt(0).unsqueeze(1);
    const at::Tensor output = at::where(filled, lowest, 0);
    const at::Tensor matches = rows.eq(output.index_select(0, bag));
    const at::Tensor numbers = at::arange(count, bag.options()).unsqueeze(1);
    const at::Tensor first = at::full({bags, columns}, count, bag.options());
    combine_rows(first, bag, at::where(matches, numbers, count), padding, IndexReduction::minimum);
    // If a maximum is NaN, no element equals it, and `first` remains `count`.
    const at::Tensor place = first.clamp_max(count - 1);
    const at::Tensor from = index.index_select(0, place.view(-1)).view(place.sizes());
    return {output, at::where(filled, from, 0)};
}

Bags embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, bool,
                   std::int64_t mode, bool, const Weights& sample_weights, bool include_last_offset,
                   std::int64_t padding_index) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(weight.scalar_type()), "embedding_bag of ",
                                weight.scalar_type());
    TORCH_CHECK(indices.dim() == 1, "input has to be a 1D or 2D Tensor, but got Tensor of dimension ",
                indices.dim());
    TORCH_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor, but got Tensor of dimension ",
                offsets.dim());
    TORCH_CHECK(weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension ",
                weight.dim());
    TORCH_CHECK(!include_last_offset || offsets.size(0) >= 1,
                "include_last_offset: number of offset should be at least 1");
    require_same_dtype(weight, "weight", sample_weights.value_or(at::Tensor()), "per_sample_weights");
    const std::int64_t bags = offsets.size(0) - (include_last_offset ? 1 : 0);
    const at::Tensor index = indices.to(at::kLong);
    const at::Tensor bag = bag_of_index(offsets.narrow(0, 0, bags).to(at::kLong), index.numel());
    at::Tensor rows = weight.index_select(0, index);
    const bool weighted = sample_weights && sample_weights->defined();
    if (weighted)
        rows = rows.mul(sample_weights->unsqueeze(1));
    at::Tensor counted = at::ones({index.numel()}, bag.options());
    at::Tensor padding;
    if (padding_index >= 0) {
        padding = index.eq(padding_index);
        rows = rows.masked_fill(padding.unsqueeze(1), 0);
        counted = counted.masked_fill(padding, 0);
    }
    at::Tensor output = at::zeros({bags, weight.size(1)}, weight.options());
    const at::Tensor sizes = at::zeros({bags}, bag.options());
    at::Tensor largest = at::empty({0}, offsets.options());
    if (mode == Mode::maximum)
        largest = at::zeros({bags, weight.size(1)}, indices.options());
    if (index.numel() != 0 && bags != 0) {
        sizes.index_add_(0, bag, counted);
        if (mode == Mode::maximum) {
            std::tie(output, largest) = largest_rows(rows, index, bag, sizes, padding);
            largest = largest.to(indices.scalar_type());
        } else {
            add_rows(output, bag, rows, -1);
        }
    }
    if (mode == Mode::mean)
        output.div_(sizes.clamp_min(1).to(output.scalar_type()).unsqueeze(1));
    return {output, bag.to(indices.scalar_type()), sizes.to(offsets.scalar_type()), largest};
}

at::Tensor embedding_bag_backward(const at::Tensor& grad, const at::Tensor& indices, const at::Tensor& bag,
                                  const at::Tensor& sizes, const at::Tensor& largest, std::int64_t rows,
                                  bool scale_by_frequency, std::int64_t mode, const Weights& sample_weights,
                                  std::int64_t padding_index) {
    at::Tensor result = at::zeros({rows, grad.size(1)}, grad.options());
    if (indices.numel() == 0)
        return result;
    if (mode == Mode::maximum)
        return result.scatter_add_(0, largest.to(at::kLong), grad.masked_fill(sizes.eq(0).unsqueeze(1), 0));
    const at::Tensor index = indices.to(at::kLong);
    at::Tensor of_bag = grad;
    if (mode == Mode::mean)
        of_bag = grad.div(sizes.clamp_min(1).to(grad.scalar_type()).unsqueeze(1));
    at::Tensor values = of_bag.index_select(0, bag);
    if (sample_weights && sample_weights->defined())
        values = values.mul(sample_weights->unsqueeze(1));
    if (scale_by_frequency) {
        const at::Tensor counts =
            at::zeros({rows}, grad.options()).index_add_(0, index, at::ones({index.numel()}, grad.options()));
        values = values.div(counts.index_select(0, index).unsqueeze(1));
    }
    add_rows(result, index, values, padding_index);
    return result;
}

at::Tensor any_backward(const at::Tensor& grad, const at::Tensor& indices, const at::Tensor& offsets,
                        const at::Tensor& bag, const at::Tensor& sizes, const at::Tensor& largest,
                        std::int64_t rows, bool scale_by_frequency, std::int64_t mode, bool sparse,
                        const Weights& sample_weights, std::int64_t padding_index) {
    if (sparse)
        return at::_embedding_bag_sparse_backward(grad, indices, offsets, bag, sizes, rows,
                                                  scale_by_frequency, mode, sample_weights, padding_index);
    return embedding_bag_backward(grad, indices, bag, sizes, largest, rows, scale_by_frequency, mode,
                                  sample_weights, padding_index);
}

at::Tensor sample_weights_backward(const at::Tensor& grad, const at::Tensor& weight,
                                   const at::Tensor& indices, const at::Tensor&, const at::Tensor& bag,
                                   std::int64_t mode, std::int64_t padding_index) {
    TORCH_CHECK(mode == Mode::sum,
                "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
    const at::Tensor index = indices.to(at::kLong);
    if (index.numel() == 0)
        return at::empty({0}, grad.options());
    const at::Tensor products = grad.index_select(0, bag).mul(weight.index_select(0, index)).sum(1);
    return padding_index >= 0 ? products.masked_fill(index.eq(padding_index), 0) : products;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_embedding_bag", &embedding_bag);
    register_operator(m, "_embedding_bag_forward_only", &embedding_bag);
    register_operator(m, "_embedding_bag_backward", &any_backward);
    register_operator(m, "_embedding_bag_dense_backward", &embedding_bag_backward);
    register_operator(m, "_embedding_bag_per_sample_weights_backward", &sample_weights_backward);
}

} // namespace

} // namespace rvk
