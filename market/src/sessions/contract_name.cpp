#include "sessions/instrument.h"

#include <rekindle/market/clock.h>
#include <rekindle/market/rolls.h>

#include <algorithm>

namespace rekindle::market {
namespace {

bool all_digits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Reads "25" and "2025"; two digits mean 1970 to 2069.
std::optional<int> year_of(std::string_view text) {
    if (!all_digits(text) || (text.size() != 2 && text.size() != 4))
        return std::nullopt;
    int year = 0;
    for (const char digit : text)
        year = year * 10 + (digit - '0');
    if (text.size() == 2)
        return year < 70 ? 2000 + year : 1900 + year;
    return year >= 1970 && year < 2200 ? std::optional(year) : std::nullopt;
}

std::int32_t third_friday(int year, int month) {
    const std::int32_t first = make_date(year, month, 1);
    const int to_friday = (4 - weekday_of(first) + 7) % 7;
    return first + to_friday + 14;
}

} // namespace

std::optional<std::int32_t> contract_expiry(std::string_view name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1; // 0 when all are digits
    const auto year = year_of(name.substr(digits));
    if (!year || digits < 2)
        return std::nullopt;
    const std::string_view before = name.substr(0, digits);
    // "ES 03-25" and "ES_03_22"
    if (before.back() == '-' || before.back() == '_') {
        if (before.size() < 4 || !all_digits(before.substr(before.size() - 3, 2)) ||
            (before[before.size() - 4] != ' ' && before[before.size() - 4] != '_'))
            return std::nullopt;
        const int month = (before[before.size() - 3] - '0') * 10 + (before[before.size() - 2] - '0');
        if (month < 1 || month > 12)
            return std::nullopt;
        return third_friday(*year, month);
    }
    // "ESH25"
    const std::size_t month = month_letters.find(before.back());
    if (month == std::string_view::npos)
        return std::nullopt;
    return third_friday(*year, static_cast<int>(month) + 1);
}

} // namespace rekindle::market
