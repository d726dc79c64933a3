#pragma once
/// Convolutions of float16 on matrix units (kernels/product/convolution_units.slang).

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// Whether the device has matrix units that can compute this operation and are faster than the other kernels,
/// although they read images in the order of channels_last: images in another order are copied. Follows from
/// the sizes and the device alone.
bool units_suit(const Geometry& g, ConvolutionOperation operation, at::ScalarType dtype, c10::Device device);

/// Queues an operation for which units_suit. The result is reproducible on the same device.
void convolve_on_units(const Geometry& g, ConvolutionOperation operation,
                       const ConvolutionOperands& operands);

} // namespace rvk
