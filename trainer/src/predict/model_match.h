#pragma once
/// Whether a model fits the settings and the data that it is to be used with.

#include "usable_model.h"

#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/setting.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// Throws Error (usage) if changing the setting from its value in `own`, the model's configuration, to its
/// value in `changed` changes the meaning of the model's rows. `model` is for messages.
void refuse_other_meaning(const Setting& setting, const TrainConfig& own, const TrainConfig& changed,
                          const std::filesystem::path& model);

/// Throws Error (usage) if the data has bars of another length, another instrument (unless that is allowed)
/// or another tick than the data that the model was trained on. Adds a sentence to `notes` for each property
/// that cannot be compared or is in doubt.
void require_matching_data(const UsableModel& model, const MarketData& data,
                           const std::filesystem::path& path, bool other_instrument,
                           std::vector<std::string>& notes);

} // namespace rekindle::trainer
