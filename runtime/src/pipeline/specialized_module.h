#pragma once
/// Reduces a SPIR-V module to the code that one pipeline needs.

#include <rekindle/kernels/kernel.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::runtime {

/// Returns the kernel's module with `values` (in the order of Kernel::constants) in place of its
/// specialization constants. Only the kernel's entry point and the code that it can reach with these values
/// remain. Drivers remove unreachable code, too, but only after they have translated and inlined all of it,
/// which takes most of the compile time of families with many variants. The result is valid SPIR-V; create
/// pipelines from it without VkSpecializationInfo.
std::vector<std::uint32_t> specialized_module(const kernels::Kernel& kernel,
                                              std::span<const std::uint32_t> values);

} // namespace rekindle::runtime
