#include "reading/table_text.h"

#include <rekindle/market/clock.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>

namespace rekindle::market::reading {

namespace {

/// "00" to "99".
constexpr std::array<char, 200> pairs = [] {
    std::array<char, 200> digits{};
    for (std::size_t i = 0; i < digits.size(); ++i)
        digits[i] = static_cast<char>('0' + (i % 2 == 0 ? i / 20 : i / 2 % 10));
    return digits;
}();

/// Writes two digits and returns their end. Precondition: value < 100.
char* write_pair(unsigned value, char* out) noexcept {
    std::memcpy(out, pairs.data() + std::size_t{2} * value, 2);
    return out + 2;
}

constexpr std::array<std::uint64_t, 20> powers_of_ten = [] {
    std::array<std::uint64_t, 20> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i)
        powers[i] = powers[i - 1] * 10;
    return powers;
}();

char* write_words(std::string_view words, char* out) noexcept {
    return std::copy(words.begin(), words.end(), out);
}

/// How many digits the value has, at least 1.
int count_digits(std::uint64_t value) noexcept {
    int digits = 1;
    while (static_cast<std::size_t>(digits) < powers_of_ten.size() &&
           value >= powers_of_ten[static_cast<std::size_t>(digits)])
        ++digits;
    return digits;
}

/// Writes the last `count` digits of the value, with leading zeros.
char* write_digits(std::uint64_t value, int count, char* out) noexcept {
    char* const end = out + count;
    char* at = end;
    for (; at - out >= 2; value /= 100)
        write_pair(static_cast<unsigned>(value % 100), at -= 2);
    if (at != out)
        *out = static_cast<char>('0' + value % 10);
    return end;
}

/// Writes a minus sign if the value is negative, and returns its absolute value, also of the smallest
/// integer.
std::uint64_t take_sign(std::int64_t value, char*& out) noexcept {
    if (value >= 0)
        return static_cast<std::uint64_t>(value);
    *out++ = '-';
    return -static_cast<std::uint64_t>(value);
}

template <class Real>
char* write_shortest(Real value, char* out) noexcept {
    return std::to_chars(out, out + longest_number, value).ptr;
}

/// Appends what write(out) writes.
template <class Write>
void append(std::string& text, const Write& write) {
    std::array<char, longest_number> buffer{};
    text.append(buffer.data(), write(buffer.data()));
}

} // namespace

char* write_date(std::int64_t days, char* out) noexcept {
    constexpr std::int64_t most = 110'000; // the year 2271
    if (days < -most || days > most)
        return write_words("beyond the calendar", out);
    const std::chrono::year_month_day day{std::chrono::sys_days{std::chrono::days{days}}};
    const auto year = static_cast<unsigned>(static_cast<int>(day.year()));
    out = write_pair(year % 100, write_pair(year / 100, out));
    *out++ = '-';
    out = write_pair(static_cast<unsigned>(day.month()), out);
    *out++ = '-';
    return write_pair(static_cast<unsigned>(day.day()), out);
}

char* write_clock(std::int64_t seconds, std::int64_t fraction, std::int64_t per_second, char* out) noexcept {
    if (seconds < 0 || seconds >= day_seconds || fraction < 0)
        return write_words("beyond the day", out);
    const auto of_day = static_cast<unsigned>(seconds);
    out = write_pair(of_day / 3600, out);
    *out++ = ':';
    out = write_pair(of_day / 60 % 60, out);
    *out++ = ':';
    out = write_pair(of_day % 60, out);
    if (fraction == 0)
        return out;
    *out++ = '.';
    for (std::int64_t unit = per_second / 10; fraction > 0; unit /= 10) {
        *out++ = static_cast<char>('0' + static_cast<int>(fraction / unit));
        fraction %= unit;
    }
    return out;
}

char* write_time(std::int64_t count, std::int64_t per_second, char* out) noexcept {
    const std::int64_t per_day = day_seconds * per_second;
    std::int64_t days = count / per_day;
    std::int64_t of_day = count % per_day;
    if (of_day < 0)
        --days, of_day += per_day;
    out = write_date(days, out);
    *out++ = ' ';
    return write_clock(of_day / per_second, of_day % per_second, per_second, out);
}

char* write_real(float value, char* out) noexcept {
    return write_shortest(value, out);
}

char* write_real(double value, char* out) noexcept {
    // Tries four decimals first, which prices rarely exceed: a decimal number of at most 15 digits that
    // rounds to this double is its shortest text, and finding it this way is faster than to_chars.
    constexpr int scale = 4;
    constexpr double factor = 1e4;
    constexpr double most = 1e14;
    if (std::abs(value) < most / factor) {
        const auto rounded = static_cast<std::int64_t>(value * factor + std::copysign(0.5, value));
        if (static_cast<double>(rounded) / factor == value)
            return write_fixed(rounded, scale, out);
    }
    return write_shortest(value, out);
}

char* write_integer(std::int64_t value, char* out) noexcept {
    const std::uint64_t left = take_sign(value, out);
    return write_digits(left, count_digits(left), out);
}

char* write_integer(std::uint64_t value, char* out) noexcept {
    return write_digits(value, count_digits(value), out);
}

char* write_fixed(std::int64_t value, int scale, char* out) noexcept {
    std::uint64_t left = take_sign(value, out);
    for (; scale > 0 && left % 10 == 0; --scale)
        left /= 10;
    const std::uint64_t unit = powers_of_ten[static_cast<std::size_t>(scale)];
    const std::uint64_t whole = left / unit;
    out = write_digits(whole, count_digits(whole), out);
    if (scale == 0)
        return out;
    *out++ = '.';
    return write_digits(left % unit, scale, out);
}

void append_date(std::int64_t days, std::string& text) {
    append(text, [&](char* out) { return write_date(days, out); });
}
void append_clock(std::int64_t seconds, std::int64_t fraction, std::int64_t per_second, std::string& text) {
    append(text, [&](char* out) { return write_clock(seconds, fraction, per_second, out); });
}
void append_time(std::int64_t count, std::int64_t per_second, std::string& text) {
    append(text, [&](char* out) { return write_time(count, per_second, out); });
}
void append_real(float value, std::string& text) {
    append(text, [&](char* out) { return write_real(value, out); });
}
void append_real(double value, std::string& text) {
    append(text, [&](char* out) { return write_real(value, out); });
}
void append_integer(std::int64_t value, std::string& text) {
    append(text, [&](char* out) { return write_integer(value, out); });
}
void append_integer(std::uint64_t value, std::string& text) {
    append(text, [&](char* out) { return write_integer(value, out); });
}
void append_fixed(std::int64_t value, int scale, std::string& text) {
    append(text, [&](char* out) { return write_fixed(value, scale, out); });
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
    const auto plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != ',' && c != '"'; };
    if (std::ranges::all_of(value, plain)) {
        text += value;
        return;
    }
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
