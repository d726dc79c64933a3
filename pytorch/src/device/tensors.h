#pragma once
/// New tensors of this device.

#include <ATen/core/Tensor.h>

namespace rvk {

/// A new tensor on this device with these strides (empty: those of the options' memory format).
at::Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options);

} // namespace rvk
