#include "profile/moving_histogram.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <algorithm>
#include <limits>

namespace rekindle::market::profile {
namespace {

ScaledBars scaled(const BarColumns& bars, TickSize tick, std::span<const std::int64_t> shift, bool uniform) {
    ScaledBars result;
    const auto offset = [&](std::size_t i) { return shift.empty() ? 0 : shift[i]; };
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < bars.size(); ++i) {
        lowest = std::min(lowest, bars.low[i] - offset(i));
        highest = std::max(highest, bars.high[i] - offset(i));
    }
    if (highest - lowest >= static_cast<std::int64_t>(max_profile_levels))
        throw usage_error("the volume profile would have " + with_thousands(highest - lowest + 1) +
                          " price levels")
            .expected("at most " + with_thousands(static_cast<std::int64_t>(max_profile_levels)))
            .hint("Check for a wrong price, or use a larger --tick than " + counted(tick.points, "point") +
                  ".");
    result.lowest = lowest;
    result.levels = static_cast<std::size_t>(highest - lowest + 1);
    result.low.resize(bars.size());
    result.high.resize(bars.size());
    result.share.reserve(uniform ? bars.size() : 0);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        result.low[i] = static_cast<std::int32_t>(bars.low[i] - offset(i) - lowest);
        result.high[i] = static_cast<std::int32_t>(bars.high[i] - offset(i) - lowest);
        if (uniform)
            result.share.push_back(uniform_share(bars.volume[i], bars.low[i], bars.high[i]));
    }
    return result;
}

} // namespace

MovingHistogram::MovingHistogram(const BarColumns& bars, TickSize tick, std::size_t window,
                                 const ProfileRules& rules, std::span<const std::int64_t> shift,
                                 bool exact_range)
    : columns_(bars), bars_(scaled(bars, tick, shift, rules.weighting == Weighting::uniform)),
      window_(window), tie_(rules.tie), exact_range_(exact_range), spread_(tick, rules.weighting),
      volumes_(bars_.levels), lowest_(exact_range ? bars.size() : 0),
      highest_(exact_range ? bars.size() : 0) {}

template <int sign>
void MovingHistogram::change(std::size_t i) {
    const auto low = static_cast<std::size_t>(bars_.low[i]);
    const auto high = static_cast<std::size_t>(bars_.high[i]);
    if (!bars_.share.empty()) {
        const std::int64_t share = sign * bars_.share[i];
        for (std::size_t level = low; level <= high; ++level)
            volumes_[level] += share;
        total_ += share * static_cast<std::int64_t>(high - low + 1);
        return;
    }
    auto level = volumes_.begin() + static_cast<std::ptrdiff_t>(low);
    for (const std::int64_t share : spread_.shares(columns_, i)) {
        *level++ += sign * share;
        total_ += sign * share;
    }
}

void MovingHistogram::cover(std::size_t i) {
    if (!exact_range_) {
        first_ = i == 0 ? bars_.low[i] : std::min(first_, bars_.low[i]);
        last_ = i == 0 ? bars_.high[i] : std::max(last_, bars_.high[i]);
        return;
    }
    const std::size_t oldest = i >= window_ ? i - window_ + 1 : 0;
    const auto lower = [&](std::size_t a, std::size_t b) { return bars_.low[a] < bars_.low[b]; };
    const auto higher = [&](std::size_t a, std::size_t b) { return bars_.high[a] > bars_.high[b]; };
    first_ = bars_.low[lowest_.push(i, oldest, lower)];
    last_ = bars_.high[highest_.push(i, oldest, higher)];
}

void MovingHistogram::search() {
    if (!exact_range_) {
        while (first_ < last_ && volumes_[static_cast<std::size_t>(first_)] == 0)
            ++first_;
        while (last_ > first_ && volumes_[static_cast<std::size_t>(last_)] == 0)
            --last_;
    }
    control_ = first_ + static_cast<std::int32_t>(peak(window(), tie_));
}

/// Only the levels of bar i have grown since the point of control was determined.
void MovingHistogram::compare(std::size_t i) noexcept {
    std::int64_t most = volumes_[static_cast<std::size_t>(control_)];
    for (std::int32_t level = bars_.low[i]; level <= bars_.high[i]; ++level) {
        const std::int64_t volume = volumes_[static_cast<std::size_t>(level)];
        if (volume > most || (volume == most && level < control_)) {
            most = volume;
            control_ = level;
        }
    }
}

void MovingHistogram::advance(std::size_t i) {
    bool lost = i == 0 || tie_ != TieRule::lowest;
    if (i >= window_) {
        const std::size_t leaving = i - window_;
        change<-1>(leaving);
        lost = lost || (control_ >= bars_.low[leaving] && control_ <= bars_.high[leaving]);
    }
    change<1>(i);
    cover(i);
    // A point of control without volume can end up outside the range.
    if (lost || control_ < first_ || control_ > last_)
        search();
    else
        compare(i);
}

} // namespace rekindle::market::profile
