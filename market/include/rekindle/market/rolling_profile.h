#pragma once
/// Profiles that change over time: the profile of a session so far, and the profile of the last N bars. Every
/// result at bar i depends only on bars up to and including i.

#include <rekindle/market/bars.h>
#include <rekindle/market/volume_profile.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rekindle::market {

/// A profile's figures after one bar, in ticks.
struct MovingProfilePoint {
    Ticks point_of_control = 0;
    Ticks value_area_low = 0;
    Ticks value_area_high = 0;
    friend bool operator==(const MovingProfilePoint&, const MovingProfilePoint&) = default;
};

/// Figures of the profile of bars 0 … i, for each i. Every bar counts, regardless of its contract: pass the
/// bars of one session and one contract. rules.compatibility must be none. Throws Error like
/// VolumeProfile::add().
std::vector<MovingProfilePoint> developing_profile(const BarColumns& bars, TickSize tick,
                                                   const ProfileRules& rules);

/// Figures of the profile of the last `window` bars up to i (fewer at the beginning), for each i.
///
/// The histogram is updated incrementally: the bar that leaves is subtracted and the bar that enters is
/// added, both exactly. The point of control is searched again only if the leaving bar covered it (with
/// TieRule::nearest_middle, at every bar, because the middle moves); otherwise only levels of the entering
/// bar can exceed it.
///
/// If `shift` is not empty, it has one entry per bar that is subtracted from the bar's prices
/// (Session::roll_offset of its session): bars of several contracts are then on one scale, and each result is
/// on the scale of its own bar. Throws Error (usage) like VolumeProfile::add(), and if the window is 0.
std::vector<MovingProfilePoint> rolling_profile(const BarColumns& bars, TickSize tick, std::size_t window,
                                                const ProfileRules& rules,
                                                std::span<const std::int64_t> shift = {});

/// Like rolling_profile(), but only the point of control: several times faster.
std::vector<Ticks> rolling_point_of_control(const BarColumns& bars, TickSize tick, std::size_t window,
                                            const ProfileRules& rules,
                                            std::span<const std::int64_t> shift = {});

} // namespace rekindle::market
