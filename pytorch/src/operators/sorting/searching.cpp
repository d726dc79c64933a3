/// searchsorted and bucketize: kernels/sorting/sorting.slang.

#include "../../dispatch/launch.h"
#include "../../dispatch/structured.h"

#include <rekindle/kernels/families/sorting.h>

#include <ATen/native/BucketizationUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>

namespace rvk {

namespace {

using Side = std::optional<c10::string_view>;
using Sorter = std::optional<at::Tensor>;

/// result: contiguous, int32 or int64, with the values' shape.
void search(const at::Tensor& boundaries, const at::Tensor& values, const at::Tensor& sorter, bool right,
            const at::Tensor& result) {
    if (values.numel() == 0)
        return;
    const bool shared = boundaries.dim() == 1;
    kernels::SortingParameters p{};
    p.input = address(boundaries);
    p.values = address(values);
    p.indices = address(result);
    p.sorter = sorter.defined() ? address(sorter) : 0;
    p.size = static_cast<std::uint32_t>(boundaries.size(-1));
    p.queries = static_cast<std::uint32_t>(shared ? values.numel() : values.size(-1));
    p.lines = static_cast<std::uint32_t>(values.numel() / p.queries);
    p.inner = shared ? 0 : 1;
    c10::SmallVector<Access, 4> accesses{reads(boundaries), reads(values), writes(result)};
    if (sorter.defined())
        accesses.push_back(reads(sorter));
    launch(values.device(), kernels::search_sorted, linear_groups(values.numel(), 256), p, accesses,
           {.input_type = dtype_code(values.scalar_type()),
            .right = right ? 1u : 0u,
            .index_type = dtype_code(result.scalar_type())});
}

at::Tensor& search_out(const at::Tensor& boundaries, const at::Tensor& self, bool out_int32, bool right,
                       Side side, const Sorter& sorter, at::Tensor& out) {
    const at::Tensor order = sorter && sorter->defined() ? *sorter : at::Tensor();
    at::native::searchsorted_pre_check(boundaries, self, out, out_int32, right, side, order);
    at::native::resize_output(out, self.sizes());
    const auto type = at::result_type(boundaries, self);
    TORCH_CHECK_NOT_IMPLEMENTED(!c10::isComplexType(type) && type != at::kBool, // as on the CPU
                                "searching ", type);
    // Warns about copies, as the CPU and CUDA do. For operands that need no copy, the new tensors stay
    // undefined.
    at::Tensor values, edges, places;
    at::native::searchsorted_maybe_trim_input_tensors(values, edges, places, self, boundaries, order);
    const auto either = [](const at::Tensor& copy, const at::Tensor& given) {
        return copy.defined() ? copy : given;
    };
    const at::Tensor result = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
    search(either(edges, boundaries), either(values, self), either(places, order),
           right || (side && *side == "right"), result);
    if (!result.is_same(out))
        out.copy_(result);
    return out;
}

at::Tensor search_sorted(const at::Tensor& boundaries, const at::Tensor& self, bool out_int32, bool right,
                         Side side, const Sorter& sorter) {
    at::Tensor out = at::empty({0}, boundaries.options().dtype(out_int32 ? at::kInt : at::kLong));
    return search_out(boundaries, self, out_int32, right, side, sorter, out);
}

at::Tensor number(const at::Scalar& value, const at::Tensor& like) {
    const at::Tensor tensor = at::empty({}, like.options());
    tensor.fill_(value);
    return tensor;
}

at::Tensor search_number(const at::Tensor& boundaries, const at::Scalar& self, bool out_int32, bool right,
                         Side side, const Sorter& sorter) {
    return search_sorted(boundaries, number(self, boundaries), out_int32, right, side, sorter);
}

at::Tensor bucketize(const at::Tensor& self, const at::Tensor& boundaries, bool out_int32, bool right) {
    TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
                boundaries.dim(), ")");
    return search_sorted(boundaries, self, out_int32, right, {}, {});
}
at::Tensor& bucketize_out(const at::Tensor& self, const at::Tensor& boundaries, bool out_int32, bool right,
                          at::Tensor& out) {
    TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
                boundaries.dim(), ")");
    return search_out(boundaries, self, out_int32, right, {}, {}, out);
}
at::Tensor bucketize_number(const at::Scalar& self, const at::Tensor& boundaries, bool out_int32,
                            bool right) {
    return rvk::bucketize(number(self, boundaries), boundaries, out_int32, right);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "searchsorted.Tensor", &search_sorted);
    register_operator(m, "searchsorted.Tensor_out", &search_out);
    register_operator(m, "searchsorted.Scalar", &search_number);
    register_operator(m, "bucketize.Tensor", &bucketize);
    register_operator(m, "bucketize.Tensor_out", &bucketize_out);
    register_operator(m, "bucketize.Scalar", &bucketize_number);
}

} // namespace
} // namespace rvk
