#pragma once
/// Which model predicts from which data.

#include <rekindle/trainer/config.h>

#include <filesystem>
#include <set>
#include <string>

namespace rekindle::trainer {

struct PredictOptions {
    std::filesystem::path model;   ///< a run folder, or a file of one, or a model of the original system
    TrainConfig input;             ///< data, vix and the reading options that `given` names
    std::set<std::string> given;   ///< keys of `input` that the user set
    std::filesystem::path scaler;  ///< scaler JSON, needed for a model without one
    bool other_instrument = false; ///< the data may be for a different instrument than the model's
};

} // namespace rekindle::trainer
