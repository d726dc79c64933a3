#pragma once
/// Arranges the operands of a convolution for a kernel that loads eight channels of a pixel at once.

#include "convolution_geometry.h"
#include "convolution_operation.h"

namespace rvk {

/// A convolution whose numbers of channels are multiples of eight, and whose result contains that of another
/// convolution. Channels that the other one does not have are zeros.
///
/// If the image has at most four channels and the stride in a row is even, adjacent pixels of a row are
/// joined into one: with three channels and a stride of two, pairs of pixels with four channels each. The
/// units then multiply by one zero for every three numbers, instead of by five. Where the kernel does not
/// begin and end with a joined pixel, it is extended with zeros; if the image is infinite or NaN there, the
/// result is NaN.
class EightChannels {
  public:
    EightChannels(const Geometry& other, ConvolutionOperation operation);

    const Geometry& geometry() const { return geometry_; }
    /// Whether this convolution is not the other one.
    bool differs() const { return differs_; }

    /// The operands of this convolution: copies, or the given ones where nothing changes. The gradient of the
    /// weight is uninitialized; its kernel must compute all of it.
    ConvolutionOperands operands(ConvolutionOperation operation, const ConvolutionOperands& given) const;

    /// Copies this convolution's gradient of the weight to the other's.
    void copy_weight(const at::Tensor& from, const at::Tensor& to) const;

  private:
    void join_pixels();

    Geometry geometry_;
    std::int64_t joined_ = 1;  ///< pixels that become one: 1, 2, 4 or 8
    std::int64_t skipped_ = 0; ///< zeros in front of each row of the kernel; less than joined_
    bool differs_ = false;
};

} // namespace rvk
