#pragma once
/// Counts integers (kernels/indexing/counting.slang).

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// Returns how often each integer from 0 to bins - 1 occurs, as int64. Other integers are ignored.
/// Asynchronous on the current stream. Throws c10::NotImplementedError for 2^31 or more numbers or bins.
at::Tensor counts_of(const at::Tensor& numbers, std::int64_t bins);

} // namespace rvk
