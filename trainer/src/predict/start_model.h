#pragma once
/// Loads the trained network that --model names, so that training continues from its weights.

#include "usable_model.h"

#include <rekindle/trainer/config.h>
#include <rekindle/trainer/dataset.h>

#include <optional>
#include <set>
#include <string>

namespace rekindle::trainer {

/// The model that config.model names; nothing if it names none, or a file that only describes a network.
/// Throws Error (usage) as load_usable_model() does.
std::optional<UsableModel> start_model(const TrainConfig& config);

/// Returns the configuration with which training continues. The settings that decide what a row means have
/// the model's values, and so does the loss unless the user gave it. Throws Error (usage) if a key in `given`
/// contradicts them, naming the first one.
TrainConfig continued_config(const TrainConfig& config, const std::set<std::string>& given,
                             const UsableModel& start);

/// The features, scaling and unit of the target that the data set takes from the model.
ModelInputs inputs_of(const UsableModel& start);

} // namespace rekindle::trainer
