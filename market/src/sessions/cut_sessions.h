#pragma once
/// The bars of a table by trading day, before contracts are chosen.

#include <rekindle/market/bars.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/session.h>

#include <cstddef>
#include <vector>

namespace rekindle::market {

struct DaySessions {
    std::vector<Session> days; ///< contract and roll_offset are not set; only the last one may be incomplete
    std::size_t weekend_bars = 0; ///< left out
    std::size_t weekend_days = 0; ///< Saturdays and Sundays among `days`: this market trades on them
    std::size_t holiday_bars = 0; ///< in the regular hours of a holiday, left out
};

/// The sessions of single days by rules.clock and rules.hours; rules.length is not looked at.
/// Throws Error (usage) as plan_sessions does.
DaySessions cut_days(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar);

/// No trading day of this ISO week is left after the last of `days`, so a week that ends with it is over.
/// Saturdays and Sundays are trading days where the days before show it.
bool is_last_of_week(const std::vector<Session>& days, const HolidayCalendar& calendar);

} // namespace rekindle::market
