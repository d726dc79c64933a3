#pragma once
/// Instants and local time. "Local" seconds are the civil time of a zone counted as if it were UTC.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// Seconds of a day.
inline constexpr std::int64_t day_seconds = 86'400;

/// Dates are days since 1970-01-01. The date of civil seconds, also before 1970.
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
/// Reads YYYY-MM-DD. Returns false, leaving date alone, when the text is anything else or no such day exists.
bool parse_date(std::string_view text, std::int32_t& date) noexcept;
/// Civil seconds as "2025-03-07 16:00:00"; the caller names the zone.
std::string format_civil(std::int64_t civil_seconds);
/// Minutes since midnight as "09:30".
std::string format_minute(int minute_of_day);

/// The offsets of one IANA zone from 1900 to 2200, as a table. Immutable, thread-safe.
/// Outside those years the nearest known offset holds.
class ZoneClock {
  public:
    /// Takes the system's zone file ($TZDIR or /usr/share/zoneinfo), else the embedded one.
    /// Throws Error (usage) with near names when there is neither.
    static ZoneClock load(const std::string& iana_name);

    const std::string& name() const noexcept { return name_; }
    /// Civil seconds of the zone at an instant. Some nanoseconds.
    std::int64_t to_local(std::int64_t utc) const noexcept { return utc + offset_at(utc); }
    /// The instant of civil seconds. A time that occurs twice means its first occurrence; a time that is
    /// skipped is counted with the offset before the change (as Python's zoneinfo does with fold = 0).
    std::int64_t to_utc(std::int64_t local_seconds) const noexcept;
    /// Local minus UTC, in seconds.
    std::int64_t offset_at(std::int64_t utc) const noexcept;

  private:
    ZoneClock() = default;
    std::string name_;
    std::vector<std::int64_t> changes_;       ///< instants from which offsets_[i + 1] holds
    std::vector<std::int64_t> local_changes_; ///< civil seconds from which offsets_[i + 1] holds
    std::vector<std::int32_t> offsets_;       ///< one more than changes
    std::vector<std::uint32_t> buckets_;      ///< number of changes up to the beginning of each bucket
};

/// Whether two zones show the same local time all year round (as they do in 2024): America/Toronto and
/// America/New_York. Throws as ZoneClock::load().
bool same_clock(const std::string& zone, const std::string& other);

/// Names of the zones that are embedded in the program, sorted.
std::vector<std::string> embedded_zones();

} // namespace rekindle::market
