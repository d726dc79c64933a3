#include "profile/levels.h"
#include "profile/spread.h"

#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/market/rolling_profile.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace rekindle::market {
namespace {

/// The extreme of the last bars: indices whose values are strictly better than all after them, best first.
class WindowExtreme {
  public:
    explicit WindowExtreme(std::size_t bars) : queue_(bars) {}
    template <class Better>
    std::size_t push(std::size_t i, std::size_t oldest, Better better) {
        while (end_ > begin_ && !better(queue_[end_ - 1], i))
            --end_;
        queue_[end_++] = i;
        while (queue_[begin_] < oldest)
            ++begin_;
        return queue_[begin_];
    }

  private:
    std::vector<std::size_t> queue_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

/// Bars on one scale, as levels above the lowest of them.
struct Scaled {
    std::vector<std::int32_t> low;
    std::vector<std::int32_t> high;
    std::int64_t lowest = 0;
    std::size_t levels = 0;
};

Scaled scaled(const BarColumns& bars, TickSize tick, std::span<const std::int64_t> shift) {
    Scaled result;
    const auto offset = [&](std::size_t i) { return shift.empty() ? 0 : shift[i]; };
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < bars.size(); ++i) {
        lowest = std::min(lowest, bars.low[i] - offset(i));
        highest = std::max(highest, bars.high[i] - offset(i));
    }
    if (highest - lowest >= static_cast<std::int64_t>(most_profile_levels))
        throw usage_error("a volume profile of " + with_thousands(highest - lowest + 1) + " price levels")
            .expected("at most " + with_thousands(static_cast<std::int64_t>(most_profile_levels)))
            .hint("Look for a wrong price, or choose a larger --tick than " + shortest(tick.points) +
                  " points.");
    result.lowest = lowest;
    result.levels = static_cast<std::size_t>(highest - lowest + 1);
    result.low.resize(bars.size());
    result.high.resize(bars.size());
    for (std::size_t i = 0; i < bars.size(); ++i) {
        result.low[i] = static_cast<std::int32_t>(bars.low[i] - offset(i) - lowest);
        result.high[i] = static_cast<std::int32_t>(bars.high[i] - offset(i) - lowest);
    }
    return result;
}

/// The most volume that one window holds is at most the volume of all bars; a longer file is checked per
/// window.
void check_volumes(const BarColumns& bars, std::size_t window) {
    std::int64_t held = 0;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (i >= window)
            held -= bars.volume[i - window];
        if (bars.volume[i] > largest_profile_volume - held)
            throw usage_error("more volume in one window than a profile can hold")
                .expected("at most " + with_thousands(largest_profile_volume));
        held += bars.volume[i];
    }
}

/// A histogram over all levels of the bars with its point of control and the range of the window.
class MovingHistogram {
  public:
    MovingHistogram(const BarColumns& bars, TickSize tick, std::size_t window, const ProfileRules& rules,
                    std::span<const std::int64_t> shift)
        : bars_(bars), scaled_(scaled(bars, tick, shift)), window_(window), tie_(rules.tie),
          uniform_(rules.weighting == Weighting::uniform), spread_(tick, rules.weighting),
          volumes_(scaled_.levels), lowest_(bars.size()), highest_(bars.size()) {}

    /// Moves on to bar i; bars must be visited in order.
    void advance(std::size_t i) {
        const std::size_t oldest = i >= window_ ? i - window_ + 1 : 0;
        bool search = tie_ != TieRule::lowest || i == 0;
        if (i >= window_) {
            change<-1>(i - window_);
            search =
                search || (control_ >= scaled_.low[i - window_] && control_ <= scaled_.high[i - window_]);
        }
        change<1>(i);
        first_ = scaled_.low[lowest_.push(
            i, oldest, [&](std::size_t a, std::size_t b) { return scaled_.low[a] < scaled_.low[b]; })];
        last_ = scaled_.high[highest_.push(
            i, oldest, [&](std::size_t a, std::size_t b) { return scaled_.high[a] > scaled_.high[b]; })];
        // The old point of control may lie outside the new window when it held no volume.
        if (search || control_ < first_ || control_ > last_)
            control_ = first_ + static_cast<std::int32_t>(profile::peak(window(), tie_));
        else
            compare(i);
    }

