#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/trading_halt.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::market {
namespace {

constexpr int minutes_per_day = 24 * 60;

int length_of(const DailyHalt& halt) {
    return (halt.end - halt.begin + minutes_per_day - 1) % minutes_per_day + 1;
}

/// Minutes from the beginning of the halt to this local minute of the day.
int minutes_into(const DailyHalt& halt, std::int64_t local_seconds) {
    const auto minute =
        static_cast<int>((local_seconds - std::int64_t{date_of(local_seconds)} * day_seconds) / 60);
    return (minute - halt.begin + minutes_per_day) % minutes_per_day;
}

bool has_times(const BarTable& bars, const SessionRules& rules) {
    return rules.halt && !rules.raw_labels && !bars.metadata().dates_only;
}

} // namespace

std::uint64_t bars_in_halt(const BarTable& bars, const SessionRules& rules) {
    const std::int64_t seconds = bars.metadata().bar_seconds;
    if (!has_times(bars, rules) || seconds > std::int64_t{length_of(*rules.halt)} * 60)
        return 0;
    const ZoneClock zone = ZoneClock::load(rules.zone);
    const int length = length_of(*rules.halt);
    return static_cast<std::uint64_t>(std::ranges::count_if(bars.columns().time, [&](std::int64_t end) {
        const std::int64_t begin = end - seconds;
        return minutes_into(*rules.halt, zone.to_local(begin)) + (seconds + 59) / 60 <= length;
    }));
}

std::string halt_warning(const BarTable& bars, const SessionRules& rules) {
    constexpr double suspicious = 0.6;
    const std::uint64_t inside = bars_in_halt(bars, rules);
    if (inside == 0 || static_cast<double>(inside) < suspicious * static_cast<double>(bars.size()) *
                                                         length_of(*rules.halt) / minutes_per_day)
        return "";
    return fmt::format("{} within the daily halt, from {} to {} {}: the timestamps are probably in another "
                       "zone (--clock, --stamp-zone), or the bars are those of another instrument.",
                       counted(inside, "bar lies", "bars lie"), format_minute(rules.halt->begin),
                       format_minute(rules.halt->end), rules.zone);
}

bool is_halt(std::int64_t after, std::int64_t before, const BarTable& bars, const SessionRules& rules) {
    constexpr int tolerance = 15;
    if (!has_times(bars, rules))
        return false;
    const ZoneClock zone = ZoneClock::load(rules.zone);
    const int length = length_of(*rules.halt);
    // Adds the tolerance so that a pause that begins shortly before the halt counts, too.
    const int begin = minutes_into(*rules.halt, zone.to_local(after) + std::int64_t{tolerance} * 60);
    const auto pause = static_cast<int>((before - bars.metadata().bar_seconds - after) / 60);
    return begin <= 2 * tolerance && std::abs(begin - tolerance + pause - length) <= tolerance;
}

} // namespace rekindle::market
