#pragma once
/// How often integers occur: kernels/indexing/counting.slang.

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// int64: how often each number from 0 to bins - 1 is among these integers; others are not counted.
/// Asynchronous on the current stream. Throws c10::NotImplementedError from 2^31 numbers or bins on.
at::Tensor counts_of(const at::Tensor& numbers, std::int64_t bins);

} // namespace rvk
