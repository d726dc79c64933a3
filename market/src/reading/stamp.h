#pragma once
/// Converts text with dates and times to seconds. The timestamp format of a file is recognized from its first
/// row and then applies to all rows.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

enum class DateFormat {
    iso,          ///< 2024-03-15, 2024-3-5
    compact,      ///< 20240315
    dots,         ///< 2024.03.15, 2024.3.5
    slashes,      ///< 2024/3/15
    us,           ///< 3/15/2024, month first
    month_named,  ///< Mar 15, 2024
    day_named,    ///< 15-Mar-2024, 15 Mar 2024
    day_dots,     ///< 15.3.2024
    unix_seconds, ///< since 1970 in UTC; date, time and offset in one number
    unix_milliseconds,
    unix_microseconds,
    unix_nanoseconds,
};
enum class TimeFormat {
    none,
    colons,  ///< 9:31, 09:31:00, 09:31:00.000, each with or without AM or PM
    compact, ///< 0931, 093100
};

/// The timestamp format of a file.
struct StampFormat {
    DateFormat date = DateFormat::iso;
    TimeFormat time = TimeFormat::none;
    bool offset = false;   ///< Z or ±hh:mm follows, or the number counts from an instant in UTC
    bool midnight = false; ///< every time is 00:00:00 and stands for the day
    std::string zone{};    ///< IANA name that follows every time, as in "20240315 09:31:00 US/Eastern"
    /// Whether one bar is a day (or more).
    bool dates_only() const noexcept { return time == TimeFormat::none || midnight; }
    friend bool operator==(const StampFormat&, const StampFormat&) = default;
    /// For "expected …": "a timestamp like 2024-03-15 09:31:00".
    std::string example() const;
};

struct Stamp {
    std::int64_t label = 0;  ///< the text as if it were UTC, seconds since 1970
    std::int32_t offset = 0; ///< seconds east of UTC, if the format has an offset
};

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar (H. Hinnant, "chrono-compatible
/// low-level date algorithms", days_from_civil). Precondition: a valid month.
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) noexcept;

/// The format of a timestamp with date and time in one field. Empty if it is not recognized.
std::optional<StampFormat> recognize_stamp(std::string_view text) noexcept;
/// The same for two fields.
std::optional<StampFormat> recognize_stamp(std::string_view date, std::string_view time) noexcept;

/// Reads a timestamp in that format. Empty if the text has another format, or is not an existing date from
/// 1900 to 2199 or not a whole second.
std::optional<Stamp> parse_stamp(const StampFormat& format, std::string_view text) noexcept;
std::optional<Stamp> parse_stamp(const StampFormat& format, std::string_view date,
                                 std::string_view time) noexcept;

/// True if the text looks like day/month/year: the first number exceeds 12 and the second does not.
bool looks_like_day_first(std::string_view text) noexcept;

} // namespace rekindle::market::reading
