#include "profile/levels.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace rekindle::market::profile {
namespace {

/// Twice the distance of a level from the middle of the profile.
std::size_t distance_to_middle(std::size_t level, std::size_t count) noexcept {
    const std::size_t twice = 2 * level;
    const std::size_t middle = count - 1;
    return twice < middle ? middle - twice : twice - middle;
}

LevelRange greedy_area(std::span<const std::int64_t> volumes, std::int64_t target, TieRule tie) {
    std::vector<std::size_t> order(volumes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
        return volumes[a] != volumes[b] ? volumes[a] > volumes[b] : comes_first(a, b, volumes.size(), tie);
    };
    std::sort(order.begin(), order.end(), before);
    LevelRange area{order.front(), order.front(), 0};
    std::int64_t taken = 0;
    for (const std::size_t level : order) {
        taken += volumes[level];
        area.low = std::min(area.low, level);
        area.high = std::max(area.high, level);
        if (taken >= target)
            break;
    }
    const auto inside = volumes.subspan(area.low, area.high - area.low + 1);
    area.volume = std::accumulate(inside.begin(), inside.end(), std::int64_t{0});
    return area;
}

/// Adds one level at a time, in runs: one side is extended as long as its next level is larger than the next
/// level of the other side, which does not change during the run.
LevelRange contiguous_area(std::span<const std::int64_t> volumes, std::size_t peak, std::int64_t target) {
    const std::size_t top = volumes.size() - 1;
    LevelRange area{peak, peak, volumes[peak]};
    while (area.volume < target && (area.high < top || area.low > 0)) {
        const std::int64_t below = area.low > 0 ? volumes[area.low - 1] : -1;
        while (area.volume < target && area.high < top && volumes[area.high + 1] >= below)
            area.volume += volumes[++area.high];
        const std::int64_t above = area.high < top ? volumes[area.high + 1] : -1;
        while (area.volume < target && area.low > 0 && volumes[area.low - 1] > above)
            area.volume += volumes[--area.low];
    }
    return area;
}

/// Dalton's method: compares the sums of the next two levels on either side (one level if only one is left).
LevelRange two_row_area(std::span<const std::int64_t> volumes, std::size_t peak, std::int64_t target) {
    LevelRange area{peak, peak, volumes[peak]};
    while (area.volume < target) {
        const std::size_t above = std::min<std::size_t>(2, volumes.size() - 1 - area.high);
        const std::size_t below = std::min<std::size_t>(2, area.low);
        if (above + below == 0)
            break;
        std::int64_t upper = above == 0 ? -1 : 0;
        for (std::size_t i = 1; i <= above; ++i)
            upper += volumes[area.high + i];
        std::int64_t lower = below == 0 ? -1 : 0;
        for (std::size_t i = 1; i <= below; ++i)
            lower += volumes[area.low - i];
        if (upper >= lower) {
            area.high += above;
            area.volume += upper;
        } else {
            area.low -= below;
            area.volume += lower;
        }
    }
    return area;
}

} // namespace

bool comes_first(std::size_t a, std::size_t b, std::size_t count, TieRule tie) noexcept {
    if (tie == TieRule::nearest_middle) {
        const std::size_t distance_a = distance_to_middle(a, count);
        const std::size_t distance_b = distance_to_middle(b, count);
        if (distance_a != distance_b)
            return distance_a < distance_b;
    }
    return a < b;
}

std::size_t peak(std::span<const std::int64_t> volumes, TieRule tie) noexcept {
    const std::int64_t most = *std::max_element(volumes.begin(), volumes.end());
    const auto lowest =
        static_cast<std::size_t>(std::find(volumes.begin(), volumes.end(), most) - volumes.begin());
    std::size_t best = lowest;
    if (tie == TieRule::nearest_middle)
        for (std::size_t i = lowest + 1; i < volumes.size(); ++i)
            if (volumes[i] == most && comes_first(i, best, volumes.size(), tie))
                best = i;
    return best;
}

std::int64_t share_in_millionths(double share, const char* name) {
    const double millionths = std::round(share * 1e6);
    if (!(millionths >= 1 && millionths <= 1e6))
        throw usage_error(std::string(name) + " " + shortest(share) + " is out of range")
            .expected("a share above 0 and at most 1");
    return static_cast<std::int64_t>(millionths);
}

std::int64_t target_volume(std::int64_t total, std::int64_t share_in_millionths) noexcept {
    constexpr std::int64_t million = 1'000'000;
    // Split as total = whole · 10^6 + rest, so that no product exceeds 64 bits.
    const std::int64_t whole = total / million;
    const std::int64_t rest = total % million;
    return whole * share_in_millionths + (rest * share_in_millionths + million - 1) / million;
}

LevelRange value_area(std::span<const std::int64_t> volumes, std::size_t peak, std::int64_t target,
                      ValueAreaMethod method, TieRule tie) {
    switch (method) {
    case ValueAreaMethod::greedy:
        return greedy_area(volumes, target, tie);
    case ValueAreaMethod::contiguous:
        return contiguous_area(volumes, peak, target);
    case ValueAreaMethod::two_row:
        return two_row_area(volumes, peak, target);
    }
    throw internal_error("unknown value area method");
}

} // namespace rekindle::market::profile
