#pragma once
/// Profiles that move with time: the profile so far of a session, and that of the last N bars. Every result
/// at bar i is a function of bars up to and including i.

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

/// Figures of the profile of bars 0 … i, for each i. Every bar counts, whatever its contract: pass one
/// session's bars of one contract. rules.compatibility must be none. Throws Error as VolumeProfile::add().
std::vector<MovingProfilePoint> developing_profile(const BarColumns& bars, TickSize tick,
                                                   const ProfileRules& rules);

/// Figures of the profile of the last `window` bars up to i (fewer at the beginning), for each i.
///
/// The histogram is kept: the bar that leaves is subtracted, the bar that enters is added, both exact. The
/// point of control is searched again only when the leaving bar covered it (with TieRule::nearest_middle: at
/// every bar, since the middle moves); otherwise only the entering bar's levels can beat it.
///
/// `shift`, when not empty, has one entry per bar and is subtracted from its prices (Session::roll_offset of
/// the bar's session): bars of several contracts then lie on one scale, and results are on the scale of the
/// bar that they are for. Throws Error (usage) as VolumeProfile::add(), and when the window is 0.
std::vector<MovingProfilePoint> rolling_profile(const BarColumns& bars, TickSize tick, std::size_t window,
                                                const ProfileRules& rules,
                                                std::span<const std::int64_t> shift = {});

/// As rolling_profile(), the point of control alone: several times faster.
std::vector<Ticks> rolling_point_of_control(const BarColumns& bars, TickSize tick, std::size_t window,
                                            const ProfileRules& rules,
                                            std::span<const std::int64_t> shift = {});

} // namespace rekindle::market
