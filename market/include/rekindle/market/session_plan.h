#pragma once
/// Cuts a table of bars into sessions and chooses the contract of each.

#include <rekindle/market/bars.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/rolls.h>
#include <rekindle/market/session.h>

#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

struct SessionPlan {
    std::vector<Session> sessions;  ///< in chronological order; ranges do not overlap
    std::vector<Roll> rolls;        ///< in chronological order
    std::vector<std::string> notes; ///< for the user: skipped bars, days outside the calendar …

    /// All sessions except the last one if it is not over.
    std::span<const Session> complete_sessions() const noexcept;
};

/// Sessions by rules.raw_labels:
///   false          Timestamps are instants (the reader converts exchange time to UTC, and starts to ends).
///        all  Trading day D holds the bars that end in (day_start on the evening before, day_start on D], in
///             local time of rules.zone; with day_start before noon, (day_start on D, day_start on D + 1].
///             A holiday with trading is a separate session, marked half_day.
///        rth  Bars that end in (rth_open, rth_close] of D, up to the early close on a half day. A holiday
///             has no regular session.
///        eth  Bars from the regular close (or early close) of the previous trading day to the regular open
///             of D: one contiguous range of time, across holidays and days without trading. The label is D.
///   true           The date of the label is the session; rth takes rth_open <= time < rth_close. Calendar
///                  and zone are not used.
/// With TradingDays::automatic, a Saturday or Sunday is a trading day if it has at least half as many bars
/// (of its regular hours for rth and eth) as the weekdays before it. Bars on other weekends are stray bars or
/// the exchange's tests: all and rth skip and count them, eth assigns them to the next trading day. With raw
/// labels and for tables of dates, all takes every date unless TradingDays::weekdays excludes it.
/// A table of dates without times has one session per date and needs hours = all. Weeks join the Monday to
/// Friday trading days of an ISO week and are labeled with the last one present; they need hours = all,
/// because the regular hours of a week are not one contiguous range of bars. A week holds the contract of its
/// first day.
///
/// Look-ahead: the plan of the first n bars is the beginning of the plan of all bars, except for its last
/// session, which may be shorter or missing there; `complete` says whether it is over.
///
/// Throws Error (usage) for rules that contradict each other or the data, and for contracts that `method`
/// cannot handle. `like_original` puts all contracts into each session, without rolls, and drops the weekends
/// of raw regular hours, as the original system did. Takes about one pass over contract and volume.
SessionPlan plan_sessions(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar,
                          RollMethod method, bool like_original = false);

} // namespace rekindle::market
