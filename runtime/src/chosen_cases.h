#pragma once
/// SPIR-V with the cases that a pipeline's constants choose.

#include <rekindle/kernels/kernel.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::runtime {

/// The module with every OpSwitch on a specialization constant reduced to the one target that its value
/// chooses; the others become blocks that nothing reaches. A driver folds the constant as well, but only
/// after it has translated and inlined every case: for a family of a hundred operations that is most of the
/// time that a pipeline takes. `values`: of `constants`, in their order. `module` is SPIR-V that the build
/// has checked; the result is as valid.
std::vector<std::uint32_t> with_chosen_cases(std::span<const std::uint32_t> module,
                                             std::span<const kernels::SpecializationConstant> constants,
                                             std::span<const std::uint32_t> values);

} // namespace rekindle::runtime
