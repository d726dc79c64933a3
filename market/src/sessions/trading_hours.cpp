#include "sessions/trading_hours.h"

#include <rekindle/base/error.h>

namespace rekindle::market {
namespace {

constexpr int noon = 12 * 60;

} // namespace

TradingHours::TradingHours(const SessionRules& rules, const HolidayCalendar& calendar)
    : rules_(rules), calendar_(calendar), zone_(ZoneClock::load(rules.zone)) {
    const auto is_minute = [](int minute) { return minute >= 0 && minute < 24 * 60; };
    if (!is_minute(rules.rth_open) || !is_minute(rules.rth_close) || !is_minute(rules.day_start))
        throw usage_error("a time of the session rules is not a minute of the day")
            .expected("00:00 to 23:59");
    if (rules.rth_open >= rules.rth_close)
        throw usage_error("regular hours open at " + format_minute(rules.rth_open) + " and close at " +
                          format_minute(rules.rth_close))
            .expected("an opening before the close, both on one local date");
    const bool starts_on_evening_before = rules.day_start >= noon;
    if (starts_on_evening_before ? rules.rth_close > rules.day_start : rules.rth_open < rules.day_start)
        throw usage_error("the trading day begins at " + format_minute(rules.day_start) +
                          ", inside or on the wrong side of the regular hours " +
                          format_minute(rules.rth_open) + " to " + format_minute(rules.rth_close))
            .expected("regular hours within one trading day");
}

std::int64_t TradingHours::day_begin(std::int32_t date) const noexcept {
    return at(rules_.day_start >= noon ? date - 1 : date, rules_.day_start);
}

std::int32_t TradingHours::trading_day(std::int64_t stamp) const noexcept {
    std::int32_t date = local_date(stamp);
    while (stamp > day_begin(date + 1))
        ++date;
    while (stamp <= day_begin(date))
        --date;
    return date;
}

StampWindow TradingHours::regular(std::int32_t date) const {
    return {at(date, rules_.rth_open), early_close(date).value_or(at(date, rules_.rth_close))};
}

std::int32_t TradingHours::business_day_from(std::int32_t date) const {
    while (!calendar_.is_business_day(date))
        ++date;
    return date;
}

std::int32_t TradingHours::business_day_before(std::int32_t date) const {
    do
        --date;
    while (!calendar_.is_business_day(date));
    return date;
}

std::optional<std::int64_t> TradingHours::early_close(std::int32_t date) const {
    const auto minute = calendar_.half_day_close(date);
    if (!minute || *minute <= rules_.rth_open || *minute >= rules_.rth_close)
        return std::nullopt;
    return at(date, *minute);
}

} // namespace rekindle::market
