#pragma once
/// EpochMetrics as one JSON object: a line of metrics.jsonl, an entry of a checkpoint's history.

#include <rekindle/trainer/progress.h>

#include <nlohmann/json.hpp>

namespace rekindle::trainer {

nlohmann::ordered_json metrics_to_json(const EpochMetrics& metrics);
EpochMetrics metrics_from_json(const nlohmann::ordered_json& json);

} // namespace rekindle::trainer
