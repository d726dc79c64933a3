#pragma once
/// The one table of settings: each field of TrainConfig has a row with its name, type, values and words.
/// JSON, checks, the command line, help, and the reference pages come from it. Defaults are those of
/// TrainConfig{}.

#include <rekindle/trainer/setting.h>

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace rekindle::trainer {

/// All settings, in the order of TrainConfig and of its JSON. Rows of one group are neighbors. Thread-safe.
const std::vector<Setting>& settings();

/// All fields of the configuration, in the order of the table.
void to_json(nlohmann::ordered_json& json, const TrainConfig& config);

/// Updates the fields of the keys that are present and keeps the others. Throws Error (usage) naming an
/// unknown key (with the nearest known one), a wrong type or a value out of range.
void update_from_json(const nlohmann::ordered_json& json, TrainConfig& config);

} // namespace rekindle::trainer
