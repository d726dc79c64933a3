#pragma once
/// A model of several instruments, as it predicts one of them.

#include "usable_model.h"

#include <rekindle/trainer/market_data.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct InstrumentModel {
    UsableModel model;                    ///< with the scaler, scale, tick and scores of the instrument
    std::vector<float> instrument_inputs; ///< the network's inputs after the features
};

/// Throws Error (usage) if the model was not trained on the instrument of the data and depends on it, or if
/// the stored parts do not fit together; `path` is the model's. A model of one instrument is returned as it
/// is.
InstrumentModel model_of_instrument(const UsableModel& model, const MarketData& data,
                                    const std::filesystem::path& path);

/// --tick of each instrument whose prices had no tick in training, so that its profiles have the same bins.
std::map<std::string, std::string> stored_ticks(const StoredModel& model);

} // namespace rekindle::trainer
