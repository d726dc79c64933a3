#pragma once
/// Stable sorting along a dimension: kernels/sorting/sorting.slang.

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// Sorts a contiguous tensor along a dimension and stores positions first to first + kept - 1 of every line:
/// values and their indices (int64), in contiguous tensors of the input's shape with `kept` elements along
/// the dimension. NaN counts as the largest number. Throws c10::NotImplementedError for complex dtypes.
void sort_lines(const at::Tensor& input, std::int64_t dim, bool descending, std::int64_t first,
                std::int64_t kept, const at::Tensor& values, const at::Tensor& indices);

} // namespace rvk
