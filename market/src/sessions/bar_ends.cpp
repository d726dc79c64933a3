#include "sessions/trading_hours.h"

#include <rekindle/market/bar_ends.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/usual_hours.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

namespace rekindle::market {
namespace {

constexpr double days_per_month = 365.2425 / 12;

/// Whether at least six of ten dates satisfy the condition.
template <class Condition>
bool most(std::span<const std::int64_t> times, const Condition& condition) {
    const auto count =
        std::ranges::count_if(times, [&](std::int64_t time) { return condition(date_of(time)); });
    return static_cast<std::size_t>(count) * 10 >= times.size() * 6;
}

std::chrono::year_month_day civil(std::int32_t date) {
    return std::chrono::sys_days{std::chrono::days{date}};
}

bool is_end_of_month(std::int32_t date) {
    constexpr unsigned latest_days = 25;
    return static_cast<unsigned>(civil(date).day()) > latest_days;
}

std::int32_t last_of_month(std::int32_t date, int months_later) {
    const auto day = civil(date);
    const std::chrono::year_month_day_last last =
        (day.year() / day.month() + std::chrono::months{months_later}) / std::chrono::last;
    return static_cast<std::int32_t>(std::chrono::sys_days{last}.time_since_epoch().count());
}

} // namespace

struct BarEnds::Dates {
    Dates(const BarTable& bars, const SessionRules& session_rules, const HolidayCalendar& holidays)
        : rules(whole_day(session_rules)), calendar(holidays), hours(rules, calendar),
          zone(ZoneClock::load(rules.zone)), dates_zone(ZoneClock::load(zone_of_dates(rules.zone))),
          metadata(bars.metadata()) {
        const auto time = bars.columns().time;
        weekends = std::ranges::any_of(time, [](std::int64_t t) { return is_weekend(date_of(t)); });
        trading_days = rules.daily_bars_are_trading_days || metadata.named_like_futures ||
                       std::ranges::any_of(metadata.contracts, [](const std::string& name) {
                           return may_trade_past_the_close(name);
                       });
        days = static_cast<std::int32_t>(
            std::lround(static_cast<double>(metadata.bar_seconds) / static_cast<double>(day_seconds)));
        months = static_cast<int>(std::lround(days / days_per_month));
        dates_are_ends =
            days <= 1 || (months > 0 ? most(time, is_end_of_month) : most(time, [](std::int32_t date) {
                return weekday_of(date) == 4 || weekday_of(date) == 5;
            }));
    }

    static SessionRules whole_day(SessionRules rules) {
        rules.hours = SessionHours::all; // the trading day needs no regular hours
        return rules;
    }

    /// The last date that a bar of this date covers.
    std::int32_t last_date(std::int32_t date) const {
        if (dates_are_ends)
            return date;
        const bool begins_month = static_cast<unsigned>(civil(date).day()) <= 7;
        return months > 0 && begins_month ? last_of_month(date, months - 1)
                                          : date + std::max(days, 31 * months) - 1;
    }

    std::int64_t local_time(const ZoneClock& clock, std::int32_t date, int minute) const {
        return clock.to_utc(std::int64_t{date} * day_seconds + std::int64_t{minute} * 60);
    }

    std::int64_t next_midnight(std::int32_t date) const {
        const std::int64_t local = local_time(zone, date + 1, 0);
        return metadata.utc_days ? std::max(local, std::int64_t{date + 1} * day_seconds) : local;
    }

    std::int64_t end_of(std::int32_t date) const {
        const std::int64_t told =
            metadata.day_end_minute < 0 ? 0 : local_time(dates_zone, date, metadata.day_end_minute);
        if (rules.raw_labels)
            return std::max(std::int64_t{date + 1} * day_seconds,
                            std::int64_t{date} * day_seconds + std::int64_t{metadata.day_end_minute} * 60);
        // A market that trades on weekends never closes; the dates of bars longer than a day cannot show
        // that.
        if (weekends || !dates_are_ends || !rules.rth_known)
            return std::max(told, next_midnight(date));
        if (told > 0)
            return told;
        if (trading_days)
            return metadata.utc_days ? std::max(hours.day(date).end, std::int64_t{date + 1} * day_seconds)
                                     : hours.day(date).end;
        return std::min(hours.regular(date).end, local_time(zone, date, rules.rth_close));
    }

    SessionRules rules;
    HolidayCalendar calendar;
    TradingHours hours;
    ZoneClock zone;
    ZoneClock dates_zone;
    BarMetadata metadata;
    bool weekends = false;
    bool trading_days = false; ///< bars may last until the end of the trading day
    std::int32_t days = 1;     ///< length of a bar
    int months = 0;            ///< length of a bar, 0 if shorter
    bool dates_are_ends = true;
};

BarEnds::BarEnds(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar) {
    if (bars.metadata().dates_only)
        dates_ = std::make_shared<const Dates>(bars, rules, calendar);
}

std::int64_t BarEnds::of(std::int64_t time) const {
    return dates_ ? dates_->end_of(dates_->last_date(date_of(time))) : time;
}

} // namespace rekindle::market
