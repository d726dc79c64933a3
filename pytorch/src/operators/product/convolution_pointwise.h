#pragma once
/// Pointwise convolutions (Geometry::per_pixel) as matrix products.

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// Queues `forward` or `input_gradient` of a convolution of one group with Geometry::per_pixel: one product
/// if image and result are in channels_last, otherwise one product per image.
void multiply_pixels(const Geometry& g, ConvolutionOperation operation, const ConvolutionOperands& operands);

/// Returns whether the weight gradient should be computed as a sum of matrix products, one for each image,
/// instead of copying the images to channels_last first. This requires a convolution that is
/// Geometry::per_pixel(), contiguous tensors and a multiple of 8 pixels, and it pays off if the products
/// cause less memory traffic than the copies. image: the input; gradient: the gradient of the output.
bool suits_products_of_images(const Geometry& g, const at::Tensor& image, const at::Tensor& gradient);
/// Queues these products and their sum. Returns false, and queues nothing, if suits_products_of_images() is
/// false or if the plan for the products does not use matrix units.
bool sum_products_of_images(const Geometry& g, const ConvolutionOperands& operands);

} // namespace rvk
