#pragma once
/// Computes when bars end. Nothing computed from a bar is known before then.

#include <rekindle/market/bars.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/session.h>

#include <cstdint>
#include <memory>

namespace rekindle::market {

/// Turns the times of a table into the instants at which its bars end. Bars shorter than a day have that
/// instant as their time. Bars of a day or more (BarMetadata::dates_only) have only a date; they end
///   at the local time that the file's timestamps say (BarMetadata::day_end_minute), or
///   at the end of the trading day if they may be futures or currencies, that is, if
///     SessionRules::daily_bars_are_trading_days, BarMetadata::named_like_futures or
///     may_trade_past_the_close() says so; if their dates are days of UTC, not before the next UTC midnight;
///     or
///   at the regular close of the date, the early close on a half day; or
///   at the next midnight of the zone (the later one of the zone and of UTC, for days of UTC) if the regular
///     hours are not known and in markets that trade on weekends.
/// A bar of a week, of months, or of any other number of days is taken to begin on its date and ends at
/// midnight after its last one, unless the dates of the table are ends: mostly Fridays and Saturdays, or the
/// last days of months. Where it is unclear, the later time is used. With raw labels, instants are labels.
/// Immutable, cheap to copy, thread-safe.
class BarEnds {
  public:
    /// For a table whose times are the ends of its bars.
    BarEnds() = default;
    BarEnds(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar);
    /// The end of a bar with this BarColumns::time, in seconds since 1970-01-01T00:00:00Z.
    std::int64_t of(std::int64_t time) const;

  private:
    struct Dates;
    std::shared_ptr<const Dates> dates_; ///< empty: times are ends
};

} // namespace rekindle::market
