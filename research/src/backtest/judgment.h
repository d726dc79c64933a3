#pragma once
/// Scores and the verdict on a backtest, in words.

#include <rekindle/research/performance.h>

#include <cstdint>

namespace rekindle::research {

/// Fills `evaluation.evaluation` from the other fields.
void score_backtest(const PeriodReturns& periods, std::uint64_t seed, const Error* unjudged,
                    BacktestEvaluation& evaluation);

} // namespace rekindle::research
