#pragma once
/// What the norms share: kernels/normalization.

#include "../dispatch/launch.h"

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// What means and deviations are kept in: float32 for inputs of 16 bits too.
at::ScalarType statistics_type(at::ScalarType input);

/// Whether the float64 kernels serve. Throws c10::NotImplementedError for what is no floating-point number,
/// float64 on a device without it, and 2^32 elements.
bool normalization_is_wide(const at::Tensor& input);

/// For each output the sum of the gradient and of gradient · (input - mean) · deviation over its elements.
/// Output o begins at element o · kept_stride; its elements are reduced_size at reduced_stride0, so often at
/// reduced_stride1 that they are `reduced`. Strides in elements, of `gradient` and `input` alike.
struct GradientSums {
    at::Tensor gradient, input;
    at::Tensor mean, deviation; ///< undefined: 0 and 1
    at::Tensor sum, product;    ///< contiguous, of one dtype; one may be undefined
    std::int64_t outputs = 0, reduced = 0;
    std::int64_t kept_stride = 1, reduced_size = 0, reduced_stride0 = 1, reduced_stride1 = 0;
    /// Mean and deviation are those of output / statistics_divisor; 0: those of the reduced element.
    std::int64_t statistics_divisor = 1;
};
void gradient_sums(const GradientSums& request);

} // namespace rvk
