#include "reading/instruments.h"

#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace rekindle::market::reading {

namespace {

/// Whether a word cannot name an instrument: "1m", "h4", "5min", "1440", "2024", "20240105", "jan",
/// "jan2024", "daily".
bool is_common_word(std::string_view word) {
    constexpr std::array words{
        "jan",    "feb",       "mar",     "apr",        "may",      "jun",     "jul",   "aug",    "sep",
        "oct",    "nov",       "dec",     "january",    "february", "march",   "april", "june",   "july",
        "august", "september", "october", "november",   "december", "q",       "m",     "h",      "d",
        "w",      "s",         "min",     "mins",       "minute",   "minutes", "hour",  "hourly", "hours",
        "day",    "daily",     "days",    "week",       "weekly",   "tf",      "data",  "bars",   "bar",
        "ohlc",   "ohlcv",     "history", "historical", "export",   "part",    "to",    "from",   "last"};
    const std::size_t first = std::min(word.find_first_not_of("0123456789"), word.size());
    const std::string_view rest = word.substr(first);
    const std::string_view letters = rest.substr(0, rest.find_last_not_of("0123456789") + 1);
    return letters.empty() || std::find(words.begin(), words.end(), letters) != words.end();
}

/// The largest plausible log price change of one instrument over a pause: 0.25 within a month, growing with
/// the square root of time.
double farthest_apart(std::int64_t seconds) {
    return 0.25 * std::sqrt(std::max(1.0, static_cast<double>(seconds) / (30.0 * day_seconds)));
}

/// Rows [begin, end) of one file, at least one.
struct FileRows {
    const InputFile* file = nullptr;
    std::uint64_t begin = 0, end = 0;
};

Error different(const InputFile& one, const InputFile& other, const std::string& why) {
    return usage_error("different instruments: " + one.path.string() + " and " + other.path.string() + why)
        .expected("files of one instrument")
        .hint("Read each instrument separately. Give files of one instrument similar names, such as "
              "ES-2023.csv and ES-2024.csv.");
}

void require_joint(const FileRows& earlier, const FileRows& later, const BarColumns& rows) {
    const auto time = rows.time.subspan(earlier.begin, earlier.end - earlier.begin);
    const std::int64_t begins = rows.time[later.begin];
    const auto after = std::upper_bound(time.begin(), time.end(), begins) - time.begin();
    const std::uint64_t before =
        earlier.begin + static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(after, 1)) - 1;
    const auto left = static_cast<double>(rows.close[before]),
               joined = static_cast<double>(rows.open[later.begin]);
    if (left > 0 && joined > 0 &&
        std::abs(std::log(joined / left)) <= farthest_apart(begins - rows.time[before]))
        return;
    throw different(*earlier.file, *later.file,
                    " do not line up: the price changes by a factor of " +
                        shortest(std::round(100 * std::max(joined / left, left / joined)) / 100) + " on " +
                        format_date(date_of(begins)));
}

} // namespace

std::string instrument_words(const std::filesystem::path& path) {
    std::string name = path.filename().string();
    for (const std::string_view ending : {".gz", ".csv", ".txt"})
        if (name.ends_with(ending))
            name.resize(name.size() - ending.size());
    std::string words, word;
    const auto end_word = [&] {
        if (!word.empty() && !is_common_word(word))
            words += (words.empty() ? "" : " ") + word;
        word.clear();
    };
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x80 || std::isalnum(byte))
            word += static_cast<char>(std::tolower(byte));
        else
            end_word();
    }
    end_word();
    return words;
}

void require_one_instrument(const std::vector<InputFile>& files, std::span<const std::uint64_t> starts,
                            const BarColumns& rows, const std::vector<CollectedContract>& contracts) {
    std::vector<FileRows> nameless;
    const InputFile* named = nullptr;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::uint64_t end = i + 1 < starts.size() ? starts[i + 1] : rows.size();
        if (starts[i] == end)
            continue;
        if (contracts[rows.contract[starts[i]]].name.empty())
            nameless.push_back({&files[i], starts[i], end});
        else if (!named)
            named = &files[i];
    }
    if (named && !nameless.empty())
        throw different(
            *nameless.front().file, *named,
            ": the first names no contract, the second belongs to \"" +
                contracts[rows.contract[starts[static_cast<std::size_t>(named - files.data())]]].name + "\"");
    std::stable_sort(nameless.begin(), nameless.end(), [&](const FileRows& a, const FileRows& b) {
        return rows.time[a.begin] < rows.time[b.begin];
    });
    for (std::size_t i = 1; i < nameless.size(); ++i)
        if (instrument_words(nameless[i - 1].file->path) != instrument_words(nameless[i].file->path))
            require_joint(nameless[i - 1], nameless[i], rows);
}

void require_same_prices(const InputFile& one, const InputFile& other, const BarColumns& rows,
                         std::uint64_t first, std::uint64_t second) {
    const auto a = static_cast<double>(rows.close[first]), b = static_cast<double>(rows.close[second]);
    if (&one == &other || std::abs(std::log(a / b)) <= 0.01 ||
        instrument_words(one.path) == instrument_words(other.path))
        return;
    throw different(one, other,
                    ": bars of the same time, " + format_civil(rows.time[first]) + ", have different prices");
}

} // namespace rekindle::market::reading
