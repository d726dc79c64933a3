#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/splits.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace rekindle::market {
namespace {

constexpr std::array<std::pair<int, int>, 12> known_ratios{
    {{3, 2}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {7, 1}, {8, 1}, {10, 1}, {15, 1}, {20, 1}, {25, 1}, {50, 1}}};
/// Log distance from the exact ratio: the overnight change of the shares themselves. It was 0.4 % to 2.4 % at
/// the splits of Apple (2020), Tesla (2022), Amazon (2022) and NVIDIA (2024); NVIDIA's fall of 31 % on
/// 2004-08-06, after its earnings, is 4.1 % from 3:2.
constexpr double tolerance = 0.035;
/// As a multiple of the median change: 8 std if the changes are normally distributed.
constexpr double unusual = 12;
constexpr Ticks fewest_ticks = 50;
constexpr std::int64_t longest_pause_before_split = 10 * day_seconds;
constexpr std::size_t max_named = 5;

/// The first and the last bar of a session's contract.
struct Ends {
    std::size_t first = 0, last = 0;
};

std::optional<Ends> ends_of(const BarColumns& bars, const Session& session) {
    std::size_t first = session.first, end = session.first + session.count;
    const auto held = [&](std::size_t i) {
        return session.contract == mixed_contracts || bars.contract[i] == session.contract;
    };
    while (first < end && !held(first))
        ++first;
    while (end > first && !held(end - 1))
        --end;
    return first < end ? std::optional(Ends{first, end - 1}) : std::nullopt;
}

/// The change from one session to the next.
struct Change {
    std::int32_t date = 0;
    Ticks before = 0, after = 0;
    double log_ratio = 0; ///< ln(before / after), positive for a fall
};

std::vector<Change> changes_between(const BarTable& table, std::span<const Session> sessions) {
    const BarColumns& bars = table.columns();
    const std::int64_t pause = std::max(longest_pause_before_split, 3 * table.metadata().bar_seconds);
    std::vector<Change> changes;
    std::optional<Ends> before;
    for (const Session& session : sessions) {
        const auto now = ends_of(bars, session);
        if (before && now && bars.contract[before->last] == bars.contract[now->first] &&
            bars.time[now->first] - bars.time[before->last] <= pause) {
            const Ticks close = bars.close[before->last], open = bars.open[now->first];
            if (close > 0 && open > 0)
                changes.push_back({session.date, close, open,
                                   std::log(static_cast<double>(close) / static_cast<double>(open))});
        }
        if (now)
            before = now;
    }
    return changes;
}

double usual_change(const std::vector<Change>& changes) {
    std::vector<double> sizes;
    for (const Change& change : changes)
        sizes.push_back(std::abs(change.log_ratio));
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    return *middle;
}

/// Shares after and before the split.
std::optional<std::pair<int, int>> nearest_ratio(double log_ratio) {
    for (const auto& [more, fewer] : known_ratios) {
        if (fewer > 1 && log_ratio < 0)
            continue; // nobody merges three shares into two
        if (std::abs(std::abs(log_ratio) - std::log(static_cast<double>(more) / fewer)) <= tolerance)
            return log_ratio > 0 ? std::pair(more, fewer) : std::pair(fewer, more);
    }
    return std::nullopt;
}

} // namespace

std::vector<SuspectedSplit> suspected_splits(const BarTable& bars, std::span<const Session> sessions) {
    const std::vector<Change> changes = changes_between(bars, sessions);
    std::vector<SuspectedSplit> splits;
    if (changes.empty())
        return splits;
    const double usual = usual_change(changes);
    for (const Change& change : changes) {
        const auto ratio = nearest_ratio(change.log_ratio);
        if (ratio && std::min(change.before, change.after) >= fewest_ticks &&
            (changes.size() < 5 || std::abs(change.log_ratio) >= unusual * usual))
            splits.push_back({change.date, ratio->first, ratio->second, change.before, change.after});
    }
    return splits;
}

std::string split_text(const SuspectedSplit& split) {
    return fmt::format("{}:{}{}", split.new_shares, split.old_shares,
                       split.new_shares < split.old_shares ? " reverse" : "");
}

std::string split_warning(std::span<const SuspectedSplit> splits, TickSize tick) {
    if (splits.empty())
        return "";
    std::string text;
    for (const SuspectedSplit& split : splits.first(std::min(splits.size(), max_named)))
        text +=
            fmt::format("{}{} opens at {:.6g} after a close of {:.6g}, which looks like a {} split",
                        text.empty() ? "" : "; ", format_date(split.date), tick.to_points(split.open_after),
                        tick.to_points(split.close_before), split_text(split));
    if (splits.size() > max_named)
        text += fmt::format("; and {}", counted(splits.size() - max_named, "more"));
    return text +
           ". If so, the prices are not adjusted for it, and every return and feature across it is wrong: "
           "use split-adjusted prices, or only the rows from that date on.";
}

} // namespace rekindle::market
