#pragma once
/// The trained network that --model names, when training continues from its weights.

#include "usable_model.h"

#include <rekindle/trainer/config.h>
#include <rekindle/trainer/dataset.h>

#include <optional>
#include <set>
#include <string>

namespace rekindle::trainer {

/// The model that config.model names, or nothing if that is empty or only describes a network. Throws Error
/// (usage) as load_usable_model() does.
std::optional<UsableModel> start_model(const TrainConfig& config);

/// The configuration with everything that decides what a row of the model means set to the model's own
/// values, and the loss to the model's unless it is given. Throws Error (usage) naming the first key in
/// `given` that contradicts them.
TrainConfig continued_config(const TrainConfig& config, const std::set<std::string>& given,
                             const UsableModel& start);

/// What the data set has to keep of the model.
ModelInputs inputs_of(const UsableModel& start);

} // namespace rekindle::trainer
