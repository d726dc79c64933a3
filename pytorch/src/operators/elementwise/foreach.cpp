/// The _foreach operators that optimizers use. If fit_one_launch accepts the lists, one launch processes up
/// to 910 tensors; otherwise PyTorch's loop queues one launch per tensor.

#include "../../dispatch/structured.h"
#include "../lib/tensor_list.h"
#include "elementwise.h"

#include <rekindle/kernels/families/elementwise_list.h>

#include <ATen/ops/_foreach_add_native.h>
#include <ATen/ops/_foreach_addcdiv_native.h>
#include <ATen/ops/_foreach_addcmul_native.h>
#include <ATen/ops/_foreach_div_native.h>
#include <ATen/ops/_foreach_lerp_native.h>
#include <ATen/ops/_foreach_mul_native.h>
#include <ATen/ops/_foreach_neg_native.h>
#include <ATen/ops/_foreach_sqrt_native.h>
#include <ATen/ops/_foreach_sub_native.h>
#include <ATen/ops/empty_like.h>
#include <algorithm>
#include <bit>
#include <torch/library.h>

namespace rvk {

namespace {

using at::Scalar;
using at::TensorList;
using Scalars = at::ArrayRef<Scalar>;
using Tensors = std::vector<at::Tensor>;

/// One call: an operation on lists of tensors, with no scalar, one scalar for all tensors, or one per tensor.
/// The scalar is in slot `slot`; if it takes the place of an input tensor, `scalar_inputs` has bit `slot`
/// set.
struct ListCall {
    Operation operation;
    std::vector<TensorList> inputs;
    Scalars scalars = {};
    std::size_t slot = 0;
    std::uint32_t scalar_inputs = 0;
    /// If defined, replaces `scalars`: a 0-dimensional tensor on the tensors' device and with their dtype,
    /// which the kernel reads.
    at::Tensor scalar_in_memory = {};
};

void launch_table(TensorTable<9>& table, const ListCall& call, const at::Tensor& like,
                  std::span<const Access> accesses, bool quads) {
    kernels::ElementwiseListParameters p;
    Groups groups;
    const UploadedBlock words = table.upload(like.device().index(), groups);
    p.table = words.address();
    p.tensors = table.tensors();
    p.elements = table.elements_per_group();
    const auto inputs = call.inputs.size() + (call.scalar_inputs != 0 ? 1 : 0);
    launch(like.device(), kernels::elementwise_list, groups, p, accesses,
           {.operation = static_cast<std::uint32_t>(call.operation),
            .inputs = static_cast<std::uint32_t>(inputs),
            .common_dtype = dtype_code(like.scalar_type()),
            .scalar_inputs = call.scalar_inputs,
            .scalars_in_memory = call.scalar_in_memory.defined() ? 1u << call.slot : 0u,
            .quads = quads});
}

void run(TensorList outputs, const ListCall& call) {
    TensorTable<9> table;
    std::vector<Access> accesses;
    accesses.reserve(std::min(outputs.size(), table.most_tensors) * (call.inputs.size() + 1) + 1);
    const std::uint64_t scalar_at = call.scalar_in_memory.defined() ? raw_address(call.scalar_in_memory) : 0;
    bool quads = true;
    const auto flush = [&] {
        if (scalar_at != 0)
            accesses.push_back(reads(call.scalar_in_memory));
        if (table.tensors() != 0)
            launch_table(table, call, outputs[0], accesses, quads);
        table.clear();
        accesses.clear();
        quads = true;
    };
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].numel() == 0)
            continue;
        const auto entry = table.add(static_cast<std::uint64_t>(outputs[i].numel()));
        const std::uint64_t quad_bytes = 4 * outputs[i].element_size();
        const auto use = [&](std::size_t word, const Access& access) {
            entry[word] = runtime::raw_address(access.begin);
            quads = quads && entry[word] % quad_bytes == 0;
            accesses.push_back(access);
        };
        use(2, writes(outputs[i]));
        for (std::size_t k = 0; k < call.inputs.size(); ++k) {
            if (call.inputs[k].data() == outputs.data()) // in place
                entry[3 + k] = entry[2];
            else
                use(3 + k, reads(call.inputs[k][i]));
        }
        if (!call.scalars.empty()) {
            const Scalar& scalar = call.scalars[call.scalars.size() == 1 ? 0 : i];
            entry[6 + call.slot] = std::bit_cast<std::uint32_t>(static_cast<float>(scalar.toDouble()));
        }
        if (scalar_at != 0)
            entry[6 + call.slot] = scalar_at;
        if (table.full())
            flush();
    }
    flush();
}

bool real_scalars(Scalars scalars) {
    return std::ranges::none_of(scalars, [](const Scalar& s) { return s.isComplex(); });
}

