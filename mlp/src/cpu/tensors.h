#pragma once
/// Converts parameters between PyTorch's named tensors and the layout of cpu::Plan.

#include "cpu/plan.h"

#include <rekindle/mlp/model.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::mlp::cpu {

/// `values`: plan.parameter_floats() floats.
std::vector<NamedTensor> to_tensors(const Plan& plan, std::span<const float> values);
/// Does not change padding. Throws Error (usage), without changing anything, naming a tensor that is missing
/// or has a different shape.
void from_tensors(const Plan& plan, std::span<const NamedTensor> tensors, std::span<float> values);
/// The weights that training starts with (Philox, purpose initial_weights). Does not change padding.
void initial_parameters(const Plan& plan, Initialization initialization, std::uint64_t seed,
                        std::span<float> values);

} // namespace rekindle::mlp::cpu
