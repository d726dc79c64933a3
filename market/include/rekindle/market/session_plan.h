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
    std::vector<Session> sessions; ///< in order of time, ranges do not overlap
    std::vector<Roll> rolls;       ///< in order of time
    std::vector<std::string> notes; ///< what a person should know: bars left out, days outside the calendar …

    /// Without the last session if that one is not over.
    std::span<const Session> complete_sessions() const noexcept;
};

/// Sessions by rules.clock:
///   utc, exchange  Stamps are instants (the reader has turned exchange time into UTC and starts into ends).
///        all   Trading day D holds the bars that end in (day_start on the evening before, day_start on D],
///        local
///              time of rules.zone; with day_start before noon, (day_start on D, day_start on D + 1]. Trading
///              days that fall on a Saturday or Sunday hold test and stray bars: left out and counted. A
///              holiday with trading is a session of its own, marked half_day.
///        rth   Bars that end in (rth_open, rth_close] of a weekday, up to the early close on a half day. A
///              holiday has no regular session.
///        eth   Bars from the regular close (or early close) of the business day before to the regular open
///        of D:
///              one stretch of time, over weekends and holidays. The label is D.
///   raw            The original system: the date of the label is the session; rth takes 09:30 <= time <
///   16:00 of
///                  weekdays. Calendar and zone are not used.
/// A table of dates alone has one session for each date and needs hours = all. Weeks are Monday to Friday
/// trading days together (ISO weeks), labeled with the last one present; they need hours = all, for one
/// week's regular hours are not one stretch of bars. The held contract of a week is that of its first day.
///
/// Look-ahead: the plan of the first n bars is the beginning of the plan of all bars, except for its last
/// session, which may be shorter or absent there; `complete` tells when it is not.
///
/// Throws Error (usage) for rules that contradict each other or the data, and for contracts that `method`
/// cannot handle. `mix_contracts_like_original` puts all contracts into each session, without rolls. Time:
/// about one pass over contract and volume.
SessionPlan plan_sessions(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar,
                          RollMethod method, bool mix_contracts_like_original = false);

} // namespace rekindle::market
