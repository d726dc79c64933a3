#pragma once
/// Instants and local time. "Local" or "civil" seconds are the local time of a zone counted as if it were
/// UTC.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// Seconds per day.
inline constexpr std::int64_t day_seconds = 86'400;

/// The date of civil seconds, also before 1970. Dates are days since 1970-01-01.
constexpr std::int32_t date_of(std::int64_t civil_seconds) noexcept {
    const std::int64_t quotient = civil_seconds / day_seconds;
    return static_cast<std::int32_t>(quotient - (civil_seconds % day_seconds < 0 ? 1 : 0));
}
/// 0 is Monday, 6 is Sunday.
constexpr int weekday_of(std::int32_t date) noexcept {
    return ((date + 3) % 7 + 7) % 7;
}
constexpr bool is_weekend(std::int32_t date) noexcept {
    return weekday_of(date) >= 5;
}
/// The Monday of the date's ISO week.
constexpr std::int32_t week_of(std::int32_t date) noexcept {
    return date - weekday_of(date);
}

/// The date of a day of the proleptic Gregorian calendar. Precondition: the day exists.
std::int32_t make_date(int year, int month, int day);
/// "2025-03-07".
std::string format_date(std::int32_t date);
/// Reads YYYY-MM-DD. Returns false and leaves date unchanged if the text is anything else or the day does not
/// exist.
bool parse_date(std::string_view text, std::int32_t& date) noexcept;
/// Civil seconds as "2025-03-07 16:00:00"; the caller names the zone.
std::string format_civil(std::int64_t civil_seconds);
/// Minutes since midnight as "09:30".
std::string format_minute(int minute_of_day);
/// Reads "HH:MM", from 00:00 to 24:00, as minutes since midnight; empty if the text is anything else.
std::optional<int> parse_minute(std::string_view text) noexcept;

/// The offsets of one IANA zone from 1900 to 2200, as a table. Immutable, thread-safe. Outside those years
/// the nearest known offset is used.
class ZoneClock {
  public:
    /// Uses the system's zone file ($TZDIR or /usr/share/zoneinfo), or the embedded one if there is none.
    /// Throws Error (usage) suggesting similar names if neither exists.
    static ZoneClock load(const std::string& iana_name);

    const std::string& name() const noexcept { return name_; }
    /// Civil seconds of the zone at an instant. Takes a few nanoseconds.
    std::int64_t to_local(std::int64_t utc) const noexcept { return utc + offset_at(utc); }
    /// The instant of civil seconds. A time that occurs twice means its first occurrence; a time that is
    /// skipped uses the offset before the change (like Python's zoneinfo with fold = 0).
    std::int64_t to_utc(std::int64_t local_seconds) const noexcept;
    /// Local minus UTC, in seconds.
    std::int64_t offset_at(std::int64_t utc) const noexcept;

  private:
    ZoneClock() = default;
    std::string name_;
    std::vector<std::int64_t> changes_;       ///< instants from which offsets_[i + 1] applies
    std::vector<std::int64_t> local_changes_; ///< civil seconds from which offsets_[i + 1] applies
    std::vector<std::int32_t> offsets_;       ///< one more than changes_
    std::vector<std::uint32_t> buckets_;      ///< number of changes up to the beginning of each bucket
};

/// The minutes by which `zone` is ahead of `other`, if that was the same throughout 2024: -60 for
/// America/Chicago and America/New_York. Empty where daylight saving time differs. Throws like
/// ZoneClock::load().
std::optional<int> constant_difference(const std::string& zone, const std::string& other);

} // namespace rekindle::market
