#pragma once
/// Loads a trained network from any supported file or folder, with all that is needed to use it.

#include "run_metadata.h"

#include <rekindle/trainer/predict_options.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct UsableModel {
    StoredModel stored;
    std::vector<mlp::NamedTensor> parameters; ///< for a population, those of its best network
    /// The networks of a population whose loss is finite; predictions are their mean. Empty for one network.
    std::vector<std::vector<mlp::NamedTensor>> networks;
    bool evaluated = true; ///< its validation scores are known
    std::vector<std::string> notes;
};

/// Reads PredictOptions::model: a run folder; its .pt, .safetensors or _metadata.json; a .pt or .safetensors
/// with the network of the original system, which needs PredictOptions::scaler and is used with the
/// original's rules. Throws Error (usage) for any other file, naming what it is and what to give instead.
UsableModel load_usable_model(const PredictOptions& options);

} // namespace rekindle::trainer
