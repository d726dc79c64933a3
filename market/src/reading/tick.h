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
/// if there is none or there are no prices. Precondition: positive prices.
std::optional<TickSize> infer_tick(std::span<const Decimal> prices);

} // namespace rekindle::market::reading
