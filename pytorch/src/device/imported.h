#pragma once
/// Host memory that a device accesses directly.

#include "devices.h"

#include <ATen/core/Tensor.h>

namespace rvk {

/// Returns the bytes of a contiguous CPU tensor as a tensor of bytes on the device. Both share the memory,
/// which must begin and end at a page boundary; the result keeps the CPU tensor alive. Throws
/// runtime::Unsupported if the driver cannot import this memory.
at::Tensor import_host_memory(const at::Tensor& host, DeviceIndex index);

} // namespace rvk
