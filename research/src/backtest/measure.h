#pragma once
/// Computes the figures that a single account and the sum of several accounts have in common.

#include <rekindle/research/performance.h>

namespace rekindle::research {

/// Sets `per_year` and `name` from the dates, of which there is at least one.
void name_periods(PeriodReturns& periods);
/// Sets the annual figures from the returns and Performance::total_return.
void measure_returns(const PeriodReturns& periods, Performance& figures);
/// Sets the length of the longest drawdown from Performance::capital and the equity of each period.
void measure_drawdown_length(const PeriodReturns& periods, Performance& figures);
/// Sets the mean profit and the profit factor from gains, losses and the number of trades.
void average_trades(Performance& figures);

} // namespace rekindle::research
