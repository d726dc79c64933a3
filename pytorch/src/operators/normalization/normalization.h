#pragma once
/// Shared by the normalizations (kernels/normalization).

#include "../../dispatch/launch.h"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>

namespace rvk {

/// The tensor in contiguous memory; undefined if there is none.
at::Tensor contiguous_or_undefined(const std::optional<at::Tensor>& tensor);

/// The dtype that mean and rstd are kept in: float32 for 16-bit inputs too.
at::ScalarType statistics_type(at::ScalarType input);

/// Throws c10::NotImplementedError if no normalization kernel supports this input: a dtype that is not
/// floating-point, float64 on a device without it, or 2^32 elements or more.
void check_norm_input(const at::Tensor& input);

/// For each output the sum of the gradient and of gradient · (input - mean) · rstd over its elements.
/// Output o begins at element o · kept_stride and has `reduced` elements: reduced_size elements at
/// reduced_stride0, repeated at reduced_stride1. Strides are in elements and apply to both `gradient` and
/// `input`.
struct GradientSums {
    at::Tensor gradient, input;
    at::Tensor mean, rstd;   ///< if undefined, 0 and 1
    at::Tensor sum, product; ///< contiguous, with the same dtype; one may be undefined
    std::int64_t outputs = 0, reduced = 0;
    std::int64_t kept_stride = 1, reduced_size = 0, reduced_stride0 = 1, reduced_stride1 = 0;
    /// Mean and rstd are those at index output / statistics_divisor; 0: those of the reduced element.
    std::int64_t statistics_divisor = 1;
};
void gradient_sums(const GradientSums& request);

} // namespace rvk
