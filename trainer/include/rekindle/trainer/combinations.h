#pragma once
/// Settings that exclude each other.

#include <rekindle/trainer/config.h>

#include <set>
#include <string>
#include <string_view>

namespace rekindle::trainer {

/// For a command of the program, refuses combinations of settings in which one would have no effect
/// (Setting::not_with). `chosen` holds the keys that the user set. Throws Error (usage) naming both settings.
void check_combinations(std::string_view command, const TrainConfig& config,
                        const std::set<std::string>& chosen);

} // namespace rekindle::trainer
