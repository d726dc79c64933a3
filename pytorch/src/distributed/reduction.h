#pragma once
/// Reductions: sum, average, premultiplied sum, product, minimum, maximum, and the bitwise ones.

#include <ATen/core/Tensor.h>
#include <optional>
#include <span>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace rvk::distributed {

/// A reduction operation. It is deterministic: ranks that combine the same parts in the same order get
/// identical results.
struct Reduction {
    c10d::ReduceOp::RedOpType kind = c10d::ReduceOp::SUM;
    double factor = 1; ///< of a premultiplied sum

    /// Reduces `parts`, one flat tensor for each rank, into `out`. All have the same device, size and dtype,
    /// and reductions.py has checked that the reduction suits the dtype. Accumulates 16-bit dtypes in
    /// float32. On the CPU, large tensors take several threads.
    void combine(std::span<const at::Tensor> parts, const at::Tensor& out) const;
};

} // namespace rvk::distributed
