#pragma once
/// The original system's three generations of the volume profile, with its order and type of summation.
/// Prices are whole ticks here; distances are in points. If the tick is a power of two (0.25), the original's
/// floating-point prices are exact, too, so the results are identical.

#include <rekindle/market/volume_profile.h>

namespace rekindle::market::profile {

/// The figures of one session's bars under rules.compatibility, which must not be none. `contract` selects
/// bars like Session::contract. Preconditions: at least one bar is selected, and there are at most
/// max_profile_levels levels.
ProfileFigures original_figures(const BarColumns& bars, std::uint16_t contract, TickSize tick,
                                const ProfileRules& rules);

} // namespace rekindle::market::profile
