#pragma once
/// The data that a model needs for predictions in addition to its weights: the object "rekindle" of a run's
/// _metadata.json.

#include "trained_run.h"

#include <rekindle/market/scaler.h>
#include <rekindle/mlp/model.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/instrument.h>
#include <rekindle/trainer/scores.h>

#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The keys of a configuration that decide what a row of features means (of clock: whether it is raw):
/// predict refuses other values.
inline constexpr std::array meaning_keys{
    "clock",           "zone",          "session",       "session_length",
    "day_start",       "regular_hours", "calendar",      "roll",
    "weighting",       "value_area",    "tie",           "compat",
    "features",        "scaler",        "target",        "target_bars",
    "across_sessions", "dead_band",     "barrier_width", "days"};

nlohmann::ordered_json run_metadata(const TrainedRun& run);
/// The part that a model needs to be used again without its run. No times and no hardware: the same training
/// on the same files produces the same bytes everywhere.
nlohmann::ordered_json reusable_metadata(const TrainedRun& run);

/// What a model of several instruments knows about one of them.
struct StoredInstrument {
    std::string name;
    market::Scaler scaler; ///< has features only with ScaleBy::instrument
    double target_scale = 1;
    double target_center = 0;
    double training_share_up = 0;
    double training_mean = 0, training_error = 0; ///< as in ForecastRecord; older models have none
    double tick = 0;                              ///< points
    double profile_bin = 0;                       ///< points, if prices have no tick
    market::BarLength bar_length;
    std::string hours; ///< hours_text() of its sessions; older models have none
    Instrument identity;
    Evaluation evaluation; ///< on its validation rows; has no rows if there are none
};

/// The part of it that predict reads.
struct StoredModel {
    mlp::ModelDescription model;
    market::Scaler scaler;
    TargetMeaning meaning;
    Evaluation evaluation;
    double tick = 0;        ///< points
    double profile_bin = 0; ///< points, if prices have no tick; older runs have none
    double training_share_up = 0;
    TrainConfig config; ///< of the run
    /// Of the run's data; not recorded by older runs and by runs on several instruments.
    std::optional<Instrument> instrument;
    std::optional<market::BarLength> bar_length; ///< likewise
    std::optional<ForecastRecord> forecasts;     ///< likewise
    std::vector<StoredInstrument> instruments;   ///< with --several-instruments
};

/// From the object "rekindle"; `source` is for messages. Throws Error (usage) naming it and what is missing.
StoredModel stored_model(const nlohmann::ordered_json& details, const std::filesystem::path& source);
/// Reads best_model_metadata.json of a run folder. Throws Error (usage) naming the file and what is missing.
StoredModel read_stored_model(const std::filesystem::path& run_folder);

} // namespace rekindle::trainer
