#include "profile/levels.h"
#include "profile/spread.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/volume_profile.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace rekindle::market {
namespace {

bool counts(const BarColumns& bars, std::size_t i, std::uint16_t contract) noexcept {
    return contract == mixed_contracts || bars.contract[i] == contract;
}

/// The price range and volume that a profile needs for the bars.
struct Extent {
    Ticks low = 0;
    Ticks high = 0;
    std::int64_t volume = 0;
};

[[noreturn]] void throw_too_much_volume() {
    throw usage_error("too much volume in one profile")
        .expected("at most " + with_thousands(max_profile_volume));
}

/// The sum of two volumes; throws if a profile cannot hold it.
std::int64_t add_volume(std::int64_t sum, std::int64_t volume) {
    if (volume > max_profile_volume - sum)
        throw_too_much_volume();
    return sum + volume;
}

std::optional<Extent> extent_of(const BarColumns& bars, std::uint16_t contract, std::int64_t volume) {
    std::optional<Extent> extent;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (!counts(bars, i, contract))
            continue;
        if (!extent)
            extent = Extent{bars.low[i], bars.high[i], volume};
        extent->low = std::min(extent->low, bars.low[i]);
        extent->high = std::max(extent->high, bars.high[i]);
        extent->volume = add_volume(extent->volume, bars.volume[i]);
    }
    return extent;
}

/// Spreads many bars uniformly: two writes per bar into an array of differences, then one running sum.
void add_uniform(std::span<std::int64_t> volumes, Ticks lowest, const BarColumns& bars,
                 std::uint16_t contract) {
    std::vector<std::int64_t> differences(volumes.size() + 1);
    const std::int64_t first = lowest;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (!counts(bars, i, contract))
            continue;
        const std::int64_t share = profile::uniform_share(bars.volume[i], bars.low[i], bars.high[i]);
        differences[static_cast<std::size_t>(bars.low[i] - first)] += share;
        differences[static_cast<std::size_t>(bars.high[i] - first + 1)] -= share;
    }
    std::int64_t running = 0;
    for (std::size_t level = 0; level < volumes.size(); ++level) {
        running += differences[level];
        volumes[level] += running;
    }
}

} // namespace

void VolumeProfile::cover(Ticks low, Ticks high) {
    const Ticks bottom = empty() ? low : std::min(low, lowest_);
    const Ticks top = empty() ? high : std::max(high, highest());
    const std::int64_t levels = static_cast<std::int64_t>(top) - bottom + 1;
    if (levels > static_cast<std::int64_t>(max_profile_levels))
        throw usage_error("the volume profile would have " + with_thousands(levels) + " price levels")
            .expected("at most " + with_thousands(static_cast<std::int64_t>(max_profile_levels)))
            .hint("Check for a wrong price, or use a larger --tick than " + counted(tick_.points, "point") +
                  ".");
    if (!empty())
        volumes_.insert(volumes_.begin(),
                        static_cast<std::size_t>(static_cast<std::int64_t>(lowest_) - bottom), 0);
    volumes_.resize(static_cast<std::size_t>(levels));
    lowest_ = bottom;
}

void VolumeProfile::add(const BarColumns& bars) {
    add(bars, mixed_contracts);
}

void VolumeProfile::add(const BarColumns& bars, std::uint16_t contract) {
    const std::optional<Extent> extent = extent_of(bars, contract, total_volume_);
    if (!extent)
        return;
    cover(extent->low, extent->high);
    total_volume_ = extent->volume;
    // With fewer bars, the running sum over all levels would cost more than it saves.
    if (weighting_ == Weighting::uniform && bars.size() >= volumes_.size() / 16) {
        add_uniform(volumes_, lowest_, bars, contract);
        return;
    }
    profile::BarSpread spread(tick_, weighting_);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (!counts(bars, i, contract))
            continue;
        auto level = volumes_.begin() + (static_cast<std::int64_t>(bars.low[i]) - lowest_);
        for (const std::int64_t share : spread.shares(bars, i))
            *level++ += share;
    }
}

void VolumeProfile::add(const VolumeProfile& other) {
    if (other.tick_ != tick_ || other.weighting_ != weighting_)
        throw internal_error("volume profiles of different tick or weighting cannot be added");
    if (other.empty())
        return;
    const std::int64_t volume = add_volume(total_volume_, other.total_volume_);
    cover(other.lowest_, other.highest());
    total_volume_ = volume;
    auto level = volumes_.begin() + (static_cast<std::int64_t>(other.lowest_) - lowest_);
    for (const std::int64_t share : other.volumes_)
        *level++ += share;
}

std::int64_t VolumeProfile::volume_at(Ticks price) const noexcept {
    const std::int64_t level = static_cast<std::int64_t>(price) - lowest_;
    return level >= 0 && level < static_cast<std::int64_t>(volumes_.size())
               ? volumes_[static_cast<std::size_t>(level)]
               : 0;
}

Ticks VolumeProfile::point_of_control(TieRule tie) const {
    return lowest_ + static_cast<Ticks>(profile::peak(volumes_, tie));
}

ValueArea VolumeProfile::value_area(ValueAreaMethod method, TieRule tie, double share) const {
    // The sum over all levels is at most total_volume_ · 2^16 <= 2^62, so 64-bit sums cannot overflow.
    const std::int64_t held = std::accumulate(volumes_.begin(), volumes_.end(), std::int64_t{0});
    const std::int64_t target =
        profile::target_volume(held, profile::share_in_millionths(share, "value area share"));
    const auto area = profile::value_area(volumes_, profile::peak(volumes_, tie), target, method, tie);
    return {lowest_ + static_cast<Ticks>(area.low), lowest_ + static_cast<Ticks>(area.high), area.volume};
}

} // namespace rekindle::market
