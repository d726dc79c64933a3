#pragma once
/// Settings that exclude each other.

#include <rekindle/trainer/config.h>

#include <set>
#include <string>
#include <string_view>

namespace rekindle::trainer {

/// Refuses combinations of a command's settings in which one setting would have no effect
/// (Setting::not_with). `chosen` holds the keys that the user set. Throws Error (usage) naming both settings.
void check_combinations(std::string_view command, const TrainConfig& config,
                        const std::set<std::string>& chosen);

} // namespace rekindle::trainer
