#include "reading/stamp.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace rekindle::market::reading {

namespace {

constexpr std::int64_t seconds_per_day = 86400;
constexpr std::int64_t end_of_2199 = 7'258'118'400; ///< seconds since 1970

/// A position in a text that is read from left to right.
class Cursor {
  public:
    explicit Cursor(std::string_view text) noexcept : text_(text) {}
    bool at_end() const noexcept { return text_.empty(); }
    char peek() const noexcept { return text_.empty() ? '\0' : text_.front(); }
    bool take(char character) noexcept {
        if (peek() != character)
            return false;
        text_.remove_prefix(1);
        return true;
    }
    /// Reads a number of `fewest` to `most` digits, with no further digits after it. False if there is none.
    bool number(std::size_t fewest, std::size_t most, unsigned& value) noexcept {
        std::size_t count = 0;
        unsigned read = 0;
        while (count < text_.size() && count <= most && text_[count] >= '0' && text_[count] <= '9')
            read = read * 10 + static_cast<unsigned>(text_[count++] - '0');
        if (count < fewest || count > most)
            return false;
        text_.remove_prefix(count);
        value = read;
        return true;
    }
    /// Exactly `count` digits; more may follow.
    bool digits(std::size_t count, unsigned& value) noexcept {
        if (text_.size() < count || !Cursor(text_.substr(0, count)).number(count, count, value))
            return false;
        text_.remove_prefix(count);
        return true;
    }
    std::string_view rest() const noexcept { return text_; }