/// Computes in place in the first list. Returns false, without computing, if fit_one_launch rejects the
/// lists.
bool in_place(const ListCall& call, std::initializer_list<TensorList> lists) {
    if (!fit_one_launch(lists) || !real_scalars(call.scalars))
        return false;
    run(call.inputs[0], call);
    return true;
}
std::optional<Tensors> functional(const ListCall& call, std::initializer_list<TensorList> lists) {
    if (!fit_one_launch(lists) || !real_scalars(call.scalars))
        return std::nullopt;
    Tensors outputs;
    outputs.reserve(call.inputs[0].size());
    for (const at::Tensor& tensor : call.inputs[0])
        outputs.push_back(at::empty_like(tensor));
    run(outputs, call);
    return outputs;
}

/// Operators on a list and a scalar, a list and scalars, two lists …; `slow` is PyTorch's own loop.
template <Operation operation, std::size_t slot, std::uint32_t scalar_inputs, auto slow>
void scalar_(TensorList self, const Scalar& scalar) {
    if (!in_place({operation, {self}, scalar, slot, scalar_inputs}, {self}))
        slow(self, scalar);
}
template <Operation operation, std::size_t slot, std::uint32_t scalar_inputs, auto slow>
Tensors scalar(TensorList self, const Scalar& scalar) {
    auto result = functional({operation, {self}, scalar, slot, scalar_inputs}, {self});
    return result ? *std::move(result) : slow(self, scalar);
}
template <Operation operation, std::size_t slot, std::uint32_t scalar_inputs, auto slow>
void scalars_(TensorList self, Scalars scalars) {
    if (scalars.size() != self.size() || !in_place({operation, {self}, scalars, slot, scalar_inputs}, {self}))
        slow(self, scalars);
}
/// Returns whether the kernel can read the scalar itself. It cannot if the launch also writes the scalar,
/// because its threads would then read the old value or the new one.
bool stays_in_memory(const at::Tensor& scalar, TensorList changed) {
    return scalar.dim() == 0 && !changed.empty() && scalar.device() == changed[0].device() &&
           scalar.scalar_type() == changed[0].scalar_type() &&
           std::ranges::none_of(changed,
                                [&](const at::Tensor& tensor) { return tensor.is_alias_of(scalar); });
}
template <Operation operation, auto slow>
void tensor_(TensorList self, const at::Tensor& scalar) {
    if (!stays_in_memory(scalar, self) || !in_place({operation, {self}, {}, 1, 2, scalar}, {self}))
        slow(self, scalar);
}
template <Operation operation, auto slow>
Tensors tensor(TensorList self, const at::Tensor& scalar) {
    auto result = stays_in_memory(scalar, self) ? functional({operation, {self}, {}, 1, 2, scalar}, {self})
                                                : std::nullopt;
    return result ? *std::move(result) : slow(self, scalar);
}
template <Operation operation, auto slow>
void list_(TensorList self, TensorList other) {
    if (!in_place({operation, {self, other}}, {self, other}))
        slow(self, other);
}
template <Operation operation, auto slow>
Tensors list(TensorList self, TensorList other) {
    auto result = functional({operation, {self, other}}, {self, other});
    return result ? *std::move(result) : slow(self, other);
}
template <Operation operation, std::size_t slot, auto slow>
void list_with_scalar_(TensorList self, TensorList other, const Scalar& scalar) {
    if (!in_place({operation, {self, other}, scalar, slot}, {self, other}))
        slow(self, other, scalar);
}
template <Operation operation, std::size_t slot, auto slow>
Tensors list_with_scalar(TensorList self, TensorList other, const Scalar& scalar) {
    auto result = functional({operation, {self, other}, scalar, slot}, {self, other});
    return result ? *std::move(result) : slow(self, other, scalar);
}
template <Operation operation, auto slow>
void lists_(TensorList self, TensorList first, TensorList second, const Scalar& scalar) {
    if (!in_place({operation, {self, first, second}, scalar, 0}, {self, first, second}))
        slow(self, first, second, scalar);
}
template <Operation operation, auto slow>
void lists_with_scalars_(TensorList self, TensorList first, TensorList second, Scalars scalars) {
    if (scalars.size() != self.size() ||
        !in_place({operation, {self, first, second}, scalars, 0}, {self, first, second}))
        slow(self, first, second, scalars);
}
template <Operation operation, auto slow>
void unary_(TensorList self) {
    if (!in_place({operation, {self}}, {self}))
        slow(self);
}
template <Operation operation, auto slow>
Tensors unary(TensorList self) {
    auto result = functional({operation, {self}}, {self});
    return result ? *std::move(result) : slow(self);
}

