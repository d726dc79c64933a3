#pragma once
/// A finished training in one place: what every output file is made from.

#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/fit.h>
#include <rekindle/trainer/run_folder.h>
#include <rekindle/trainer/scores.h>

#include <string>
#include <utility>
#include <vector>

namespace rekindle::trainer {

struct TrainedRun {
    const TrainConfig& config;
    const MarketData& data;
    const Dataset& set;
    const mlp::Engine& final_engine; ///< after the last step
    const mlp::Engine& best_engine;  ///< weights of the best epoch
    const FitResult& fit;
    const Evaluation& evaluation;          ///< of best_engine on the validation rows
    const std::vector<double>& predicted;  ///< per validation row, unit of the target
    const std::vector<std::string>& notes; ///< warnings and facts that were told on the way
    std::vector<std::pair<std::string, double>> stage_seconds;
};

/// model files, metadata, metrics, pictures and report; each file whole or not at all.
void write_outputs(const RunFolder& folder, const TrainedRun& run);

} // namespace rekindle::trainer
