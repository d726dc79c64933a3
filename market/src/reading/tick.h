#pragma once
/// Infers the tick, the smallest price step, from the prices.

#include "reading/number.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::market::reading {

/// Tick sizes that markets use, coarsest first: 1, 2, 2.5 and 5 times powers of ten from 1e-9 to 100, and 1/8
/// to 1/256.
const std::vector<TickSize>& tick_candidates();

/// How many of `prices` prices may be off the tick grid before the tick itself is considered wrong: one in a
/// thousand, but at least one of a hundred or more.
std::uint64_t tolerated_misfits(std::uint64_t prices) noexcept;

/// The coarsest candidate that fits all but the tolerated prices, up to the precision of 32-bit floats. Empty
/// if there are no prices or there is no tick: none fits, only the step of 32-bit floats does, or only a tick
/// below 0.0001 that is finer than 2·10^-7 of the median price, which is where rounded decimals of an
/// adjusted price end. Prices must not be 0.
std::optional<TickSize> infer_tick(std::span<const Decimal> prices);

/// The distance of 32-bit floats at the median price if all but the tolerated prices are such floats and the
/// distance hides a tick of 0.01; otherwise 0.
double hiding_float_spacing(std::span<const Decimal> prices);

/// The step in which prices without a tick are stored: the finest power of ten from 1e-9 to 1 of which 99 %
/// of the prices are at most 2^29. A few bad rows do not make it coarse.
TickSize step_without_tick(std::span<const Decimal> prices);

/// The width of a profile's levels for prices without a tick, in steps: the largest 1, 2 or 5 times a power
/// of ten that is at most 1/2000 of the median distance of `closes` from 0; at least one step.
Ticks profile_bin(std::vector<Ticks> closes);

} // namespace rekindle::market::reading
