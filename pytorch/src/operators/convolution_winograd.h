#pragma once
/// Convolutions of float32 with 3 x 3 taps by Winograd's algorithm F(4 x 4, 3 x 3): tiles of 4 x 4 pixels and
/// kernels are transformed to 36 numbers each (kernels/product/winograd.slang), which a batch of 36 products
/// of matrices multiplies, with a quarter of the multiplications.
///
/// It is less accurate than a sum of products: of normally distributed numbers (128 and 256 channels, 32 x 32
/// pixels), the largest error was 0.7e-5 to 1.4e-5 of the largest result, and 0.03e-5 to 0.25e-5 with sums on
/// the CPU. An infinity or NaN reaches, as NaN, all pixels of the tiles whose windows contain it; in the
/// gradient of the weight, the whole kernel of its channels.

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// Whether the algorithm is faster: float32, two dimensions, no strides, dilation or groups, at least 64
/// channels on both sides and 64 tiles, and an estimate of the time of the products and of reading and
/// writing transformed numbers. Pixels that tiles have beyond the result's edge cost as much as others.
/// Follows from the sizes alone.
bool winograd_suits(const Geometry& g, ConvolutionOperation operation, at::ScalarType dtype);

/// Queues an operation for which winograd_suits, with operands in any order of memory; a flattened one has
/// its pixels in one dimension. Tiles are processed in chunks whose transformed numbers take 128 MiB; those
/// of the weight take at most 256 MiB. The result is reproducible.
void convolve_with_winograd(const Geometry& g, ConvolutionOperation operation,
                            const ConvolutionOperands& operands);

} // namespace rvk