  private:
    std::string_view text_;
};

constexpr bool is_leap(unsigned year) noexcept {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

std::optional<std::int64_t> checked_days(unsigned year, unsigned month, unsigned day) noexcept {
    constexpr std::array<unsigned, 12> lengths{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1900 || year > 2199 || month < 1 || month > 12 || day < 1)
        return std::nullopt;
    if (day > lengths[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u))
        return std::nullopt;
    return days_from_civil(year, month, day);
}

/// An English month, in full or as its first three letters, in any case; 0 if there is none.
unsigned take_month(Cursor& cursor) noexcept {
    constexpr std::array<std::string_view, 12> names{"january",   "february", "march",    "april",
                                                     "may",       "june",     "july",     "august",
                                                     "september", "october",  "november", "december"};
    const auto letter = [](char c) { return static_cast<char>(c | 0x20); };
    const std::string_view text = cursor.rest();
    std::size_t length = 0;
    while (length < text.size() && letter(text[length]) >= 'a' && letter(text[length]) <= 'z')
        ++length;
    for (unsigned month = 1; month <= names.size(); ++month) {
        const std::string_view name = names[month - 1];
        if ((length == 3 || length == name.size()) &&
            std::equal(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), name.begin(),
                       [&](char a, char b) { return letter(a) == b; })) {
            for (std::size_t i = 0; i < length; ++i)
                cursor.take(cursor.peek());
            return month;
        }
    }
    return 0;
}

std::optional<std::int64_t> parse_date(DateFormat format, Cursor& cursor) noexcept {
    unsigned year = 0, month = 0, day = 0;
    const auto year_first = [&](char separator, std::size_t fewest) {
        return cursor.digits(4, year) && cursor.take(separator) && cursor.number(fewest, 2, month) &&
               cursor.take(separator) && cursor.number(fewest, 2, day);
    };
    bool complete = false;
    switch (format) {
    case DateFormat::iso:
        complete = year_first('-', 1);
        break;
    case DateFormat::dots:
        complete = year_first('.', 1);
        break;
    case DateFormat::slashes:
        complete = year_first('/', 1);
        break;
    case DateFormat::compact:
        complete = cursor.digits(4, year) && cursor.digits(2, month) && cursor.number(2, 2, day);
        break;
    case DateFormat::us:
        complete = cursor.number(1, 2, month) && cursor.take('/') && cursor.number(1, 2, day) &&
                   cursor.take('/') && cursor.number(4, 4, year);
        break;
    case DateFormat::month_named:
        month = take_month(cursor);
        complete = month != 0 && cursor.take(' ') && cursor.number(1, 2, day) && (cursor.take(','), true) &&
                   cursor.take(' ') && cursor.number(4, 4, year);
        break;
    case DateFormat::day_dots:
        complete = cursor.number(1, 2, day) && cursor.take('.') && cursor.number(1, 2, month) &&
                   cursor.take('.') && cursor.number(4, 4, year);
        break;
    case DateFormat::day_named: {
        complete = cursor.number(1, 2, day);
        const char between = cursor.peek();
        complete = complete && (cursor.take('-') || cursor.take(' ')) && (month = take_month(cursor)) != 0 &&
                   cursor.take(between) && cursor.number(4, 4, year);
        break;
    }
    default:
        break;
    }
    if (!complete)
        return std::nullopt;
    return checked_days(year, month, day);
}

/// Reads AM or PM after a 12-hour time and converts hour to the 24-hour clock.
bool apply_half_of_day(Cursor& cursor, unsigned& hour) noexcept {
    Cursor ahead = cursor;
    ahead.take(' ');
    const char letter = static_cast<char>(ahead.peek() | 0x20);
    if (letter != 'a' && letter != 'p')
        return true;
    ahead.take(ahead.peek());
    if ((ahead.peek() | 0x20) != 'm' || hour < 1 || hour > 12)
        return false;
    ahead.take(ahead.peek());
    hour = hour % 12 + (letter == 'p' ? 12 : 0);
    cursor = ahead;
    return true;
}

bool fraction_is_zero(Cursor& cursor) noexcept {
    if (!cursor.take('.'))
        return true;
    if (cursor.peek() != '0')
        return false;
    while (cursor.take('0')) {
    }
    return true;
}

std::optional<std::int64_t> parse_time(TimeFormat format, Cursor& cursor) noexcept {
    if (format == TimeFormat::none)
        return 0;
    unsigned hour = 0, minute = 0, second = 0;
    if (format == TimeFormat::compact) {
        if (!cursor.digits(2, hour) || !cursor.digits(2, minute) ||
            (!cursor.at_end() && !cursor.number(2, 2, second)))
            return std::nullopt;
    } else {
        if (!cursor.number(1, 2, hour) || !cursor.take(':') || !cursor.number(2, 2, minute))
            return std::nullopt;
        if (cursor.take(':') && (!cursor.number(2, 2, second) || !fraction_is_zero(cursor)))
            return std::nullopt;
        if (!apply_half_of_day(cursor, hour))
            return std::nullopt;
    }
    if (hour > 23 || minute > 59 || second > 59)
        return std::nullopt;
    return hour * 3600 + minute * 60 + second;
}

/// Z, +05:30, -0500, " GMT+0530" (Dukascopy).
std::optional<std::int32_t> parse_offset(Cursor& cursor) noexcept {
    if (cursor.rest().starts_with(" GMT"))
        for (int i = 0; i < 4; ++i)
            cursor.take(cursor.peek());
    if (cursor.take('Z'))
        return 0;
    const bool west = cursor.peek() == '-';
    if (!cursor.take('+') && !cursor.take('-'))
        return std::nullopt;
    unsigned hours = 0, minutes = 0;
    if (!cursor.digits(2, hours))
        return std::nullopt;
    cursor.take(':');
    if ((!cursor.at_end() && !cursor.number(2, 2, minutes)) || hours > 14 || minutes > 59)
        return std::nullopt;
    const auto seconds = static_cast<std::int32_t>(hours * 3600 + minutes * 60);
    return west ? -seconds : seconds;
}

/// "YYYY-MM-DD HH:MM:SS", by far the most common format. All digits are checked together at the end.
bool parse_common(std::string_view text, std::int64_t& label) noexcept {
    if (text.size() != 19)
        return false;
    const auto digit = [&](std::size_t i) {
        return static_cast<unsigned>(static_cast<unsigned char>(text[i])) - '0';
    };
    const auto pair = [&](std::size_t i) { return digit(i) * 10 + digit(i + 1); };
    bool wrong = text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') ||
                 text[13] != ':' || text[16] != ':';
    for (const std::size_t i : {0u, 1u, 2u, 3u, 5u, 6u, 8u, 9u, 11u, 12u, 14u, 15u, 17u, 18u})
        wrong |= digit(i) > 9;
    const unsigned hour = pair(11);
    const unsigned minute = pair(14);
    const unsigned second = pair(17);
    if (wrong || hour > 23 || minute > 59 || second > 59)
        return false;
    const auto days = checked_days(pair(0) * 100 + pair(2), pair(5), pair(8));
    if (!days)
        return false;
    label = *days * seconds_per_day + std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 + second;
    return true;
}

struct UnixUnit {
    DateFormat format;
    std::size_t digits; ///< of timestamps from 2001 to 2286
    std::int64_t per_second;
};
constexpr std::array<UnixUnit, 4> unix_units{{{DateFormat::unix_seconds, 10, 1},
                                              {DateFormat::unix_milliseconds, 13, 1'000},
                                              {DateFormat::unix_microseconds, 16, 1'000'000},
                                              {DateFormat::unix_nanoseconds, 19, 1'000'000'000}}};

const UnixUnit* unix_unit(DateFormat format) noexcept {
    const auto* unit = std::find_if(unix_units.begin(), unix_units.end(),
                                    [&](const UnixUnit& one) { return one.format == format; });
    return unit == unix_units.end() ? nullptr : unit;
}

/// Accepts whole seconds only, such as "1704067200.0".
std::optional<Stamp> parse_unix(const UnixUnit& unit, std::string_view text) noexcept {
    if (text.size() < unit.digits)
        return std::nullopt;
    std::int64_t count = 0;
    const char* const end = text.data() + unit.digits;
    const auto read = std::from_chars(text.data(), end, count);
    Cursor rest(text.substr(unit.digits));
    if (read.ec != std::errc() || read.ptr != end || count < 0 || !fraction_is_zero(rest) || !rest.at_end() ||
        count % unit.per_second != 0 || count / unit.per_second >= end_of_2199)
        return std::nullopt;
    return Stamp{count / unit.per_second, 0};
}

bool is_midnight(const Stamp& stamp) noexcept {
    return stamp.label % seconds_per_day == 0;
}

/// The name of a zone at the end of a time, such as "America/New_York"; "" if there is none.
std::string_view zone_at_end(std::string_view text) noexcept {
    const std::size_t blank = text.rfind(' ');
    if (blank == std::string_view::npos)
        return {};
    const std::string_view name = text.substr(blank + 1);
    const bool letters = std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '/' || c == '-';
    });
    return letters && name.find('/') != std::string_view::npos ? name : std::string_view();
}

std::optional<Stamp> finish(const StampFormat& format, std::int64_t days, Cursor& cursor) noexcept {
    const auto seconds = parse_time(format.time, cursor);
    if (!seconds)
        return std::nullopt;
    Stamp stamp{days * seconds_per_day + *seconds, 0};
    if (format.offset) {
        const auto offset = parse_offset(cursor);
        if (!offset)
            return std::nullopt;
        stamp.offset = *offset;
    }
    return cursor.at_end() && (!format.midnight || is_midnight(stamp)) ? std::optional(stamp) : std::nullopt;
}

template <class Parse>
std::optional<StampFormat> first_match(const Parse& matches) noexcept {
    for (const DateFormat date :
         {DateFormat::iso, DateFormat::compact, DateFormat::dots, DateFormat::slashes, DateFormat::us,
          DateFormat::month_named, DateFormat::day_named, DateFormat::day_dots})
        for (const TimeFormat time : {TimeFormat::none, TimeFormat::colons, TimeFormat::compact})
            for (const bool offset : {false, true}) {
                const StampFormat format{date, time, offset};
                if ((time != TimeFormat::none || !offset) && matches(format))
                    return format;
            }
    return std::nullopt;
}

} // namespace

std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) noexcept {
    year -= month <= 2;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const auto year_of_era = static_cast<std::int64_t>(year - era * 400);
    const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

std::string StampFormat::example() const {
    constexpr std::array dates{"2024-03-15", "20240315",     "2024.03.15",  "2024/3/15",
                               "3/15/2024",  "Mar 15, 2024", "15-Mar-2024", "15.3.2024"};
    constexpr std::array times{"", " 09:31:00", " 093100"};
    constexpr std::array midnights{"", " 00:00:00", " 000000"};
    if (const UnixUnit* unit = unix_unit(date))
        return "a timestamp like " +
               std::to_string((midnight ? 1'710'460'800 : 1'710'495'060) * unit->per_second);
    const auto kind = static_cast<std::size_t>(time);
    return std::string("a timestamp like ") + dates[static_cast<std::size_t>(date)] +
           (midnight ? midnights[kind] : times[kind]) + (offset ? "-05:00" : "") +
           (zone.empty() ? "" : " " + zone);
}

std::optional<Stamp> parse_stamp(const StampFormat& format, std::string_view text) noexcept {
    if (!format.zone.empty()) {
        const std::string_view stamp = trim(text);
        if (!stamp.ends_with(format.zone) || stamp.size() == format.zone.size() ||
            stamp[stamp.size() - format.zone.size() - 1] != ' ')
            return std::nullopt;
        const StampFormat local{format.date, format.time, format.offset, format.midnight};
        return parse_stamp(local, stamp.substr(0, stamp.size() - format.zone.size() - 1));
    }
    if (format == StampFormat{DateFormat::iso, TimeFormat::colons, false}) {
        Stamp stamp;
        if (parse_common(text, stamp.label))
            return stamp;
    }
    if (format == StampFormat{DateFormat::iso, TimeFormat::colons, true} && text.ends_with('Z')) {
        Stamp stamp;
        if (parse_common(text.substr(0, text.size() - 1), stamp.label))
            return stamp;
    }
    if (const UnixUnit* unit = unix_unit(format.date)) {
        const auto stamp = parse_unix(*unit, trim(text));
        return stamp && (!format.midnight || is_midnight(*stamp)) ? stamp : std::nullopt;
    }
    Cursor cursor(trim(text));
    const auto days = parse_date(format.date, cursor);
    if (!days)
        return std::nullopt;
    if (format.time != TimeFormat::none && !cursor.take(' ') && !cursor.take('T'))
        return std::nullopt;
    while (cursor.take(' ')) {
    }
    return finish(format, *days, cursor);
}

std::optional<Stamp> parse_stamp(const StampFormat& format, std::string_view date,
                                 std::string_view time) noexcept {
    Cursor date_cursor(trim(date));
    Cursor time_cursor(trim(time));
    const auto days = parse_date(format.date, date_cursor);
    if (!days || !date_cursor.at_end())
        return std::nullopt;
    return finish(format, *days, time_cursor);
}

std::optional<StampFormat> recognize_stamp(std::string_view text) noexcept {
    if (const std::string_view zone = zone_at_end(trim(text)); !zone.empty()) {
        const std::string_view stamp = trim(text);
        auto format = recognize_stamp(stamp.substr(0, stamp.size() - zone.size() - 1));
        if (!format || format->offset || format->dates_only())
            return std::nullopt;
        format->zone = zone;
        return format;
    }
    for (const UnixUnit& unit : unix_units) {
        const StampFormat format{unit.format, TimeFormat::colons, true};
        if (parse_stamp(format, text))
            return format;
    }
    return first_match([&](const StampFormat& format) { return parse_stamp(format, text).has_value(); });
}

std::optional<StampFormat> recognize_stamp(std::string_view date, std::string_view time) noexcept {
    return first_match([&](const StampFormat& format) {
        return format.time != TimeFormat::none && parse_stamp(format, date, time).has_value();
    });
}

bool looks_like_day_first(std::string_view text) noexcept {
    Cursor cursor(trim(text));
    unsigned first = 0, second = 0;
    const auto take_separator = [&] { return cursor.take('/') || cursor.take('-'); };
    return cursor.number(1, 2, first) && take_separator() && cursor.number(1, 2, second) && first > 12 &&
           first <= 31 && second >= 1 && second <= 12;
}

} // namespace rekindle::market::reading
