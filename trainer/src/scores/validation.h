#pragma once
/// A network on the validation rows of its data.

#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>
#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/scores.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// One per validation row, in the unit of the target.
std::vector<double> validation_predictions(const Dataset& set, const mlp::ModelDescription& model,
                                           const mlp::TrainingSpec& spec,
                                           std::span<const mlp::NamedTensor> parameters);

/// Scores these predictions. `ridge` holds ridge_predictions(set); `seed` is that of the bootstrap.
Evaluation evaluate_on_validation(const Dataset& set, std::span<const double> predicted,
                                  std::span<const double> ridge, std::uint64_t seed);

} // namespace rekindle::trainer
