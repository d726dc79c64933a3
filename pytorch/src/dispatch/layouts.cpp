/// Sparse, nested and quantized tensors. The first two keep their component tensors on the device;
/// computations with them run on the CPU unless PyTorch composes them from operators of dense tensors or
/// operators/product/sparse_product.cpp computes them. Quantized tensors are not supported.

#include "fallback.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_nested_view_from_buffer_native.h>
#include <c10/util/Exception.h>
#include <sstream>
#include <string>
#include <string_view>
#include <torch/library.h>

namespace rvk {

namespace {

using c10::DispatchKey;

// PyTorch's CPU kernels for these operators access elements only through the dispatcher, so they work with
// tensors of any device (native_functions.yaml names the same functions for CUDA).
constexpr std::string_view of_coo =
    "_sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors sparse_resize_ "
    "sparse_resize_and_clear_ sparse_dim _dimI dense_dim _dimV _nnz is_coalesced _coalesced_ _indices "
    "_values indices values copy_sparse_to_sparse_ copy_ empty.memory_format empty_like clone "
    "resize_as_sparse_ zero_ sum sum.dim_IntList permute unsqueeze cat _sparse_broadcast_to";
constexpr std::string_view of_compressed =
    "copy_ empty.memory_format empty_like clone resize_ resize_as_sparse_ zero_ sparse_dim dense_dim "
    "_nnz values crow_indices col_indices ccol_indices row_indices select.int sum sum.dim_IntList";
constexpr std::string_view of_nested =
    "native_dropout native_dropout_backward abs abs_ sgn sgn_ add.Tensor add_.Tensor all.dim "
    "logical_not logical_not_ cat chunk copy_ cos div.Tensor div.Scalar embedding empty_like "
    "fill_.Scalar fill_.Tensor isnan is_same_size linear "
    "linear_backward matmul matmul_backward matmul.out value_selecting_reduction_backward mul.Tensor "
    "mul_.Tensor mul.Scalar mul_.Scalar narrow ones_like neg neg_ relu relu_ gelu_ gelu gelu_backward "
    "select.int _nested_select_backward silu silu_ silu_backward sin detach _softmax "
    "_softmax_backward_data split_with_sizes squeeze squeeze.dim squeeze.dims sqrt tanh tanh_ "
    "threshold_backward transpose.int _nested_tensor_size _nested_tensor_strides "
    "_nested_tensor_storage_offsets _nested_from_padded_and_nested_example unsqueeze where.self "
    "where.self_out clone zero_ sub.Tensor values unbind.int _to_copy masked_fill.Scalar view "
    "eq.Scalar eq.Tensor ge.Scalar gt.Scalar normal_ alias isinf isposinf isneginf _safe_softmax";

template <DispatchKey cpu_key>
void as_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    op.callBoxedForDispatchKey(cpu_key, *stack);
}

template <DispatchKey cpu_key>
void compute_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    TORCH_CHECK_NOT_IMPLEMENTED(op.hasComputedKernelForDispatchKey(cpu_key), "PyTorch has no kernel for ",
                                op.operator_name(), " with tensors of the kind ", cpu_key,
                                ": use dense tensors (to_dense(), nested: to_padded_tensor()).");
    run_on_cpu(op, stack, cpu_key);
}

void refuse_quantized(const c10::OperatorHandle& op, torch::jit::Stack*) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "rvk has no quantized tensors (", op.operator_name(),
                                "): quantize on the CPU, tensor.cpu(), or use float16 or bfloat16.");
}

/// _sparse_mm_reduce_impl(sparse, dense, reduce): the kernel saves what the backward pass needs only if its
/// arguments require a gradient, so the CPU copies must require one too.
void reduce_products(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::size_t sparse = stack->size() - 3, dense = stack->size() - 2;
    const c10::Device device = (*stack)[sparse].toTensor().device();
    for (const std::size_t place : {sparse, dense}) {
        const at::Tensor here = (*stack)[place].toTensor();
        (*stack)[place] = here.cpu().set_requires_grad(here.requires_grad());
    }
    run_on_cpu(op, stack, DispatchKey::SparseCsrCPU);
    for (const std::size_t place : {sparse, dense})
        (*stack)[place] = (*stack)[place].toTensor().detach().to(device);
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
    to.resize_as_sparse_(from);
    return to.copy_(from);
}

/// Makes the operators in `names` use PyTorch's CPU kernels directly on tensors of this kind; all others fall
/// back to the CPU.
template <DispatchKey cpu_key>
void register_kind(torch::Library& m, std::string_view names) {
    std::istringstream stream{std::string(names)};
    for (std::string name; stream >> name;)
        m.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&as_on_cpu<cpu_key>>());
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) {
    register_kind<DispatchKey::SparseCPU>(m, of_coo);
    m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
}
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m) {
    register_kind<DispatchKey::SparseCsrCPU>(m, of_compressed);
    m.impl("_sparse_mm_reduce_impl", torch::CppFunction::makeFromBoxedFunction<&reduce_products>());
    m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
}
TORCH_LIBRARY_IMPL(aten, NestedTensorPrivateUse1, m) {
    register_kind<DispatchKey::NestedTensorCPU>(m, of_nested);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("_nested_view_from_buffer", TORCH_FN(at::native::_nested_view_from_buffer));
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu<DispatchKey::SparseCPU>>());
}
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu<DispatchKey::SparseCsrCPU>>());
}
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu<DispatchKey::NestedTensorCPU>>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_quantized>());
}

} // namespace

int register_layout_fallbacks() {
    int registered = 0;
    registered += register_directly(
        DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU,
        &torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu<DispatchKey::SparseCPU>>);
    registered += register_directly(
        DispatchKey::SparseCsrPrivateUse1, DispatchKey::SparseCsrCPU,
        &torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu<DispatchKey::SparseCsrCPU>>);
    registered += register_directly(
        DispatchKey::NestedTensorPrivateUse1, DispatchKey::NestedTensorCPU,
        &torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu<DispatchKey::NestedTensorCPU>>);
    return registered;
}

} // namespace rvk
