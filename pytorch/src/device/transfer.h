#pragma once
/// Copies between tensors of two devices (transfer.cpp). An operator registers the copy within one device
/// here, so that this folder depends on no operator.

#include <ATen/core/Tensor.h>

namespace rvk {

/// Copies elements with any strides, and converts the dtype. Both tensors are on one device and have the same
/// shape (`from` is already expanded); neither is a conjugate or negative view. Asynchronous on the current
/// stream.
using CopyOnDevice = void (*)(const at::Tensor& to, const at::Tensor& from);

/// Registers the copy that all transfers use. Called once, while static objects are created; transfers before
/// that throw c10::Error.
void register_copy_on_device(CopyOnDevice copy) noexcept;

/// Whether the elements fill one contiguous range of memory, in the same order, in both tensors.
bool same_dense_layout(const at::Tensor& a, const at::Tensor& b);

} // namespace rvk
