#pragma once
/// The operations of a convolution, and their operands.

#include <rekindle/products/plan.h>

#include <ATen/core/Tensor.h>

namespace rvk {

using ConvolutionOperation = rekindle::products::ConvolutionPass;

/// The tensors of one operation; `bias` may be undefined.
///
/// operation          image                     other                     result
/// forward            input                     weight                    output
/// input_gradient     gradient of the output    weight                    gradient of the input
/// weight_gradient    input                     gradient of the output    gradient of the weight
///
/// The result is contiguous or in channels_last; the other tensors can have any strides.
struct ConvolutionOperands {
    at::Tensor image, other, result, bias;
};

/// The tensor as contiguous [batch, pixels, channels]: a view if it is in channels_last already, otherwise a
/// copy.
inline at::Tensor by_pixels(const at::Tensor& tensor) {
    return tensor.flatten(2).transpose(1, 2).contiguous();
}
/// Whether a dense tensor is in channels_last. (With a single channel or pixel, it is contiguous as well.)
inline bool is_by_pixels(const at::Tensor& tensor) {
    return tensor.flatten(2).transpose(1, 2).is_contiguous();
}
/// The tensor in channels_last: itself, or a copy.
inline at::Tensor in_channels_last(const at::Tensor& tensor) {
    return by_pixels(tensor).transpose(1, 2).view(tensor.sizes());
}

} // namespace rvk
