#include <rekindle/market/arrow_table.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/contract_identity.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace rekindle::market {
namespace {

/// Words that describe a file's contents but not its instrument. Combined with digits, some are bar lengths
/// or dates: "1m", "h4", "5min", "2024q1", "jan2024".
constexpr std::array common_words{
    "jan",        "feb",     "mar",        "apr",       "may",        "jun",      "jul",      "aug",
    "sep",        "oct",     "nov",        "dec",       "january",    "february", "march",    "april",
    "june",       "july",    "august",     "september", "october",    "november", "december", "q",
    "m",          "h",       "d",          "w",         "s",          "sec",      "second",   "seconds",
    "min",        "mins",    "minute",     "minutes",   "hour",       "hourly",   "hours",    "day",
    "daily",      "days",    "eod",        "intraday",  "week",       "weekly",   "weeks",    "month",
    "monthly",    "months",  "year",       "yearly",    "years",      "tf",       "data",     "bars",
    "bar",        "ohlc",    "ohlcv",      "history",   "historical", "export",   "download", "part",
    "parts",      "file",    "chunk",      "to",        "from",       "until",    "last",     "first",
    "next",       "old",     "older",      "new",       "newer",      "newest",   "latest",   "live",
    "recent",     "current", "today",      "yesterday", "train",      "training", "test",     "testing",
    "val",        "valid",   "validation", "sample",    "merged",     "combined", "full",     "all",
    "raw",        "table",   "clean",      "cleaned",   "copy",       "backup",   "adj",      "adjusted",
    "unadjusted", "rth",     "eth",        "price",     "prices",     "quotes",   "update",   "updated",
    "csv",        "txt"};

bool is_number(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int value_of(std::string_view digits) {
    int value = 0;
    for (const char digit : digits)
        value = value * 10 + (digit - '0');
    return value;
}

bool is_year(std::string_view digits) {
    return digits.size() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
}

bool is_month_and_day(std::string_view digits) {
    const int month = value_of(digits.substr(0, 2)), day = value_of(digits.substr(2, 2));
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/// 20240115, with or without a time after it; 202401; 240115
bool is_number_of_date(std::string_view digits) {
    if (digits.size() == 8 || digits.size() == 12 || digits.size() == 14)
        return is_year(digits.substr(0, 4)) && is_month_and_day(digits.substr(4, 4));
    if (digits.size() != 6)
        return false;
    const int month = value_of(digits.substr(4, 2)), year = value_of(digits.substr(0, 2));
    if (is_year(digits.substr(0, 4)) && month >= 1 && month <= 12)
        return true;
    return (year < 40 || year >= 70) &&
           is_month_and_day(digits.substr(2, 4)); // 600519 is a stock of Shanghai
}

/// A date, the number of a part, minutes of a bar, or a time after a date; other numbers name stocks in Asia.
bool is_common_number(std::string_view digits, bool after_date) {
    if (digits.size() <= 3 || is_year(digits) || is_number_of_date(digits))
        return true;
    if (after_date && (digits.size() == 4 || digits.size() == 6))
        return true;
    return digits == "1440" || digits == "10080" || digits == "43200"; // MetaTrader's day, week and month
}

bool is_common_word(std::string_view word, bool first) {
    const std::size_t begin = std::min(word.find_first_not_of("0123456789"), word.size());
    const std::string_view rest = word.substr(begin);
    const std::string_view letters = rest.substr(0, rest.find_last_not_of("0123456789") + 1);
    if (first && word.size() == 1)
        return false; // M.csv is Macy's
    return std::ranges::find(common_words, letters) != common_words.end();
}

std::vector<std::string> words_in(std::string_view name) {
    std::vector<std::string> words(1);
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x80 || std::isalnum(byte))
            words.back() += static_cast<char>(std::tolower(byte));
        else if (!words.back().empty())
            words.emplace_back();
    }
    if (words.back().empty())
        words.pop_back();
    return words;
}

} // namespace

std::string instrument_words(const std::filesystem::path& file) {
    std::string name = file.filename().string();
    if (is_memory_path(name))
        name.erase(0, memory_path_prefix.size());
    for (const std::string_view ending : {".gz", ".zst", ".zip", ".csv", ".txt", ".parquet", ".scid", ".dbn"})
        if (name.ends_with(ending))
            name.resize(name.size() - ending.size());
    std::string words;
    bool first = true, after_date = false;
    for (const std::string& word : words_in(name)) {
        const bool digits = is_number(word);
        if (digits ? !is_common_number(word, after_date) : !is_common_word(word, first))
            words += (words.empty() ? "" : " ") + word;
        after_date = digits && word.size() == 8 && is_number_of_date(word);
        first = false;
    }
    return words;
}

} // namespace rekindle::market
