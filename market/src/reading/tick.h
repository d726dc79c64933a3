#pragma once
/// The smallest price step, found in the prices.

#include "reading/number.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::market::reading {

/// Ticks that markets use, coarsest first: 1, 2, 2.5 and 5 times powers of ten from 1e-9 to 100, and 1/8 to
/// 1/256.
const std::vector<TickSize>& tick_candidates();

/// How many of `prices` prices may miss the ticks before the tick itself is thought wrong: one in a
/// thousand, and one of a hundred or more.
std::uint64_t tolerated_misfits(std::uint64_t prices) noexcept;

/// The coarsest candidate on which all but the tolerated prices lie, as far as 32-bit floats can tell.
/// Nothing when there is none, or without prices. Precondition: positive prices.
std::optional<TickSize> infer_tick(std::span<const Decimal> prices);

} // namespace rekindle::market::reading
