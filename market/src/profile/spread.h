#pragma once
/// Spreads a bar's volume over its price levels, in units of 2^-16.

#include <rekindle/market/bars.h>
#include <rekindle/market/profile_rules.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::market::profile {

/// The share of each level of a uniformly spread bar. Preconditions: 0 <= volume <= max_profile_volume,
/// low <= high.
inline std::int64_t uniform_share(std::int64_t volume, Ticks low, Ticks high) noexcept {
    const auto levels = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - low + 1);
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(volume) << volume_fraction_bits) / levels);
}

/// Computes the shares of one bar after another. Not thread-safe: it keeps a table and the shares of the last
/// bar.
class BarSpread {
  public:
    BarSpread(TickSize tick, Weighting weighting) : tick_(tick), weighting_(weighting) {}

    /// Shares of low, low + 1 tick, …, high of bar i; valid until the next call.
    /// Preconditions: 0 <= volume <= max_profile_volume, at most max_profile_levels levels.
    std::span<const std::int64_t> shares(const BarColumns& bars, std::size_t i);

  private:
    /// floor(2^24 / (1 + distance in points)).
    std::int64_t proximity(std::int64_t ticks) const noexcept {
        return proximities_[static_cast<std::size_t>(ticks)];
    }
    void weigh(const BarColumns& bars, std::size_t i);

    TickSize tick_;
    Weighting weighting_;
    std::vector<std::int64_t> proximities_;
    std::vector<std::int64_t> shares_;
};

} // namespace rekindle::market::profile