    std::span<const std::int64_t> window() const noexcept {
        return std::span(volumes_).subspan(static_cast<std::size_t>(first_),
                                           static_cast<std::size_t>(last_ - first_ + 1));
    }
    /// The point of control as a level of window().
    std::size_t control() const noexcept { return static_cast<std::size_t>(control_ - first_); }
    /// Price of level 0 of window() on the common scale.
    std::int64_t base() const noexcept { return scaled_.lowest + first_; }
    /// Sum of window().
    std::int64_t total() const noexcept { return total_; }
    /// Volume of the window's bars.
    std::int64_t volume() const noexcept { return volume_; }

  private:
    template <int sign>
    void change(std::size_t i) {
        const auto low = static_cast<std::size_t>(scaled_.low[i]);
        const auto high = static_cast<std::size_t>(scaled_.high[i]);
        volume_ += sign * bars_.volume[i];
        if (uniform_) {
            const std::int64_t share =
                sign * profile::uniform_share(bars_.volume[i], bars_.low[i], bars_.high[i]);
            for (std::size_t level = low; level <= high; ++level)
                volumes_[level] += share;
            total_ += share * static_cast<std::int64_t>(high - low + 1);
            return;
        }
        auto level = volumes_.begin() + static_cast<std::ptrdiff_t>(low);
        for (const std::int64_t share : spread_.shares(bars_, i)) {
            *level++ += sign * share;
            total_ += sign * share;
        }
    }

    /// Only the levels of bar i have grown since the point of control was the first of the largest.
    void compare(std::size_t i) noexcept {
        std::int64_t most = volumes_[static_cast<std::size_t>(control_)];
        for (std::int32_t level = scaled_.low[i]; level <= scaled_.high[i]; ++level) {
            const std::int64_t volume = volumes_[static_cast<std::size_t>(level)];
            if (volume > most || (volume == most && level < control_)) {
                most = volume;
                control_ = level;
            }
        }
    }

    const BarColumns bars_;
    const Scaled scaled_;
    const std::size_t window_;
    const TieRule tie_;
    const bool uniform_;
    profile::BarSpread spread_;
    std::vector<std::int64_t> volumes_;
    WindowExtreme lowest_;
    WindowExtreme highest_;
    std::int32_t control_ = 0;
    std::int32_t first_ = 0;
    std::int32_t last_ = 0;
    std::int64_t total_ = 0;
    std::int64_t volume_ = 0;
};

template <class Result, class Read>
std::vector<Result> roll(const BarColumns& bars, TickSize tick, std::size_t window, const ProfileRules& rules,
                         std::span<const std::int64_t> shift, Read read) {
    if (window == 0)
        throw usage_error("a rolling profile over 0 bars").expected("a window of 1 bar or more");
    if (!shift.empty() && shift.size() != bars.size())
        throw internal_error("rolling profile: as many shifts as bars are needed");
    if (rules.compatibility != Compatibility::none)
        throw usage_error("rolling and developing profiles have no compatibility mode")
            .hint("The original system made profiles of whole sessions only.");
    std::vector<Result> results;
    if (bars.size() == 0)
        return results;
    check_volumes(bars, window);
    results.reserve(bars.size());
    MovingHistogram histogram(bars, tick, window, rules, shift);
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
        if (histogram.volume() == 0)
            return MovingProfilePoint{bars.close[i], price(0), price(histogram.window().size() - 1)};
        const std::int64_t target = profile::target_volume(histogram.total(), share);
        const auto area =
            profile::value_area(histogram.window(), histogram.control(), target, rules.value_area, rules.tie);
        return MovingProfilePoint{price(histogram.control()), price(area.low), price(area.high)};
    };
    return roll<MovingProfilePoint>(bars, tick, window, rules, shift, read);
}

std::vector<Ticks> rolling_point_of_control(const BarColumns& bars, TickSize tick, std::size_t window,
                                            const ProfileRules& rules, std::span<const std::int64_t> shift) {
    const auto read = [&](const MovingHistogram& histogram, std::size_t i, std::int64_t offset) {
        if (histogram.volume() == 0)
            return bars.close[i];
        return static_cast<Ticks>(histogram.base() + static_cast<std::int64_t>(histogram.control()) + offset);
    };
    return roll<Ticks>(bars, tick, window, rules, shift, read);
}

std::vector<MovingProfilePoint> developing_profile(const BarColumns& bars, TickSize tick,
                                                   const ProfileRules& rules) {
    return rolling_profile(bars, tick, std::max<std::size_t>(bars.size(), 1), rules);
}

} // namespace rekindle::market
