#pragma once
/// Pads a convolution for a kernel that loads eight channels of a pixel at once.

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// A convolution with zeros added so that its numbers of channels are multiples of eight. The result of the
/// original convolution is part of this one's result.
///
/// Images with at most four channels waste most of the eight. If the horizontal stride is even, this class
/// therefore joins adjacent pixels of a row: with three channels and a stride of two, each pair of pixels
/// becomes one pixel with 2 x 4 channels, and a quarter of the products are with zeros instead of five
/// eighths. The kernel is padded with columns of zeros to a whole number of joined pixels. An image value
/// that such a column multiplies can still make the result NaN, if it is infinite or NaN itself.
class PaddedConvolution {
  public:
    PaddedConvolution(const Geometry& original, ConvolutionOperation operation);

    const Geometry& geometry() const { return geometry_; }
    /// Returns false if the original convolution needs no padding.
    bool is_padded() const { return is_padded_; }

    /// Returns the operands of the padded convolution. Operands that need no padding are returned as they
    /// are, the others as padded copies. For the weight gradient, the result is a new, uninitialized tensor.
    ConvolutionOperands pad(ConvolutionOperation operation, const ConvolutionOperands& original) const;

    /// Copies the original weight's part of the padded weight gradient to `gradient`.
    void copy_weight_gradient(const at::Tensor& padded, const at::Tensor& gradient) const;

  private:
    void join_pixels();

    Geometry geometry_;
    std::int64_t joined_ = 1;        ///< how many adjacent pixels become one: 1, 2, 4 or 8
    std::int64_t leading_zeros_ = 0; ///< columns of zeros added on the left of the kernel; less than joined_
    bool is_padded_ = false;
};

} // namespace rvk
