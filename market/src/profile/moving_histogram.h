#pragma once
/// The histogram of a window of bars that moves forward bar by bar.

#include "profile/levels.h"
#include "profile/spread.h"

#include <rekindle/market/volume_profile.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::market::profile {

/// Tracks the extreme of the last bars: a queue of the indices whose values are strictly better than all
/// later ones, best first.
class WindowExtreme {
  public:
    explicit WindowExtreme(std::size_t bars) : queue_(bars) {}
    /// Adds bar i and drops those before `oldest`; returns the bar with the extreme value.
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

/// Bars on one scale, as levels above the lowest price.
struct ScaledBars {
    std::vector<std::int32_t> low;
    std::vector<std::int32_t> high;
    std::vector<std::int64_t> share; ///< per level; empty unless bars are spread uniformly
    std::int64_t lowest = 0;
    std::size_t levels = 0;
};

/// Histogram, point of control and range of the last `window` bars.
class MovingHistogram {
  public:
    /// With `exact_range`, window() covers exactly the range from the lowest low to the highest high. Without
    /// it, window() may have levels without volume at its ends, which is faster. TieRule::nearest_middle
    /// needs the exact range.
    MovingHistogram(const BarColumns& bars, TickSize tick, std::size_t window, const ProfileRules& rules,
                    std::span<const std::int64_t> shift, bool exact_range);

    /// Advances to bar i. Bars must be visited in order, starting with 0.
    void advance(std::size_t i);

    std::span<const std::int64_t> window() const noexcept {
        return std::span(volumes_).subspan(static_cast<std::size_t>(first_),
                                           static_cast<std::size_t>(last_ - first_) + 1);
    }
    /// The point of control as a level of window().
    std::size_t control() const noexcept { return static_cast<std::size_t>(control_ - first_); }
    /// Price of level 0 of window() on the common scale.
    std::int64_t base() const noexcept { return bars_.lowest + first_; }
    /// Sum of window().
    std::int64_t total() const noexcept { return total_; }

  private:
    template <int sign>
    void change(std::size_t i);
    void cover(std::size_t i);
    void search();
    void compare(std::size_t i) noexcept;

    const BarColumns columns_;
    const ScaledBars bars_;
    const std::size_t window_;
    const TieRule tie_;
    const bool exact_range_;
    BarSpread spread_;
    std::vector<std::int64_t> volumes_;
    WindowExtreme lowest_;
    WindowExtreme highest_;
    std::int32_t control_ = 0;
    std::int32_t first_ = 0;
    std::int32_t last_ = 0;
    std::int64_t total_ = 0;
};

} // namespace rekindle::market::profile
