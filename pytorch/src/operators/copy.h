#pragma once
/// Copies between tensors of one device.

#include <ATen/core/Tensor.h>

namespace rvk {

/// Copies element by element with conversion, any strides, `from` expanded to the shape of `to` already; both
/// are on one device, and neither is a conjugate or negative view. Asynchronous on the current stream. Throws
/// c10::NotImplementedError for a pair of dtypes without a kernel.
void copy_on_device(const at::Tensor& to, const at::Tensor& from);

} // namespace rvk
