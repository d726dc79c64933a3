#pragma once
/// The input gradient of a strided convolution (and a strided transposed convolution) as dense convolutions.
///
/// In one dimension, pixel i of the input receives tap t of the kernel from pixel o of the output where
/// stride * o + dilation * t = i + padding. With the greatest common divisor g of stride and dilation, the
/// pixels
///     i = stride * q + dilation * t - padding    for one t below stride / g and all q
/// receive only the taps t + j * stride / g, from o = q - j * dilation / g. These pixels are phase t: they
/// are the input gradient of a convolution with stride 1, dilation / g as its dilation, and a kernel of only
/// those taps. Pixels in no phase receive nothing.
///
/// One convolution can compute several phases, as additional channels of its input, because they read the
/// same pixels of the output. The kernels of phases with fewer taps are then padded with zeros.

#include "convolution_geometry.h"

#include <ATen/core/Tensor.h>
#include <vector>

namespace rvk {

/// The dense convolution that computes some phases of a strided one.
struct JoinedPhases {
    Geometry
        geometry; ///< in_channels: channels x phases; input: from the smallest q of its phases to the largest
    Size3 first{0, 0, 0}, count{1, 1, 1}; ///< range of phases in each dimension

    std::int64_t phases() const { return volume(count); }
};

/// Chooses how to compute the input gradient in phases: all in one convolution, or each in its own, whichever
/// has the lower estimated cost. Empty if phases would save too little. Depends only on the sizes.
std::vector<JoinedPhases> phases_of(const Geometry& g);

/// Whether every pixel of the input is in a phase.
bool phases_cover_input(const Geometry& g);

/// The weight [groups * out_channels, channels x phases, taps...] of the phases' convolution.
at::Tensor weight_of_phases(const JoinedPhases& phases, const Geometry& g, const at::Tensor& weight);

/// The bias [groups * channels x phases], or no tensor if there is none.
at::Tensor bias_of_phases(const JoinedPhases& phases, const at::Tensor& bias);

/// Copies the pixels of the phases [batch, groups * channels x phases, q...] to their places in the input's
/// gradient [batch, groups * channels, input...].
void place_phases(const JoinedPhases& phases, const Geometry& g, const at::Tensor& pixels,
                  const at::Tensor& gradient);

} // namespace rvk
