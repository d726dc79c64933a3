/// _foreach_norm, which torch.nn.utils.clip_grad_norm_ calls. Two launches compute the norms of up to 2,730
/// tensors if fit_one_launch accepts the list and the order is 1, 2 or infinity. Otherwise, PyTorch's own
/// loop queues a reduction for each tensor.

#include "../../dispatch/structured.h"
#include "../lib/tensor_list.h"

#include <rekindle/kernels/families/norm_list.h>

#include <ATen/ops/_foreach_norm_native.h>
#include <ATen/ops/empty.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <torch/library.h>
#include <vector>

namespace rvk {

namespace {

using at::TensorList;
using Tensors = std::vector<at::Tensor>;

/// Returns the value of the kernels' constant `order`, or nothing if the kernels cannot compute the norm.
std::optional<std::uint32_t> order_of(const at::Scalar& order) {
    if (order.isComplex())
        return std::nullopt;
    const double value = order.toDouble();
    if (value == 1 || value == 2)
        return static_cast<std::uint32_t>(value);
    return std::isinf(value) && value > 0 ? std::optional(0u) : std::nullopt;
}

bool fit(TensorList tensors, std::optional<at::ScalarType> dtype) {
    return fit_one_launch({tensors}) &&
           dtype.value_or(tensors[0].scalar_type()) == tensors[0].scalar_type() &&
           std::ranges::none_of(tensors, [](const at::Tensor& tensor) { return tensor.numel() == 0; });
}

/// Queues two launches that write the tensors' norms to `norms`. Accepts at most
/// TensorTable<3>::most_tensors tensors.
void queue_norms(TensorList tensors, std::uint32_t order, const at::Tensor& norms) {
    const c10::Device device = norms.device();
    TensorTable<3> table;
    std::vector<Access> reading;
    reading.reserve(tensors.size() + 1);
    const std::uint64_t quad_bytes = 4 * norms.element_size();
    bool quads = true;
    for (const at::Tensor& tensor : tensors) {
        const Access& access = reading.emplace_back(reads(tensor));
        const auto entry = table.add(static_cast<std::uint64_t>(tensor.numel()));
        entry[2] = runtime::raw_address(access.begin);
        quads = quads && entry[2] % quad_bytes == 0;
    }
    const std::int64_t count = table.number_groups();
    const at::Tensor shares = at::empty({count}, norms.options().dtype(at::kFloat));
    reading.push_back(writes(shares));
    Groups groups;
    const UploadedBlock words = table.upload(device.index(), groups);
    kernels::NormListParameters parameters{.table = words.address(),
                                           .shares = address(shares),
                                           .norms = address(norms),
                                           .tensors = table.tensors(),
                                           .elements = table.elements_per_group(),
                                           .groups = static_cast<std::uint32_t>(count)};
    const kernels::NormListConstants constants{
        .order = order, .common_dtype = dtype_code(norms.scalar_type()), .quads = quads ? 1u : 0u};
    launch(device, kernels::norm_list_shares, groups, parameters, reading, constants);
    // The second launch needs its own copy of the table: the stream may reuse a block once the launch that
    // follows the upload has run.
    const UploadedBlock again = table.upload(device.index(), groups);
    parameters.table = again.address();
    launch(device, kernels::norm_list, linear_groups(table.tensors(), 1), parameters,
           std::array{reads(shares), writes(norms)}, constants);
}

Tensors norms_of(TensorList tensors, const at::Scalar& order, std::optional<at::ScalarType> dtype) {
    const std::optional<std::uint32_t> known = order_of(order);
    if (!known || !fit(tensors, dtype))
        return at::native::foreach_tensor_norm_slow(tensors, order, dtype);
    const at::Tensor norms = at::empty({static_cast<std::int64_t>(tensors.size())}, tensors[0].options());
    constexpr std::size_t most = TensorTable<3>::most_tensors;
    for (std::size_t first = 0; first < tensors.size(); first += most) {
        const std::size_t count = std::min(most, tensors.size() - first);
        queue_norms(tensors.slice(first, count), *known,
                    norms.narrow(0, static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)));
    }
    return norms.unbind();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_foreach_norm.Scalar", &norms_of);
}

} // namespace

} // namespace rvk
