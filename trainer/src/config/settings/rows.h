#pragma once
/// The rows of the settings, one function per part of TrainConfig.

#include <rekindle/trainer/setting.h>

namespace rekindle::trainer::rows {

/// Commands that read bars.
inline const std::vector<std::string_view> readers{"train",    "walk-forward", "search",
                                                   "predict",  "inspect",      "volume-profile",
                                                   "features", "backtest",     "import-model"};
/// Commands that need volume profiles.
inline const std::vector<std::string_view> profilers{"train", "walk-forward", "search", "volume-profile",
                                                     "features"};
/// Commands that cut sessions of one kind; inspect counts every kind.
inline const std::vector<std::string_view> session_cutters{
    "train", "walk-forward", "search", "predict", "volume-profile", "features", "backtest"};
/// Commands that accept bars of several instruments.
inline const std::vector<std::string_view> readers_of_several{
    "train", "walk-forward", "search", "predict", "inspect", "volume-profile", "features", "backtest"};
/// Commands that use the VIX.
inline const std::vector<std::string_view> vix_readers{"train",   "walk-forward", "search",
                                                       "predict", "inspect",      "features"};
inline const std::vector<std::string_view> feature_makers{"train", "walk-forward", "search", "features"};
inline const std::vector<std::string_view> trainers{"train", "walk-forward", "search"};
/// Commands that train on one part of the rows and choose the epoch by the loss on another.
inline const std::vector<std::string_view> validators{"train"};
/// Commands that write what they learned into a folder.
inline const std::vector<std::string_view> run_makers{"train", "walk-forward", "search", "import-model"};
/// Commands that split rows once by time.
inline const std::vector<std::string_view> splitters{"train", "import-model"};

std::vector<Setting> input();
std::vector<Setting> sessions();
std::vector<Setting> volume_profile();
std::vector<Setting> features_and_target();
std::vector<Setting> network();
std::vector<Setting> optimization();
std::vector<Setting> run();

} // namespace rekindle::trainer::rows
