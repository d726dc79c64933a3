#include "profile/levels.h"
#include "profile/moving_histogram.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/rolling_profile.h>

#include <algorithm>

namespace rekindle::market {
namespace {

using profile::MovingHistogram;

/// Throws if a window has more volume than a profile can hold.
void check_volumes(const BarColumns& bars, std::size_t window) {
    std::int64_t held = 0;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (i >= window)
            held -= bars.volume[i - window];
        if (bars.volume[i] > max_profile_volume - held)
            throw usage_error("too much volume in one window")
                .expected("at most " + with_thousands(max_profile_volume));
        held += bars.volume[i];
    }
}

template <class Result, class Read>
std::vector<Result> roll(const BarColumns& bars, TickSize tick, std::size_t window, const ProfileRules& rules,
                         std::span<const std::int64_t> shift, bool exact_range, Read read) {
    if (window == 0)
        throw usage_error("a rolling profile over 0 bars").expected("a window of at least 1 bar");
    if (!shift.empty() && shift.size() != bars.size())
        throw internal_error("rolling profile: the number of shifts differs from the number of bars");
    if (rules.compatibility != Compatibility::none)
        throw usage_error("rolling and developing profiles have no compatibility mode")
            .hint("The original system computed profiles of whole sessions only.");
    std::vector<Result> results;
    if (bars.size() == 0)
        return results;
    check_volumes(bars, window);
    results.reserve(bars.size());
    MovingHistogram histogram(bars, tick, window, rules, shift, exact_range);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        histogram.advance(i);
        results.push_back(read(histogram, i, shift.empty() ? 0 : shift[i]));
    }
    return results;
}

} // namespace

std::vector<MovingProfilePoint> rolling_profile(const BarColumns& bars, TickSize tick, std::size_t window,
                                                const ProfileRules& rules,
                                                std::span<const std::int64_t> shift) {
    const std::int64_t share = profile::share_in_millionths(rules.value_area_share, "value area share");
    const auto read = [&](const MovingHistogram& histogram, std::size_t i, std::int64_t offset) {
        const auto price = [&](std::size_t level) {
            return static_cast<Ticks>(histogram.base() + static_cast<std::int64_t>(level) + offset);
        };
        if (histogram.total() == 0)
            return MovingProfilePoint{bars.close[i], price(0), price(histogram.window().size() - 1)};
        const std::int64_t target = profile::target_volume(histogram.total(), share);
        const auto area =
            profile::value_area(histogram.window(), histogram.control(), target, rules.value_area, rules.tie);
        return MovingProfilePoint{price(histogram.control()), price(area.low), price(area.high)};
    };
    return roll<MovingProfilePoint>(bars, tick, window, rules, shift, true, read);
}

std::vector<Ticks> rolling_point_of_control(const BarColumns& bars, TickSize tick, std::size_t window,
                                            const ProfileRules& rules, std::span<const std::int64_t> shift) {
    const auto read = [&](const MovingHistogram& histogram, std::size_t i, std::int64_t offset) {
        if (histogram.total() == 0)
            return bars.close[i];
        return static_cast<Ticks>(histogram.base() + static_cast<std::int64_t>(histogram.control()) + offset);
    };
    return roll<Ticks>(bars, tick, window, rules, shift, rules.tie != TieRule::lowest, read);
}

std::vector<MovingProfilePoint> developing_profile(const BarColumns& bars, TickSize tick,
                                                   const ProfileRules& rules) {
    return rolling_profile(bars, tick, std::max<std::size_t>(bars.size(), 1), rules);
}

} // namespace rekindle::market
