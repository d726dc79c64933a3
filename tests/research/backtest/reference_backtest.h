#pragma once
/// A slow backtest that follows the rules of research/backtest.h one after the other, for whole contracts.

#include <rekindle/research/backtest.h>

#include <span>

namespace rekindle::research {

/// Precondition: the sizing rule is `fixed` with the amount and step 1, and targets are whole numbers.
BacktestResult reference_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                                  const BacktestOptions& options);

} // namespace rekindle::research
