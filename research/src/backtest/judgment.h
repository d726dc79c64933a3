#pragma once
/// Puts the scores and the verdict of a backtest into words.

#include <rekindle/research/performance.h>

#include <cstdint>

namespace rekindle::research {

/// Fills in `evaluation.evaluation` from the other fields of `evaluation` and the periods of the strategy and
/// of buying and holding its mean size.
void score_backtest(const PeriodReturns& periods, const PeriodReturns& buy_and_hold, std::uint64_t seed,
                    const Error* unjudged, BacktestEvaluation& evaluation);

} // namespace rekindle::research
