#pragma once
/// Compares bars with the daily halt of their exchange.

#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <cstdint>
#include <string>

namespace rekindle::market {

/// The number of bars that lie entirely within rules.halt; 0 without a halt, for raw labels and for tables of
/// dates.
std::uint64_t bars_in_halt(const BarTable& bars, const SessionRules& rules);

/// Returns a warning if so many bars lie within the halt that the timestamps are probably read in the wrong
/// zone: at least 0.6 times as many as if trading never paused. Stray bars and the shorter halts of earlier
/// years give fewer. Otherwise returns "".
std::string halt_warning(const BarTable& bars, const SessionRules& rules);

/// Whether the pause between the ends of two consecutive bars (timestamps) is the halt, give or take 15
/// minutes.
bool is_halt(std::int64_t after, std::int64_t before, const BarTable& bars, const SessionRules& rules);

} // namespace rekindle::market
