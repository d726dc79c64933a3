#pragma once
/// The sizes of a convolution.

#include <rekindle/kernels/ceil_div.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rvk {

using Size3 = std::array<std::int64_t, 3>; // depth, height, width

inline std::int64_t volume(const Size3& size) {
    return size[0] * size[1] * size[2];
}

/// For sizes that have been checked.
inline std::uint32_t narrow(std::int64_t value) {
    return static_cast<std::uint32_t>(value);
}

/// A convolution that is not transposed: input [batch, groups * in_channels, input...], weight [groups *
/// out_channels, in_channels, kernel...], output [batch, groups * out_channels, output...]. Missing
/// dimensions have size 1.
struct Geometry {
    std::int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
    Size3 input{1, 1, 1}, output{1, 1, 1}, kernel{1, 1, 1};
    Size3 stride{1, 1, 1}, dilation{1, 1, 1}, padding{0, 0, 0};

    bool pointwise() const { return volume(kernel) == 1; }
    bool unit_stride() const { return stride == Size3{1, 1, 1}; }
    /// Whether each output pixel depends only on the input pixel at the same position. (The sizes are
    /// compared because a transposed convolution with output_padding has more pixels in `input` than in
    /// `output`.)
    bool per_pixel() const {
        return pointwise() && unit_stride() && padding == Size3{0, 0, 0} && input == output;
    }
    /// Merges the spatial dimensions into one if per_pixel().
    void flatten_pixels() {
        if (per_pixel())
            input = output = {1, 1, volume(input)};
    }
    std::uint32_t dimensions() const {
        const auto flat = [&](std::size_t d) {
            return input[d] == 1 && output[d] == 1 && kernel[d] == 1 && padding[d] == 0;
        };
        return flat(0) ? (flat(1) ? 1 : 2) : 3;
    }
};

/// n / divisor = (2 * n * multiplier >> 32) >> shift for n < 2^31, as in kernels/product/quotient.slang.
/// (Granlund and Montgomery, Division by invariant integers using multiplication, 1994: multiplier =
/// ceil(2^(31 + shift) / divisor) with 2^shift >= divisor.)
struct Quotient {
    std::uint32_t multiplier, shift;
    explicit Quotient(std::int64_t divisor)
        : shift(static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(divisor - 1)))) {
        multiplier =
            static_cast<std::uint32_t>(rekindle::kernels::ceil_div(std::int64_t{1} << (31 + shift), divisor));
    }
};

} // namespace rvk
