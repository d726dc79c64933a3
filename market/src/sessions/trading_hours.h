#pragma once
/// The boundaries of trading days and regular hours, as timestamps of a table.

#include <rekindle/market/calendar.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/session.h>

#include <cstdint>
#include <optional>

namespace rekindle::market {

/// Bars that end in (begin, end].
struct StampWindow {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Trading hours of one market, given by zone, rules and calendar. Keeps references to rules and calendar.
/// Thread-safe.
class TradingHours {
  public:
    /// Throws Error (usage) if the rules contradict each other. Regular hours are checked only if rules.hours
    /// needs them.
    TradingHours(const SessionRules& rules, const HolidayCalendar& calendar);

    std::int32_t local_date(std::int64_t stamp) const noexcept { return date_of(zone_.to_local(stamp)); }
    /// The trading day of a bar with this timestamp (the end of the bar).
    std::int32_t trading_day(std::int64_t stamp) const noexcept;
    StampWindow day(std::int32_t date) const noexcept { return {day_begin(date), day_begin(date + 1)}; }
    /// Regular hours of a business day, shorter on a half day.
    StampWindow regular(std::int32_t date) const;
    /// The early close of a half day, as a timestamp.
    std::optional<std::int64_t> early_close(std::int32_t date) const;

  private:
    std::int64_t at(std::int32_t date, int minute) const noexcept {
        return zone_.to_utc(std::int64_t{date} * day_seconds + std::int64_t{minute} * 60);
    }
    std::int64_t day_begin(std::int32_t date) const noexcept;

    void check_regular_hours() const;

    const SessionRules& rules_;
    const HolidayCalendar& calendar_;
    ZoneClock zone_;
    std::optional<ZoneClock> calendar_zone_; ///< zone of early closes, if the calendar names one
};

} // namespace rekindle::market
