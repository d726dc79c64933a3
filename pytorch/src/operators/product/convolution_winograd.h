#pragma once
/// Convolutions of float32 with 3 x 3 taps by Winograd's algorithm F(4 x 4, 3 x 3): each tile of 4 x 4 pixels
/// and each kernel is transformed to 36 numbers (kernels/product/winograd.slang), which 36 matrix products
/// multiply. This takes a quarter of the multiplications of a direct convolution.
///
/// It is less accurate than a direct convolution: for normally distributed numbers (128 and 256 channels, 32
/// x 32 pixels), the largest error was 0.7e-5 to 1.4e-5 of the largest result, compared with 0.03e-5 to
/// 0.25e-5 on the CPU. An infinity or NaN turns all pixels of the tiles whose windows contain it into NaN; in
/// the weight gradient, it turns all kernels of its channel into NaN.

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// Whether the algorithm applies and is faster. It needs float32, two dimensions, no strides, dilation or
/// groups, and at least 64 channels on both sides and 64 tiles. The estimate counts the multiplications,
/// including those for pixels beyond the result's edge, and the memory traffic of the transformed numbers.
/// Depends only on the dtype, the sizes and the device.
bool winograd_suits(const Geometry& g, ConvolutionOperation operation, at::ScalarType dtype,
                    c10::Device device);

/// Queues an operation for which winograd_suits is true. Operands can have any strides, and their pixels can
/// be flattened into one dimension. Tiles are processed in chunks whose transformed numbers take up to about
/// 128 MiB; those of the weight take at most 256 MiB. The result is reproducible.
void convolve_with_winograd(const Geometry& g, ConvolutionOperation operation,
                            const ConvolutionOperands& operands);

} // namespace rvk
