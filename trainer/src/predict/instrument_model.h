#pragma once
/// Turns a model of several instruments into a model of one of them, for prediction.

#include "usable_model.h"

#include <rekindle/trainer/market_data.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct InstrumentModel {
    UsableModel model;                    ///< with the scaler, scale, tick and scores of this instrument
    std::vector<float> instrument_inputs; ///< the network's inputs after the features
};

/// Throws Error (usage) if the model depends on the instrument and was not trained on the one in the data, or
/// if the stored parts do not fit together; `path` is the model's. Returns a model of one instrument
/// unchanged.
InstrumentModel model_of_instrument(const UsableModel& model, const MarketData& data,
                                    const std::filesystem::path& path);

/// The --tick of each instrument whose prices had no tick in training, so that its profiles keep their bins.
std::map<std::string, std::string> stored_ticks(const StoredModel& model);

} // namespace rekindle::trainer
