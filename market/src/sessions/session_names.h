#pragma once
/// The names of the session rules in outputs.

#include <rekindle/market/session.h>

namespace rekindle::market {

const char* hours_name(SessionHours hours) noexcept;    ///< "rth"
const char* length_name(SessionLength length) noexcept; ///< "day"
const char* clock_name(Clock clock) noexcept;           ///< "utc"

} // namespace rekindle::market
