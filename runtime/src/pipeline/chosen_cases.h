#pragma once
/// Reduces SPIR-V to the cases that a pipeline's constants select.

#include <rekindle/kernels/kernel.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::runtime {

/// The module with every OpSwitch on a specialization constant reduced to the one target that its value
/// selects; the others become unreachable blocks. A driver folds the constant as well, but only after it has
/// translated and inlined every case, which for a family of a hundred operations is most of the compile time.
/// `values`: the values of `constants`, in the same order. `module` is SPIR-V that the build has validated;
/// the result is also valid.
std::vector<std::uint32_t> with_chosen_cases(std::span<const std::uint32_t> module,
                                             std::span<const kernels::SpecializationConstant> constants,
                                             std::span<const std::uint32_t> values);

} // namespace rekindle::runtime
