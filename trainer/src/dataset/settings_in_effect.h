#pragma once
/// What the settings of a run came to: some have no effect beside others, some stand for another value.

#include <rekindle/trainer/config.h>
#include <rekindle/trainer/dataset.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

struct SettingWithoutEffect {
    std::string_view key;    ///< "target_bars"
    std::string_view reason; ///< "the target looks one session ahead"
};

/// The settings that do not matter in a run with this configuration and target.
std::vector<SettingWithoutEffect> settings_without_effect(const TrainConfig& config,
                                                          const TargetMeaning& meaning);

/// The value that took the place of the setting, and why: "5, because the target looks 5 rows ahead" for a
/// smaller purge; empty when the setting stands for itself.
std::string value_in_effect(std::string_view key, const TrainConfig& config, const MarketData& data,
                            const Dataset& set);

} // namespace rekindle::trainer
