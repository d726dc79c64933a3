#include "convolution_pointwise.h"

#include "matrices.h"

#include <algorithm>

namespace rvk {

void multiply_pixels(const Geometry& g, ConvolutionOperation operation, const ConvolutionOperands& operands) {
    const at::Tensor weight = operands.other.flatten(1);
    const bool forward = operation == ConvolutionOperation::forward, has_bias = operands.bias.defined();
    const Matrices by_result = forward ? Matrices::of(weight) : Matrices::of(weight).transposed();
    const auto multiply = [&](std::int64_t batch, const Matrices& a, const Matrices& b,
                              const at::Tensor& result, const at::Tensor& bias) {
        const Matrices c = Matrices::of(result);
        std::optional<Matrices> added;
        if (has_bias)
            added = Matrices::broadcast_of(bias, c.rows, c.columns);
        multiply_matrices({result.device(), result.scalar_type(), batch}, a, b, c, 1, added,
                          has_bias ? 1 : 0);
    };
    if (is_by_pixels(operands.image) && is_by_pixels(operands.result)) {
        const at::Tensor image = by_pixels(operands.image).flatten(0, 1);
        multiply(1, Matrices::of(image), by_result.transposed(), by_pixels(operands.result).flatten(0, 1),
                 operands.bias);
    } else {
        const at::Tensor image = operands.image.flatten(2);
        multiply(g.batch, by_result, Matrices::of(image), operands.result.flatten(2),
                 has_bias ? operands.bias.unsqueeze(1) : operands.bias);
    }
}

bool suits_products_of_images(const Geometry& g, const at::Tensor& image, const at::Tensor& gradient) {
    const std::int64_t in = g.in_channels, out = g.out_channels, pixels = volume(g.output);
    // Copying the images to channels_last reads and writes 2 bytes per number. Instead, the sums of each
    // image are written and read in float32, 4 bytes per number.
    return g.per_pixel() && g.groups == 1 && image.is_contiguous() && gradient.is_contiguous() &&
           std::min(in, out) >= 16 && pixels % 8 == 0 && 2 * in * out <= (in + out) * pixels;
}

bool sum_products_of_images(const Geometry& g, const ConvolutionOperands& operands) {
    const auto& [image, gradient, result, bias] = operands;
    if (!suits_products_of_images(g, image, gradient) || !result.is_contiguous())
        return false;
    return sum_products({result.device(), result.scalar_type(), g.batch}, Matrices::of(gradient.flatten(2)),
                        Matrices::of(image.flatten(2)).transposed(), Matrices::of(result.flatten(1)));
}

} // namespace rvk
