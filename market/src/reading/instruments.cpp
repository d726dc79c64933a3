#include "reading/instruments.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/contract_identity.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market::reading {

namespace {

/// The largest plausible log price change of one instrument over a pause: 0.25 within a month, growing with
/// the square root of time.
double farthest_apart(std::int64_t seconds) {
    return 0.25 * std::sqrt(std::max(1.0, static_cast<double>(seconds) / (30.0 * day_seconds)));
}

/// After a longer pause, prices cannot show whether two files with similar names belong together.
constexpr std::int64_t adjacent = 31 * day_seconds;

/// Rows [begin, end) of one file, at least one.
struct FileRows {
    const InputFile* file = nullptr;
    std::uint64_t begin = 0, end = 0;
};

constexpr const char* chain_hint =
    "Read each instrument separately. If they are parts of one history, read them with "
    "--chain, or give them names that differ only in dates or numbers of parts, "
    "such as ES-2023.csv and ES-2024.csv. --several-instruments trains one model on all of them.";

Error different(const InputFile& one, const InputFile& other, const std::string& why,
                const char* hint = chain_hint) {
    return usage_error("different instruments: " + one.path.string() + " and " + other.path.string() + why)
        .expected("files of one instrument")
        .hint(hint);
}

/// Returns the earlier file's last row up to that time, or its first row if all are later.
std::uint64_t row_at(const FileRows& earlier, std::int64_t instant, const BarColumns& rows) {
    const auto time = rows.time.subspan(earlier.begin, earlier.end - earlier.begin);
    const auto after = std::upper_bound(time.begin(), time.end(), instant) - time.begin();
    return earlier.begin + static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(after, 1)) - 1;
}

/// Checks two files that follow each other.
void require_parts(const FileRows& earlier, const FileRows& later, const BarColumns& rows) {
    const std::string words = instrument_words(earlier.file->path);
    if (words != instrument_words(later.file->path))
        throw different(*earlier.file, *later.file,
                        ": their names do not say that they are parts of one history, and the bars name no "
                        "contract");
    const std::int64_t begins = rows.time[later.begin];
    const std::uint64_t before = row_at(earlier, begins, rows);
    if (!words.empty() && begins - rows.time[before] > adjacent)
        return;
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

void require_one_instrument(const std::vector<InputFile>& files, std::span<const std::uint64_t> starts,
                            const BarColumns& rows, const std::vector<CollectedContract>& contracts,
                            bool chain) {
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
                contracts[rows.contract[starts[static_cast<std::size_t>(named - files.data())]]].name + "\"",
            "Read the files separately, or choose the named contract with --contract NAME.");
    if (chain)
        return;
    std::stable_sort(nameless.begin(), nameless.end(), [&](const FileRows& a, const FileRows& b) {
        return rows.time[a.begin] < rows.time[b.begin];
    });
    for (std::size_t i = 1; i < nameless.size(); ++i)
        require_parts(nameless[i - 1], nameless[i], rows);
}

void require_same_prices(const InputFile& one, const InputFile& other, const BarColumns& rows,
                         std::uint64_t first, std::uint64_t second) {
    const auto a = static_cast<double>(rows.close[first]), b = static_cast<double>(rows.close[second]);
    const std::string words = instrument_words(one.path);
    const bool parts = !words.empty() && words == instrument_words(other.path);
    if (&one == &other || parts || std::abs(std::log(a / b)) <= 0.01)
        return;
    throw different(one, other,
                    ": bars of the same time, " + format_civil(rows.time[first]) + ", have different prices",
                    "Read the files separately.");
}

} // namespace rekindle::market::reading
