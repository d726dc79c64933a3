#pragma once
/// The rows of the option table: the settings, then one function per heading of the help.

#include <rekindle/cli/option_spec.h>

namespace rekindle::cli::rows {

/// The options that set TrainConfig, from trainer::settings().
std::vector<OptionSpec> settings();
std::vector<OptionSpec> run();
std::vector<OptionSpec> walk_forward();
std::vector<OptionSpec> search();
std::vector<OptionSpec> other_commands();
std::vector<OptionSpec> backtest();
std::vector<OptionSpec> doctor();
std::vector<OptionSpec> messages();

} // namespace rekindle::cli::rows
