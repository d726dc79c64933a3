#pragma once
/// The data of a finished run from which the output files are written.

#include "scores/population_scores.h"

#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/device.h>
#include <rekindle/trainer/fit.h>
#include <rekindle/trainer/forecast.h>
#include <rekindle/trainer/importance.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/scores.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::trainer {

struct TrainedRun {
    const TrainConfig& config;
    std::span<const MarketData> markets; ///< one per instrument
    const Dataset& set;
    const mlp::ModelDescription& model;
    const mlp::OptimizerSpec& optimizer;
    const DeviceUse& device;
    const FitResult& fit;
    const std::optional<PopulationScores>& population; ///< with --population
    const Evaluation& evaluation; ///< of the best network's best epoch on the validation rows
    /// Empty for an imported network, whose training rows are unknown.
    const std::optional<ForecastRecord>& forecasts;
    const std::vector<Evaluation>& by_instrument; ///< evaluate_instruments()
    const std::vector<Importance>& importance;    ///< validation_importance() of the best network
    const std::vector<double>& predicted;         ///< per validation row, in the unit of the target
    const std::vector<std::string>& notes;        ///< warnings and notes logged during the run
    std::vector<StageTime> stages;
};

} // namespace rekindle::trainer
