#include "convolution_eights.h"

#include <rekindle/kernels/ceil_div.h>

#include <ATen/ops/empty.h>
#include <vector>

namespace rvk {

namespace {

using at::Tensor;
using rekindle::kernels::ceil_div;
using Operation = ConvolutionOperation;

std::int64_t whole_eights(std::int64_t channels) {
    return ceil_div<std::int64_t>(channels, 8) * 8;
}

/// The sizes of an image or a weight whose rows have `width` pixels, each of which joins `joined` pixels.
struct Rows {
    std::int64_t first, width, joined, channels; ///< first: images, or output channels of a weight
};

/// An uninitialized tensor [first, height..., width, joined, channels], with the dimensions of `like` between
/// the channels and the width.
Tensor empty_rows(const Rows& rows, const Tensor& like) {
    std::vector<std::int64_t> sizes{rows.first};
    sizes.insert(sizes.end(), like.sizes().begin() + 2, like.sizes().end() - 1);
    sizes.insert(sizes.end(), {rows.width, rows.joined, rows.channels});
    return at::empty(sizes, like.options());
}

/// [first, channels of a joined pixel, height..., width]
Tensor with_joined_pixels(const Tensor& rows) {
    return rows.flatten(-2).movedim(-1, 1);
}

/// The part of empty_rows() that has the sizes of `like`, from pixel `skipped` of each row on.
Tensor part_of(const Tensor& rows, std::int64_t skipped, const Tensor& like) {
    return rows.narrow(0, 0, like.size(0))
        .flatten(-3, -2)
        .narrow(-2, skipped, like.size(-1))
        .narrow(-1, 0, like.size(1))
        .movedim(-1, 1);
}

/// The tensor, extended with zeros, in channels_last; itself if it has these sizes.
Tensor arranged(const Tensor& tensor, const Rows& rows, std::int64_t skipped) {
    if (rows.joined == 1 && tensor.size(0) == rows.first && tensor.size(1) == rows.channels)
        return tensor;
    const Tensor copy = empty_rows(rows, tensor).zero_();
    part_of(copy, skipped, tensor).copy_(tensor);
    return with_joined_pixels(copy);
}

} // namespace

EightChannels::EightChannels(const Geometry& other, Operation operation) : geometry_(other) {
    if (operation != Operation::forward)
        geometry_.out_channels = whole_eights(other.out_channels);
    if (operation != Operation::input_gradient) {
        join_pixels();
        geometry_.in_channels = whole_eights(other.in_channels);
    }
    differs_ = joined_ != 1 || geometry_.in_channels != other.in_channels ||
               geometry_.out_channels != other.out_channels;
}

void EightChannels::join_pixels() {
    Geometry& g = geometry_;
    for (const std::int64_t joined : {8, 4, 2}) {
        const std::int64_t padding = ceil_div(g.padding[2], joined);
        const std::int64_t skipped = padding * joined - g.padding[2];
        const std::int64_t width = ceil_div(skipped + g.kernel[2], joined);
        if (joined * g.in_channels > 8 || g.stride[2] % joined != 0 || g.dilation[2] != 1 ||
            width == g.kernel[2])
            continue;
        joined_ = joined;
        skipped_ = skipped;
        g.input[2] = ceil_div(g.input[2], joined);
        g.kernel[2] = width;
        g.stride[2] /= joined;
        g.padding[2] = padding;
        return;
    }
}

ConvolutionOperands EightChannels::operands(Operation operation, const ConvolutionOperands& given) const {
    const auto& [image, other, result, bias] = given;
    const Geometry& g = geometry_;
    const std::int64_t channels = g.in_channels / joined_;
    if (operation == Operation::input_gradient)
        return {arranged(image, {image.size(0), image.size(-1), 1, g.out_channels}, 0),
                arranged(other, {g.out_channels, other.size(-1), 1, other.size(1)}, 0), result, bias};
    const Tensor pixels = arranged(image, {image.size(0), g.input[2], joined_, channels}, 0);
    if (operation == Operation::forward)
        return {pixels, arranged(other, {other.size(0), g.kernel[2], joined_, channels}, skipped_), result,
                bias};
    return {pixels, arranged(other, {other.size(0), other.size(-1), 1, g.out_channels}, 0),
            with_joined_pixels(empty_rows({g.out_channels, g.kernel[2], joined_, channels}, result)), bias};
}

void EightChannels::copy_weight(const Tensor& from, const Tensor& to) const {
    const Tensor rows = from.movedim(1, -1).unflatten(-1, {joined_, geometry_.in_channels / joined_});
    to.copy_(part_of(rows, skipped_, to));
}

} // namespace rvk
