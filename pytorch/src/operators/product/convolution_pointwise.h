#pragma once
/// Pointwise convolutions (Geometry::per_pixel) as matrix products.

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// Queues `forward` or `input_gradient` of a convolution of one group with Geometry::per_pixel: one product
/// if image and result are in channels_last, otherwise one product per image.
void multiply_pixels(const Geometry& g, ConvolutionOperation operation, const ConvolutionOperands& operands);

} // namespace rvk
