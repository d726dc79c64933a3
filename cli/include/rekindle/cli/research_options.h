#pragma once
/// Turns the options of walk-forward, search and backtest into jobs, for the program and for the Python
/// module.

#include <rekindle/cli/command_line.h>
#include <rekindle/research/backtest_job.h>
#include <rekindle/research/search.h>
#include <rekindle/research/walk_forward.h>

namespace rekindle::cli {

/// Throw Error (usage) for a wrong value, and for an option that would have no effect.
research::WalkForwardOptions walk_forward_options(const CommandLine& line, const EffectiveConfig& effective);
research::SearchOptions search_options(const CommandLine& line, const EffectiveConfig& effective);
/// `config` holds the options for reading bars.
research::BacktestJob backtest_job(const CommandLine& line, const trainer::TrainConfig& config);

} // namespace rekindle::cli
