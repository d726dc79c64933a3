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

/// One bar of the series. Times are in seconds since 1970-01-01T00:00:00Z, prices in points. The bar can fill
/// orders that were sent by `begin`; decisions can use the bar from `end` on.
struct TradedBar {
    std::int64_t begin = 0, end = 0;
    double open = 0, high = 0, low = 0, close = 0;
    std::int32_t date = 0;      ///< of its session, in days since 1970-01-01; bars of one date form a period
    std::uint16_t contract = 0; ///< index into TradedSeries::contracts
    /// If the contract changes at this bar: the price of the previous contract when this bar opens.
    double previous_contract = std::numeric_limits<double>::quiet_NaN();
};

/// The bars to trade. They do not overlap: begin < end <= begin of the next bar.
struct TradedSeries {
    std::vector<TradedBar> bars;
    std::vector<std::string> contracts; ///< names, at least one; "" if the file has none
    double tick = 0;                    ///< in points; 0 if prices have no tick
};

/// Collects the bars of each session's contract. In a market with regular hours, a daily bar begins when
/// those hours begin, unless it ends after them. Any other bar begins when the previous bar ends or one bar
/// length before its own end, whichever is later. At a roll, the previous contract is priced at the open of
/// its own bar at that time or, if it has no bar then, at its last close. Throws Error (usage) if a session
/// mixes contracts.
TradedSeries traded_series(const market::BarTable& bars, const market::SessionPlan& plan,
                           const market::BarEnds& ends, const market::SessionRules& rules);

} // namespace rekindle::research
