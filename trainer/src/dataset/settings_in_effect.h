#pragma once
/// Which settings took effect in a run: some are overridden by others, and some stand for a computed value.

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

/// The settings that have no effect with this configuration and target.
std::vector<SettingWithoutEffect> settings_without_effect(const TrainConfig& config,
                                                          const TargetMeaning& meaning);

/// The value used instead of the setting, and why: "5, because the target looks 5 rows ahead" for a smaller
/// purge; empty if the setting was used as given.
std::string value_in_effect(std::string_view key, const TrainConfig& config, const MarketData& data,
                            const Dataset& set);

} // namespace rekindle::trainer
