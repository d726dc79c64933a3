#pragma once
/// The volume profile: how much volume traded at each price, and the figures derived from it.
///
/// A bar says how much traded between its low and its high, but not at which prices. Its volume is therefore
/// spread over the price levels low, low + 1 tick, …, high by one of three weightings. All arithmetic uses
/// whole ticks and volumes in units of 2^-16. Sums are exact, so the result does not depend on order, chunks
/// or threads, and subtracting a bar exactly undoes adding it.

#include <rekindle/base/thread_pool.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/profile_rules.h>
#include <rekindle/market/session.h>
#include <rekindle/market/session_summary.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::market {

/// Prices low … high, both inclusive, and the volume in that range in units of 2^-16.
struct ValueArea {
    Ticks low = 0;
    Ticks high = 0;
    std::int64_t volume = 0;
    friend bool operator==(const ValueArea&, const ValueArea&) = default;
};

/// What counts as a node. The profile is smoothed first: s(p) is the sum of the volumes of p - half_width … p
/// + half_width. A high volume node is a peak of s whose prominence is at least min_prominence times the
/// highest s. The prominence of a peak is its height above the higher of the two lowest points that separate
/// it from higher peaks on either side (or from the end of the profile, where s is 0, if there is no higher
/// peak). For a flat peak, the lower middle is reported. Between two neighboring high volume nodes there is
/// one low volume node: the price of the lowest s between them (the lower middle of the first such run).
struct NodeRules {
    int half_width = 2;           ///< ticks, >= 0
    double min_prominence = 0.05; ///< (0, 1]
    friend bool operator==(const NodeRules&, const NodeRules&) = default;
};

/// In price order.
struct VolumeNodes {
    std::vector<Ticks> high;
    std::vector<Ticks> low; ///< one fewer than high
    friend bool operator==(const VolumeNodes&, const VolumeNodes&) = default;
};

/// Volume by price. A bar of volume v over n levels adds floor(v · 2^16 / n) units to each level (uniform);
/// the remainder, less than one unit per level, is dropped. For the other weightings each term of the weight
/// is the integer floor(2^24 · term), w is the sum of the terms, and the share is floor(floor(v · 2^40 / sum
/// of w) · w / 2^24). Copyable; not thread-safe during writes.
class VolumeProfile {
  public:
    explicit VolumeProfile(TickSize tick = {}, Weighting weighting = Weighting::uniform)
        : tick_(tick), weighting_(weighting) {}

    /// Adds every bar. Throws Error (usage) if the volume or the number of levels exceeds the limits above.
    void add(const BarColumns& bars);
    /// Adds the bars of one contract, or all bars for mixed_contracts.
    void add(const BarColumns& bars, std::uint16_t contract);
    /// Adds a profile with the same tick and weighting.
    void add(const VolumeProfile& other);

    bool empty() const noexcept { return volumes_.empty(); }
    TickSize tick() const noexcept { return tick_; }
    Weighting weighting() const noexcept { return weighting_; }
    /// Prices of the first and the last level: the lowest low and the highest high. Precondition: !empty().
    Ticks lowest() const noexcept { return lowest_; }
    Ticks highest() const noexcept { return lowest_ + static_cast<Ticks>(volumes_.size()) - 1; }
    /// Volume of price lowest() + i, in units of 2^-16.
    std::span<const std::int64_t> volumes() const noexcept { return volumes_; }
    /// Volume at a price in units of 2^-16; 0 outside the range.
    std::int64_t volume_at(Ticks price) const noexcept;
    /// Volume of the bars, exact.
    std::int64_t total_volume() const noexcept { return total_volume_; }

    /// The price level with the most volume. Precondition: !empty().
    Ticks point_of_control(TieRule tie = TieRule::lowest) const;
    /// The share refers to the volume held by the levels. Precondition: !empty(). Throws Error (usage) if the
    /// share is not in (0, 1].
    ValueArea value_area(ValueAreaMethod method = ValueAreaMethod::contiguous, TieRule tie = TieRule::lowest,
                         double share = 0.70) const;
    VolumeNodes nodes(const NodeRules& rules = {}) const;

    friend bool operator==(const VolumeProfile&, const VolumeProfile&) = default;

  private:
    void cover(Ticks low, Ticks high);

    TickSize tick_;
    Weighting weighting_;
    Ticks lowest_ = 0;
    std::vector<std::int64_t> volumes_;
    std::int64_t total_volume_ = 0;
};

/// The figures that a session summary takes from its profile, in ticks.
struct ProfileFigures {
    double point_of_control = 0;
    double value_area_low = 0;
    double value_area_high = 0;
    friend bool operator==(const ProfileFigures&, const ProfileFigures&) = default;
};

/// The profile of a session's bars. Its levels are ticks. Prices without a tick are rounded to bins of
/// BarMetadata::profile_bin, and VolumeProfile::tick() is the bin width. In a compatibility generation it is
/// the fixed-point profile with the generation's weighting, for drawing; the generation's figures come from
/// session_figures().
VolumeProfile session_profile(const BarTable& bars, const Session& session, const ProfileRules& rules);

/// A session without volume has no profile: its point of control is the close and its value area is low …
/// high (the original's rule for the VIX). Generations N and G do so only where the original did.
ProfileFigures session_figures(const BarTable& bars, const Session& session, const ProfileRules& rules);

/// One summary per session, in the same order. Does not depend on the number of threads. Throws Error
/// (usage), naming the session's date, if its volume or price range exceeds the limits above.
std::vector<SessionSummary> summarize_sessions(const BarTable& bars, std::span<const Session> sessions,
                                               const ProfileRules& rules, ThreadPool& pool);

} // namespace rekindle::market
