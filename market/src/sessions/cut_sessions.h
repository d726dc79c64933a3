#pragma once
/// The bars of a table by trading day, before contracts are chosen.

#include <rekindle/market/bars.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/session.h>

#include <cstddef>
#include <vector>

namespace rekindle::market {

struct DaySessions {
    std::vector<Session> days; ///< contract and roll_offset are not set; only the last day may be incomplete
    std::size_t weekend_bars = 0; ///< skipped
    std::size_t weekend_days = 0; ///< Saturdays and Sundays in `days`, if the market trades on them
    std::size_t holiday_bars = 0; ///< in the regular hours of a holiday, skipped
};

/// Cuts the table into sessions of single days by rules.raw_labels and rules.hours; rules.length is ignored.
/// `like_original` as in plan_sessions. Throws Error (usage) like plan_sessions.
DaySessions cut_days(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar,
                     bool like_original = false);

/// Whether the ISO week has no trading day after the last of `days`, so that a week that ends with it is
/// over. With TradingDays::automatic, `days` show whether Saturdays and Sundays are trading days.
bool is_last_of_week(const std::vector<Session>& days, TradingDays rule, const HolidayCalendar& calendar);

} // namespace rekindle::market
