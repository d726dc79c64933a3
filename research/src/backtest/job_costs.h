#pragma once
#include <rekindle/research/backtest_job.h>

#include <string>

namespace rekindle::research {

/// The costs of a job and where they come from.
struct JobCosts {
    Costs costs;
    std::string currency;
    std::string text;
};

/// The typical costs of the bars' instrument, overridden by the costs that the user gave. Throws Error
/// (usage) if the list is damaged or if slippage is in ticks but the prices have no tick.
/// `bars` says how the bars were read; with several instruments, those of this one.
JobCosts costs_of(const BacktestJob& job, const trainer::TrainConfig& bars, const TradedSeries& series);

} // namespace rekindle::research
