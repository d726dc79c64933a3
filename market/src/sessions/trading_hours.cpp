#include "sessions/trading_hours.h"

#include <rekindle/foundation/error.h>

namespace rekindle::market {
namespace {

constexpr int noon = 12 * 60;

/// "09:30-16:00 in America/New_York are 08:30-15:00 there (in winter)."; empty if they pass midnight.
std::string new_york_hours_in(const SessionRules& rules) {
    const SessionRules usual;
    const std::int64_t winter = std::int64_t{make_date(2024, 1, 15)} * day_seconds + std::int64_t{noon} * 60;
    const auto minutes = static_cast<int>(
        (ZoneClock::load(rules.zone).offset_at(winter) - ZoneClock::load(usual.zone).offset_at(winter)) / 60);
    const int open = usual.rth_open + minutes, close = usual.rth_close + minutes;
    if (open < 0 || close > 24 * 60)
        return "";
    return format_minute(usual.rth_open) + "-" + format_minute(usual.rth_close) + " in " + usual.zone +
           " are " + format_minute(open) + "-" + format_minute(close) + " there (in winter).";
}

} // namespace

TradingHours::TradingHours(const SessionRules& rules, const HolidayCalendar& calendar)
    : rules_(rules), calendar_(calendar), zone_(ZoneClock::load(rules.zone)) {
    if (!calendar.zone().empty() && calendar.zone() != rules.zone)
        calendar_zone_ = ZoneClock::load(calendar.zone());
    if (rules.day_start < 0 || rules.day_start >= 24 * 60)
        throw usage_error("the start of the trading day is not a time of day").expected("00:00 to 23:59");
    if (rules.hours != SessionHours::all)
        check_regular_hours();
}

void TradingHours::check_regular_hours() const {
    const SessionRules& rules = rules_;
    if (!rules.rth_known)
        throw usage_error("the regular hours of an exchange in " + rules.zone + " are not known; --session " +
                          (rules.hours == SessionHours::rth ? "rth" : "eth") + " needs them")
            .at("--regular-hours")
            .expected("open and close in the local time of --zone, such as 08:30-15:15")
            .hint(new_york_hours_in(rules));
    if (rules.rth_open < 0 || rules.rth_close > 24 * 60)
        throw usage_error("the regular hours contain an invalid time of day")
            .at("--regular-hours")
            .expected("00:00 to 24:00");
    if (rules.rth_open >= rules.rth_close)
        throw usage_error("regular hours open at " + format_minute(rules.rth_open) + " and close at " +
                          format_minute(rules.rth_close))
            .at("--regular-hours")
            .expected("an open before the close, both on the same local date");
    const bool starts_on_evening_before = rules.day_start >= noon;
    if (starts_on_evening_before ? rules.rth_close > rules.day_start : rules.rth_open < rules.day_start)
        throw usage_error("the trading day begins at " + format_minute(rules.day_start) +
                          ", inside or on the wrong side of the regular hours " +
                          format_minute(rules.rth_open) + " to " + format_minute(rules.rth_close))
            .at("--regular-hours")
            .expected("regular hours within one trading day (--day-start)");
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

std::optional<std::int64_t> TradingHours::early_close(std::int32_t date) const {
    const auto minute = calendar_.half_day_close(date);
    if (!minute)
        return std::nullopt;
    const std::int64_t local = std::int64_t{date} * day_seconds + std::int64_t{*minute} * 60;
    const std::int64_t close = (calendar_zone_ ? *calendar_zone_ : zone_).to_utc(local);
    if (rules_.hours == SessionHours::all)
        return close;
    if (close <= at(date, rules_.rth_open) || close >= at(date, rules_.rth_close))
        return std::nullopt;
    return close;
}

} // namespace rekindle::market
