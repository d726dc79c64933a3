#pragma once
/// The rows of the option table, one function per heading of the help.

#include <rekindle/cli/option_table.h>

namespace rekindle::cli::rows {

/// Commands that read bars.
inline const std::vector<std::string_view> readers{"train", "predict", "inspect", "volume-profile",
                                                   "features"};
/// Commands that need volume profiles.
inline const std::vector<std::string_view> profilers{"train", "volume-profile", "features"};
/// Commands that cut sessions of one kind; inspect counts every kind.
inline const std::vector<std::string_view> session_cutters{"train", "predict", "volume-profile", "features"};
/// Commands that use the VIX.
inline const std::vector<std::string_view> vix_readers{"train", "predict", "inspect", "features"};
inline const std::vector<std::string_view> feature_makers{"train", "features"};
inline const std::vector<std::string_view> trainers{"train"};

std::vector<OptionSpec> input();
std::vector<OptionSpec> sessions();
std::vector<OptionSpec> volume_profile();
std::vector<OptionSpec> features_and_target();
std::vector<OptionSpec> network();
std::vector<OptionSpec> optimization();
std::vector<OptionSpec> run();
std::vector<OptionSpec> other_commands();
std::vector<OptionSpec> doctor();
std::vector<OptionSpec> messages();

} // namespace rekindle::cli::rows
