#pragma once
/// Copies between tensors of one device.

#include <ATen/core/Tensor.h>

namespace rvk {

/// Copies element by element, with any strides, and converts the dtype. `from` has the shape of `to`; both
/// are on one device, and neither is a conjugate or negative view. Asynchronous on the current stream. Dtypes
/// without a kernel are converted on the host, which strict mode rejects.
void copy_on_device(const at::Tensor& to, const at::Tensor& from);

} // namespace rvk
