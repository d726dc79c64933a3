#pragma once
/// Compares bars with the daily halt of their exchange.

#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <cstdint>
#include <string>

namespace rekindle::market {

/// How many bars lie entirely within rules.halt; 0 if there is none, for raw labels and for tables of dates.
std::uint64_t bars_in_halt(const BarTable& bars, const SessionRules& rules);

/// A sentence if so many bars lie within the halt that the timestamps are probably read in a wrong zone (at
/// least 0.6 times as many as if trading never paused); otherwise "". Stray bars and the shorter halts of
/// earlier years stay below that.
std::string halt_warning(const BarTable& bars, const SessionRules& rules);

/// Whether a pause from one bar's end to the next bar's end (timestamps) is the halt, give or take 15
/// minutes.
bool is_halt(std::int64_t after, std::int64_t before, const BarTable& bars, const SessionRules& rules);

} // namespace rekindle::market
