#pragma once
/// Counts integers (kernels/indexing/counting.slang).

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// Returns how often each integer from 0 to bins - 1 occurs, as int64. Other integers are ignored.
/// Asynchronous on the current stream. Throws c10::NotImplementedError from 2^31 numbers or bins on.
at::Tensor counts_of(const at::Tensor& numbers, std::int64_t bins);

} // namespace rvk
