#include "reading/table_text.h"

#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>

namespace rekindle::market::reading {

namespace {

void append_pair(unsigned value, std::string& text) {
    text += static_cast<char>('0' + value / 10);
    text += static_cast<char>('0' + value % 10);
}

template <class Real>
void append_shortest(Real value, std::string& text) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    text.append(buffer.data(), end);
}

} // namespace

void append_date(std::int64_t days, std::string& text) {
    constexpr std::int64_t most = 110'000; // the year 2271
    if (days < -most || days > most) {
        text += "beyond the calendar";
        return;
    }
    const std::chrono::year_month_day day{std::chrono::sys_days{std::chrono::days{days}}};
    const auto year = static_cast<unsigned>(static_cast<int>(day.year()));
    append_pair(year / 100, text);
    append_pair(year % 100, text);
    text += '-';
    append_pair(static_cast<unsigned>(day.month()), text);
    text += '-';
    append_pair(static_cast<unsigned>(day.day()), text);
}

void append_clock(std::int64_t seconds, std::int64_t fraction, std::int64_t per_second, std::string& text) {
    if (seconds < 0 || seconds >= day_seconds || fraction < 0) {
        text += "beyond the day";
        return;
    }
    const auto of_day = static_cast<unsigned>(seconds);
    append_pair(of_day / 3600, text);
    text += ':';
    append_pair(of_day / 60 % 60, text);
    text += ':';
    append_pair(of_day % 60, text);
    if (fraction == 0)
        return;
    text += '.';
    for (std::int64_t unit = per_second / 10; fraction > 0; unit /= 10) {
        text += static_cast<char>('0' + static_cast<int>(fraction / unit));
        fraction %= unit;
    }
}

void append_time(std::int64_t count, std::int64_t per_second, std::string& text) {
    const std::int64_t per_day = day_seconds * per_second;
    std::int64_t days = count / per_day;
    std::int64_t of_day = count % per_day;
    if (of_day < 0)
        --days, of_day += per_day;
    append_date(days, text);
    text += ' ';
    append_clock(of_day / per_second, of_day % per_second, per_second, text);
}

void append_real(float value, std::string& text) {
    append_shortest(value, text);
}

void append_real(double value, std::string& text) {
    // Tries four decimals first, which prices rarely exceed: a decimal number of at most 15 digits that
    // rounds to this double is its shortest text, and finding it this way is faster than to_chars.
    constexpr int scale = 4;
    constexpr double factor = 1e4;
    constexpr double most = 1e14;
    if (std::abs(value) < most / factor) {
        const auto rounded = static_cast<std::int64_t>(std::llround(value * factor));
        if (static_cast<double>(rounded) / factor == value)
            return append_fixed(rounded, scale, text);
    }
    append_shortest(value, text);
}

void append_fixed(std::int64_t value, int scale, std::string& text) {
    std::array<char, 24> digits{};
    std::size_t begin = digits.size();
    auto left = value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    int decimals = scale;
    for (; decimals > 0 && left % 10 == 0; --decimals)
        left /= 10;
    int written = 0;
    for (; left > 0 || written <= decimals; left /= 10, ++written) {
        if (written == decimals && decimals > 0)
            digits[--begin] = '.';
        digits[--begin] = static_cast<char>('0' + left % 10);
    }
    if (value < 0)
        text += '-';
    text.append(digits.data() + begin, digits.size() - begin);
}

void append_decimal(Wide value, int scale, std::string& text) {
    std::string digits;
    UnsignedWide left = value < 0 ? -static_cast<UnsignedWide>(value) : static_cast<UnsignedWide>(value);
    for (; left > 0 || static_cast<int>(digits.size()) <= scale; left /= 10)
        digits += static_cast<char>('0' + static_cast<int>(left % 10));
    if (value < 0)
        text += '-';
    while (static_cast<int>(digits.size()) > scale)
        text += digits.back(), digits.pop_back();
    if (scale == 0)
        return;
    text += '.';
    text.append(digits.rbegin(), digits.rend());
}

void append_quoted(std::string_view value, std::string& text) {
    const bool quote = value.find_first_of(",\"") != std::string_view::npos;
    if (quote)
        text += '"';
    for (const char c : value) {
        if (c == '"')
            text += '"';
        text += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
    if (quote)
        text += '"';
}

} // namespace rekindle::market::reading