void subtract_(TensorList self, TensorList other, const Scalar& alpha) {
    const Scalar negated = -alpha;
    if (!in_place({Operation::add, {self, other}, negated, 2}, {self, other}))
        at::native::foreach_tensor_sub_list_kernel_slow_(self, other, alpha);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    using namespace at::native;
    using enum Operation;
    register_operator(m, "_foreach_mul_.Scalar",
                      &scalar_<multiply, 1, 2, &foreach_tensor_mul_scalar_kernel_slow_>);
    register_operator(m, "_foreach_mul.Scalar",
                      &scalar<multiply, 1, 2, &foreach_tensor_mul_scalar_kernel_slow>);
    register_operator(m, "_foreach_mul_.ScalarList",
                      &scalars_<multiply, 1, 2, &foreach_tensor_mul_scalarlist_kernel_slow_>);
    register_operator(m, "_foreach_mul_.Tensor", &tensor_<multiply, &foreach_tensor_mul_tensor_kernel_slow_>);
    register_operator(m, "_foreach_mul.Tensor", &tensor<multiply, &foreach_tensor_mul_tensor_kernel_slow>);
    register_operator(m, "_foreach_mul_.List", &list_<multiply, &foreach_tensor_mul_list_kernel_slow_>);
    register_operator(m, "_foreach_mul.List", &list<multiply, &foreach_tensor_mul_list_kernel_slow>);
    register_operator(m, "_foreach_div_.Scalar",
                      &scalar_<divide, 1, 2, &foreach_tensor_div_scalar_kernel_slow_>);
    register_operator(m, "_foreach_div.Scalar",
                      &scalar<divide, 1, 2, &foreach_tensor_div_scalar_kernel_slow>);
    register_operator(m, "_foreach_div_.ScalarList",
                      &scalars_<divide, 1, 2, &foreach_tensor_div_scalarlist_kernel_slow_>);
    register_operator(m, "_foreach_div_.Tensor", &tensor_<divide, &foreach_tensor_div_tensor_kernel_slow_>);
    register_operator(m, "_foreach_div.Tensor", &tensor<divide, &foreach_tensor_div_tensor_kernel_slow>);
    register_operator(m, "_foreach_div_.List", &list_<divide, &foreach_tensor_div_list_kernel_slow_>);
    register_operator(m, "_foreach_div.List", &list<divide, &foreach_tensor_div_list_kernel_slow>);
    register_operator(m, "_foreach_add_.Scalar",
                      &scalar_<add_scalar, 0, 0, &foreach_tensor_add_scalar_kernel_slow_>);
    register_operator(m, "_foreach_add.Scalar",
                      &scalar<add_scalar, 0, 0, &foreach_tensor_add_scalar_kernel_slow>);
    register_operator(m, "_foreach_add_.ScalarList",
                      &scalars_<add_scalar, 0, 0, &foreach_tensor_add_scalarlist_kernel_slow_>);
    register_operator(m, "_foreach_add_.List",
                      &list_with_scalar_<add, 2, &foreach_tensor_add_list_kernel_slow_>);
    register_operator(m, "_foreach_add.List",
                      &list_with_scalar<add, 2, &foreach_tensor_add_list_kernel_slow>);
    register_operator(m, "_foreach_sub_.List", &subtract_);
    register_operator(m, "_foreach_lerp_.Scalar",
                      &list_with_scalar_<lerp_scalar, 2, &foreach_tensor_lerp_list_kernel_slow_>);
    register_operator(m, "_foreach_addcmul_.Scalar",
                      &lists_<add_product, &foreach_tensor_addcmul_scalar_slow_>);
    register_operator(m, "_foreach_addcmul_.ScalarList",
                      &lists_with_scalars_<add_product, &foreach_tensor_addcmul_scalarlist_slow_>);
    register_operator(m, "_foreach_addcdiv_.Scalar",
                      &lists_<add_quotient, &foreach_tensor_addcdiv_scalar_slow_>);
    register_operator(m, "_foreach_addcdiv_.ScalarList",
                      &lists_with_scalars_<add_quotient, &foreach_tensor_addcdiv_scalarlist_slow_>);
    register_operator(m, "_foreach_sqrt", &unary<Operation::sqrt, &foreach_tensor_sqrt_slow>);
    register_operator(m, "_foreach_sqrt_", &unary_<Operation::sqrt, &foreach_tensor_sqrt_slow_>);
    register_operator(m, "_foreach_neg", &unary<negate, &foreach_tensor_neg_slow>);
    register_operator(m, "_foreach_neg_", &unary_<negate, &foreach_tensor_neg_slow_>);
}

} // namespace

} // namespace rvk
