#pragma once
/// SPIR-V reduced to one pipeline.

#include <rekindle/kernels/kernel.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::runtime {

/// The kernel's module with its specialization constants replaced by `values` (in the order of
/// Kernel::constants): one entry point, the functions that it calls, and in these only the blocks that the
/// values leave reachable. A driver would remove the same blocks, but only after it has translated and
/// inlined all of them, which is most of the compile time of a family with many variants. The result is valid
/// SPIR-V for pipelines without VkSpecializationInfo.
std::vector<std::uint32_t> specialized_module(const kernels::Kernel& kernel,
                                              std::span<const std::uint32_t> values);

} // namespace rekindle::runtime
