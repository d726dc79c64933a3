#pragma once
/// The original system's three generations of the volume profile, in its own order and type of summation.
/// Prices are whole ticks here; distances are in points. With a tick that is a power of two (0.25) the
/// original's floating-point prices are exact as well, so nothing differs.

#include <rekindle/market/volume_profile.h>

namespace rekindle::market::profile {

/// The figures of one session's bars under rules.compatibility (not none). `contract` filters as Session
/// does. Preconditions: at least one bar counts, at most most_profile_levels levels.
ProfileFigures original_figures(const BarColumns& bars, std::uint16_t contract, TickSize tick,
                                const ProfileRules& rules);

} // namespace rekindle::market::profile
