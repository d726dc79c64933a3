#pragma once
/// Pointwise convolutions (Geometry::per_pixel) as matrix products.

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// Queues `forward` or `input_gradient` of a convolution of one group with Geometry::per_pixel: one product
/// if image and result are in channels_last, otherwise one product per image.
void multiply_pixels(const Geometry& g, ConvolutionOperation operation, const ConvolutionOperands& operands);

/// Whether the weight's gradient is best computed as the sum of one product per image, on matrix units:
/// Geometry::per_pixel, contiguous images whose rows are aligned, and products that take less memory than
/// copies of the images in channels_last. image: the input; gradient: that of the output.
bool suits_products_of_images(const Geometry& g, const at::Tensor& image, const at::Tensor& gradient);
/// Queues this sum. Returns false without queuing anything if it does not suit, or if the products would not
/// use matrix units.
bool sum_products_of_images(const Geometry& g, const ConvolutionOperands& operands);

} // namespace rvk
