#pragma once
/// Prefix sums and stable sorting of 32-bit numbers on the device (kernels/indexing/grouping.slang).

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// Memory for 32-bit numbers: an uninitialized int32 tensor.
at::Tensor make_words(std::int64_t count, c10::Device device);

/// Exclusive prefix sums modulo 2^32. numbers: contiguous int32.
at::Tensor exclusive_sums(const at::Tensor& numbers);

struct SortedKeys {
    at::Tensor keys, positions; ///< contiguous int32 of the same length, read as unsigned
};
/// Sorts both by the keys; equal keys keep their order. Keys are below `keys`, or 2^32 - 1, which sorts last.
/// May reuse the input's memory for the result.
SortedKeys sort_keys(const SortedKeys& unsorted, std::int64_t keys);

} // namespace rvk
