#include "time/zone_files.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>

#include <absl/time/time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace rekindle::market {
namespace {

constexpr int bucket_shift = 22;                     // 48.5 days: it is rare that two changes share a bucket
constexpr std::int64_t table_begin = -2'208'988'800; // 1900-01-01
constexpr std::int64_t table_end = 7'258'118'400;    // 2200-01-01

/// The instant of a change that absl describes only by civil times.
absl::Time instant_of(const absl::TimeZone& zone, const absl::TimeZone::CivilTransition& change) {
    const auto before = zone.At(change.from);
    if (before.kind == absl::TimeZone::TimeInfo::SKIPPED)
        return before.trans;
    const auto after = zone.At(change.to);
    return after.kind == absl::TimeZone::TimeInfo::REPEATED ? after.trans : before.pre;
}

std::string unknown_zone_hint(const std::string& name) {
    const std::vector<std::string> near = near_zone_names(name);
    std::string hint;
    for (const auto& candidate : near)
        hint += (hint.empty() ? "Did you mean " : ", ") + candidate;
    return hint.empty() ? "Names look like America/New_York. The program has built-in copies of: " +
                              joined_zone_names(embedded_zones())
                        : hint + "?";
}

std::string two_digits(int value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
}

} // namespace

std::int32_t make_date(int year, int month, int day) {
    using namespace std::chrono;
    const sys_days days{std::chrono::year{year} / std::chrono::month{static_cast<unsigned>(month)} /
                        std::chrono::day{static_cast<unsigned>(day)}};
    return static_cast<std::int32_t>(days.time_since_epoch().count());
}

std::string format_date(std::int32_t date) {
    const std::chrono::year_month_day day{std::chrono::sys_days{std::chrono::days{date}}};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                  static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
    return text;
}

bool parse_date(std::string_view text, std::int32_t& date) noexcept {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-')
        return false;
    int figures[3] = {};
    constexpr std::size_t begins[3] = {0, 5, 8}, lengths[3] = {4, 2, 2};
    for (std::size_t part = 0; part < 3; ++part)
        for (std::size_t i = 0; i < lengths[part]; ++i) {
            const char digit = text[begins[part] + i];
            if (digit < '0' || digit > '9')
                return false;
            figures[part] = figures[part] * 10 + (digit - '0');
        }
    const std::chrono::year_month_day day{std::chrono::year{figures[0]},
                                          std::chrono::month{static_cast<unsigned>(figures[1])},
                                          std::chrono::day{static_cast<unsigned>(figures[2])}};
    if (!day.ok())
        return false;
    date = static_cast<std::int32_t>(std::chrono::sys_days{day}.time_since_epoch().count());
    return true;
}

std::string format_civil(std::int64_t civil_seconds) {
    const std::int32_t date = date_of(civil_seconds);
    const auto second = static_cast<int>(civil_seconds - std::int64_t{date} * day_seconds);
    return format_date(date) + " " + format_minute(second / 60) + ":" + two_digits(second % 60);
}

std::string format_minute(int minute_of_day) {
    return two_digits(minute_of_day / 60) + ":" + two_digits(minute_of_day % 60);
}

std::optional<int> parse_minute(std::string_view text) noexcept {
    const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
    if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4))
        return std::nullopt;
    const int hour = (text[0] - '0') * 10 + text[1] - '0', minute = (text[3] - '0') * 10 + text[4] - '0';
    const int minutes = hour * 60 + minute;
    return minute < 60 && minutes <= 24 * 60 ? std::optional(minutes) : std::nullopt;
}

std::optional<int> constant_difference(const std::string& zone, const std::string& other) {
    const ZoneClock one = ZoneClock::load(zone), two = ZoneClock::load(other);
    const auto difference_on = [&](std::int32_t date) {
        const std::int64_t noon = (std::int64_t{date} * 2 + 1) * (day_seconds / 2);
        return one.offset_at(noon) - two.offset_at(noon);
    };
    const std::int64_t difference = difference_on(make_date(2024, 1, 1));
    for (std::int32_t date = make_date(2024, 1, 2); date <= make_date(2024, 12, 31); ++date)
        if (difference_on(date) != difference)
            return std::nullopt;
    return static_cast<int>(difference / 60);
}

ZoneClock ZoneClock::load(const std::string& iana_name) {
    absl::TimeZone zone;
    if (!is_plain_zone_name(iana_name) || !absl::LoadTimeZone(iana_name, &zone))
        throw usage_error("unknown time zone \"" + iana_name + "\"")
            .expected("an IANA zone name")
            .hint(unknown_zone_hint(iana_name));
    ZoneClock clock;
    clock.name_ = iana_name;
    absl::Time at = absl::FromUnixSeconds(table_begin);
    const absl::Time end = absl::FromUnixSeconds(table_end);
    clock.offsets_.push_back(zone.At(at).offset);
    for (absl::TimeZone::CivilTransition change; zone.NextTransition(at, &change);) {
        at = instant_of(zone, change);
        if (at >= end)
            break;
        const int before = clock.offsets_.back();
        const int after = zone.At(at).offset;
        if (after == before)
            continue;
        clock.changes_.push_back(absl::ToUnixSeconds(at));
        clock.local_changes_.push_back(clock.changes_.back() + std::max(before, after));
        clock.offsets_.push_back(after);
    }
    std::uint32_t passed = 0;
    for (std::int64_t begin = table_begin; begin < table_end; begin += std::int64_t{1} << bucket_shift) {
        while (passed < clock.changes_.size() && clock.changes_[passed] <= begin)
            ++passed;
        clock.buckets_.push_back(passed);
    }
    return clock;
}

std::int64_t ZoneClock::offset_at(std::int64_t utc) const noexcept {
    const std::int64_t clamped = std::clamp(utc, table_begin, table_end - 1);
    std::size_t index = buckets_[static_cast<std::size_t>((clamped - table_begin) >> bucket_shift)];
    while (index < changes_.size() && changes_[index] <= utc)
        ++index;
    return offsets_[index];
}

std::int64_t ZoneClock::to_utc(std::int64_t local_seconds) const noexcept {
    const auto change = std::upper_bound(local_changes_.begin(), local_changes_.end(), local_seconds);
    return local_seconds - offsets_[static_cast<std::size_t>(change - local_changes_.begin())];
}

} // namespace rekindle::market
