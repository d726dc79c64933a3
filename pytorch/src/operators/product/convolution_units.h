#pragma once
/// Convolutions of float16 and bfloat16 on matrix units (kernels/product/convolution_units.slang).

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// Whether the device has matrix units that can compute this operation, and that are faster than the other
/// kernels even if images must first be copied to channels_last. Depends only on the sizes and the device.
bool units_suit(const Geometry& g, ConvolutionOperation operation, at::ScalarType dtype, c10::Device device);

/// Queues an operation for which units_suit is true. The result is reproducible on the same device.
void convolve_on_units(const Geometry& g, ConvolutionOperation operation,
                       const ConvolutionOperands& operands);

} // namespace rvk
