/// PyTorch's index_put_with_sort_stub. Accumulation sorts the indices, so its result is deterministic.

#include "../../dispatch/structured.h"
#include "index_operation.h"

#include <ATen/native/TensorAdvancedIndexing.h>
#include <ATen/native/TensorAdvancedIndexingUtils.h>
#include <ATen/ops/view_as_real.h>

namespace rvk {

namespace {

/// The indexed tensor, transposed so that its indexed dimensions are adjacent, and the index of each
/// dimension, broadcast to a common shape. The indices of other dimensions are undefined.
struct Indexed {
    at::Tensor self;
    std::vector<at::Tensor> indices;
    std::int64_t before = 0; ///< dimensions before the indexed ones
    std::int64_t indexed = 0;
};

Indexed prepare(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& list) {
    at::native::checkIndexTensorTypes(list, /*allow_int=*/true);
    auto indices = at::expand_outplace(at::native::expandTensors(self, list, /*ensure_same_device=*/true));
    indices.resize(static_cast<std::size_t>(self.dim()));
    Indexed result{self, std::move(indices)};
    if (!at::native::hasContiguousSubspace(result.indices))
        std::tie(result.self, result.indices) = at::native::transposeToFront(self, result.indices);
    for (at::Tensor& index : result.indices) {
        if (index.defined()) {
            index = index.to(at::kLong);
            ++result.indexed;
        } else if (result.indexed == 0) {
            ++result.before;
        }
    }
    return result;
}

std::int64_t stride(const at::Tensor& tensor, std::int64_t dim) {
    return tensor.stride(dim) * static_cast<std::int64_t>(tensor.element_size());
}

IndexOperation describe(const Indexed& to, const at::Tensor& values) {
    IndexOperation operation(to.self.device(), static_cast<std::int64_t>(to.self.element_size()));
    const auto& index = to.indices[static_cast<std::size_t>(to.before)];
    for (std::int64_t d = 0; d < to.before; ++d)
        operation.add_inner({to.self.size(d), stride(to.self, d), stride(values, d)});
    for (std::int64_t d = 0; d < index.dim(); ++d) {
        IndexOperation::Dimension dimension{index.size(d), 0, stride(values, to.before + d)};
        for (std::int64_t k = 0; k < to.indexed; ++k)
            dimension.index_strides[static_cast<std::size_t>(k)] =
                stride(to.indices[static_cast<std::size_t>(to.before + k)], d);
        operation.add_outer(dimension);
    }
    for (std::int64_t d = to.before + to.indexed; d < to.self.dim(); ++d)
        operation.add_inner(
            {to.self.size(d), stride(to.self, d), stride(values, d - to.indexed + index.dim())});
    operation.wrap();
    std::int64_t keys = 1;
    for (std::int64_t k = 0; k < to.indexed; ++k)
        keys *= to.self.size(to.before + k);
    operation.set_keys(keys);
    for (std::int64_t k = 0; k < to.indexed; ++k) {
        const std::int64_t d = to.before + k;
        keys /= std::max<std::int64_t>(to.self.size(d), 1);
        operation.add_selector(to.indices[static_cast<std::size_t>(d)], to.self.size(d), stride(to.self, d),
                               keys);
    }
    return operation;
}

void put_with_sort(at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices,
                   const at::Tensor& value, bool accumulate, bool /*unsafe*/) {
    TORCH_CHECK(self.scalar_type() == value.scalar_type(),
                "Index put requires the source and destination dtypes match, got ", self.scalar_type(),
                " for the destination and ", value.scalar_type(), " for the source.");
    Indexed to = prepare(self, indices);
    TORCH_CHECK_NOT_IMPLEMENTED(
        to.indexed > 0 && to.indexed <= static_cast<std::int64_t>(IndexOperation::maximum_selectors),
        "index_put with ", to.indexed, " index tensors");
    const auto& index = to.indices[static_cast<std::size_t>(to.before)];
    auto sizes = to.self.sizes().slice(0, static_cast<std::size_t>(to.before)).vec();
    sizes.insert(sizes.end(), index.sizes().begin(), index.sizes().end());
    const auto after = to.self.sizes().slice(static_cast<std::size_t>(to.before + to.indexed));
    sizes.insert(sizes.end(), after.begin(), after.end());
    at::Tensor values = value.expand(sizes);
    if (values.numel() == 0)
        return;
    if (to.self.is_complex() && accumulate) {
        to.self = at::view_as_real(to.self);
        to.indices.emplace_back();
        values = at::view_as_real(values.resolve_conj());
    }
    const IndexOperation operation = describe(to, values);
    if (accumulate)
        operation.accumulate(to.self, values, to.self.scalar_type(), IndexReduction::sum);
    else
        operation.scatter(to.self, values, /*unique=*/false);
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(index_put_with_sort_stub, &rvk::put_with_sort)
} // namespace at::native
