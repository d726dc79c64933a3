#include "convolution_padded.h"

#include <rekindle/kernels/ceil_div.h>

#include <ATen/ops/empty.h>
#include <vector>

namespace rvk {

namespace {

using at::Tensor;
using rekindle::kernels::ceil_div;
using Operation = ConvolutionOperation;

std::int64_t multiple_of_eight(std::int64_t channels) {
    return ceil_div<std::int64_t>(channels, 8) * 8;
}

/// Sizes of a padded image or weight.
struct PaddedSizes {
    std::int64_t first;    ///< the number of images, or of a weight's output channels
    std::int64_t width;    ///< in joined pixels
    std::int64_t joined;   ///< original pixels in a joined pixel
    std::int64_t channels; ///< of each original pixel
};

/// Allocates a tensor [first, ..., width, joined, channels], where ... are the dimensions of `original`
/// between its channels and its width.
Tensor empty_padded(const PaddedSizes& sizes, const Tensor& original) {
    std::vector<std::int64_t> all{sizes.first};
    all.insert(all.end(), original.sizes().begin() + 2, original.sizes().end() - 1);
    all.insert(all.end(), {sizes.width, sizes.joined, sizes.channels});
    return at::empty(all, original.options());
}

/// Views the result of empty_padded() as [first, joined * channels, ..., width].
Tensor with_joined_pixels(const Tensor& padded) {
    return padded.flatten(-2).movedim(-1, 1);
}

/// Views the part of the result of empty_padded() where the original tensor goes, with its sizes.
Tensor part_of_original(const Tensor& padded, std::int64_t leading_zeros, const Tensor& original) {
    return padded.narrow(0, 0, original.size(0))
        .flatten(-3, -2)
        .narrow(-2, leading_zeros, original.size(-1))
        .narrow(-1, 0, original.size(1))
        .movedim(-1, 1);
}

/// Returns a padded copy in channels_last, or the tensor itself if it needs no padding.
Tensor padded(const Tensor& tensor, const PaddedSizes& sizes, std::int64_t leading_zeros = 0) {
    if (sizes.joined == 1 && tensor.size(0) == sizes.first && tensor.size(1) == sizes.channels)
        return tensor;
    const Tensor copy = empty_padded(sizes, tensor).zero_();
    part_of_original(copy, leading_zeros, tensor).copy_(tensor);
    return with_joined_pixels(copy);
}

} // namespace

PaddedConvolution::PaddedConvolution(const Geometry& original, Operation operation) : geometry_(original) {
    if (operation != Operation::forward)
        geometry_.out_channels = multiple_of_eight(original.out_channels);
    if (operation != Operation::input_gradient) {
        join_pixels();
        geometry_.in_channels = multiple_of_eight(original.in_channels);
    }
    is_padded_ = joined_ != 1 || geometry_.in_channels != original.in_channels ||
                 geometry_.out_channels != original.out_channels;
}

void PaddedConvolution::join_pixels() {
    Geometry& g = geometry_;
    for (const std::int64_t joined : {8, 4, 2}) {
        const std::int64_t padding = ceil_div(g.padding[2], joined);
        const std::int64_t leading_zeros = padding * joined - g.padding[2];
        const std::int64_t width = ceil_div(leading_zeros + g.kernel[2], joined);
        if (joined * g.in_channels > 8 || g.stride[2] % joined != 0 || g.dilation[2] != 1 ||
            width == g.kernel[2])
            continue;
        joined_ = joined;
        leading_zeros_ = leading_zeros;
        g.input[2] = ceil_div(g.input[2], joined);
        g.kernel[2] = width;
        g.stride[2] /= joined;
        g.padding[2] = padding;
        return;
    }
}

ConvolutionOperands PaddedConvolution::pad(Operation operation, const ConvolutionOperands& original) const {
    const auto& [image, other, result, bias] = original;
    const Geometry& g = geometry_;
    const std::int64_t channels = g.in_channels / joined_;
    if (operation == Operation::input_gradient)
        return {padded(image, {image.size(0), image.size(-1), 1, g.out_channels}),
                padded(other, {g.out_channels, other.size(-1), 1, other.size(1)}), result, bias};
    const Tensor pixels = padded(image, {image.size(0), g.input[2], joined_, channels});
    if (operation == Operation::forward)
        return {pixels, padded(other, {other.size(0), g.kernel[2], joined_, channels}, leading_zeros_),
                result, bias};
    return {pixels, padded(other, {other.size(0), other.size(-1), 1, g.out_channels}),
            with_joined_pixels(empty_padded({g.out_channels, g.kernel[2], joined_, channels}, result)), bias};
}

void PaddedConvolution::copy_weight_gradient(const Tensor& padded, const Tensor& gradient) const {
    const Tensor pixels = padded.movedim(1, -1).unflatten(-1, {joined_, geometry_.in_channels / joined_});
    gradient.copy_(part_of_original(pixels, leading_zeros_, gradient));
}

} // namespace rvk
