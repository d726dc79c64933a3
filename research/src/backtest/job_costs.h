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

/// The costs of the instrument of the bars, with those that the user gave in their place. Throws Error
/// (usage) for a damaged list, and for slippage in ticks where prices have none.
JobCosts costs_of(const BacktestJob& job, const TradedSeries& series);

} // namespace rekindle::research
