#pragma once
/// The bars that a backtest trades: one series in chronological order, one contract at a time.

#include <rekindle/market/bar_ends.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/session_plan.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rekindle::research {

/// One bar of the series. Times are seconds since 1970-01-01T00:00:00Z, prices are points. An order that is
/// sent by `begin` can be filled in the bar; what follows from the bar is known from `end` on.
struct TradedBar {
    std::int64_t begin = 0, end = 0;
    double open = 0, high = 0, low = 0, close = 0;
    std::int32_t date = 0;      ///< its session's label, days since 1970-01-01: bars of a date are one period
    std::uint16_t contract = 0; ///< index into TradedSeries::contracts
    /// Where the contract changes: the price at which the previous one trades when this bar opens.
    double previous_contract = std::numeric_limits<double>::quiet_NaN();
};

/// A value. Bars do not overlap: begin < end <= begin of the next bar.
struct TradedSeries {
    std::vector<TradedBar> bars;
    std::vector<std::string> contracts; ///< names, at least one; "" if the file has none
    double tick = 0;                    ///< points; 0 if prices have none
};

/// The bars of the sessions, each of its session's contract. A daily bar of a market with regular hours (one
/// that ends by their end) begins when they begin. Any other bar begins when the previous one ends, or its
/// length before its own end if that is later. At a roll, the price of the previous contract is the open of
/// its bar of the same time, or its last close where there is none. Throws Error (usage) for sessions that
/// mix contracts.
TradedSeries traded_series(const market::BarTable& bars, const market::SessionPlan& plan,
                           const market::BarEnds& ends, const market::SessionRules& rules);

} // namespace rekindle::research
