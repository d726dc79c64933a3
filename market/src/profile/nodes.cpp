#include "profile/levels.h"

#include <rekindle/market/volume_profile.h>

#include <algorithm>
#include <limits>

namespace rekindle::market {
namespace {

/// Levels first … last of equal smoothed volume.
struct Run {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t middle() const noexcept { return first + (last - first) / 2; }
};

/// Sums over 2 · half_width + 1 levels.
std::vector<std::int64_t> smoothed(std::span<const std::int64_t> volumes, std::size_t half_width) {
    std::vector<std::int64_t> sums(volumes.size());
    std::int64_t running = 0;
    for (std::size_t i = 0; i < std::min(half_width, volumes.size()); ++i)
        running += volumes[i];
    for (std::size_t i = 0; i < volumes.size(); ++i) {
        if (i + half_width < volumes.size())
            running += volumes[i + half_width];
        sums[i] = running;
        if (i >= half_width)
            running -= volumes[i - half_width];
    }
    return sums;
}

std::vector<Run> peaks_of(std::span<const std::int64_t> sums) {
    std::vector<Run> peaks;
    for (std::size_t first = 0; first < sums.size();) {
        std::size_t last = first;
        while (last + 1 < sums.size() && sums[last + 1] == sums[first])
            ++last;
        const bool above_left = first == 0 ? sums[first] > 0 : sums[first] > sums[first - 1];
        const bool above_right = last + 1 == sums.size() ? sums[first] > 0 : sums[first] > sums[last + 1];
        if (above_left && above_right)
            peaks.push_back({first, last});
        first = last + 1;
    }
    return peaks;
}

/// Of two equal peaks, the one with the lower price counts as higher.
std::int64_t prominence(std::span<const std::int64_t> sums, const Run& peak) {
    const std::int64_t height = sums[peak.first];
    std::int64_t left = height;
    std::size_t i = peak.first;
    while (i > 0 && sums[i - 1] < height)
        left = std::min(left, sums[--i]);
    if (i == 0)
        left = 0;
    std::int64_t right = height;
    std::size_t j = peak.last;
    while (j + 1 < sums.size() && sums[j + 1] <= height)
        right = std::min(right, sums[++j]);
    if (j + 1 == sums.size())
        right = 0;
    return height - std::max(left, right);
}

std::size_t valley_between(std::span<const std::int64_t> sums, const Run& left, const Run& right) {
    const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(left.last);
    const auto end = sums.begin() + static_cast<std::ptrdiff_t>(right.first);
    const auto lowest = std::min_element(begin, end);
    auto last = lowest;
    while (last + 1 != end && *(last + 1) == *lowest)
        ++last;
    return Run{static_cast<std::size_t>(lowest - sums.begin()), static_cast<std::size_t>(last - sums.begin())}
        .middle();
}

} // namespace

VolumeNodes VolumeProfile::nodes(const NodeRules& rules) const {
    VolumeNodes nodes;
    if (empty())
        return nodes;
    const std::vector<std::int64_t> sums =
        smoothed(volumes_, static_cast<std::size_t>(std::max(rules.half_width, 0)));
    const std::int64_t needed =
        profile::target_volume(*std::max_element(sums.begin(), sums.end()),
                               profile::share_in_millionths(rules.min_prominence, "node prominence"));
    std::vector<Run> kept;
    for (const Run& peak : peaks_of(sums))
        if (prominence(sums, peak) >= needed)
            kept.push_back(peak);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (i > 0)
            nodes.low.push_back(lowest_ + static_cast<Ticks>(valley_between(sums, kept[i - 1], kept[i])));
        nodes.high.push_back(lowest_ + static_cast<Ticks>(kept[i].middle()));
    }
    return nodes;
}

} // namespace rekindle::market
