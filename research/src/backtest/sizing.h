#pragma once
#include <rekindle/research/backtest.h>

#include <cstddef>
#include <optional>

namespace rekindle::research {

/// The target position of a decision in contracts, sized from the bars before `bar`; empty if the rule cannot
/// size it. `equity` is the equity at the close of the bar before. Precondition: bar >= 1.
std::optional<double> position_for(const Decision& decision, const TradedSeries& series, std::size_t bar,
                                   double equity, const BacktestOptions& options);

} // namespace rekindle::research
