#pragma once
/// Shared by the normalizations (kernels/normalization).

#include "../../dispatch/launch.h"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <optional>

namespace rvk {

/// The tensor in contiguous memory; undefined if there is none.
at::Tensor contiguous_or_undefined(const std::optional<at::Tensor>& tensor);

/// The dtype of mean and rstd: float64 for float64 inputs, otherwise float32.
at::ScalarType statistics_type(at::ScalarType input);

/// Throws c10::NotImplementedError if no normalization kernel supports this input: a dtype that is not
/// floating-point, float64 on a device without it, or 2^32 elements or more.
void check_norm_input(const at::Tensor& input);

/// For each output, two sums over its elements: of the gradient, and of gradient · (input - mean) · rstd.
/// Output o begins at element o · kept_stride and has `reduced` elements: runs of reduced_size elements with
/// stride reduced_stride0; consecutive runs are reduced_stride1 apart. Strides are in elements and apply to
/// both `gradient` and `input`.
struct GradientSums {
    at::Tensor gradient, input;
    at::Tensor mean, rstd;   ///< if undefined, 0 and 1
    at::Tensor sum, product; ///< contiguous, with the same dtype; one may be undefined
    std::int64_t outputs = 0, reduced = 0;
    std::int64_t kept_stride = 1, reduced_size = 0, reduced_stride0 = 1, reduced_stride1 = 0;
    /// Mean and rstd have the index output / statistics_divisor; if this is 0, the reduced element's index.
    std::int64_t statistics_divisor = 1;
};
void gradient_sums(const GradientSums& request);

} // namespace rvk
