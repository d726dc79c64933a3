#pragma once
/// Dates as days since 1970-01-01.

#include <cstdint>

namespace rekindle::market {

/// 0 is Monday.
int weekday_from_monday(std::int32_t date) noexcept;
/// 1 to 12.
int month_of(std::int32_t date) noexcept;
/// Days to the next third Friday of March, June, September or December, when equity index futures expire; 0
/// on that day.
int days_to_quarterly_expiry(std::int32_t date) noexcept;

} // namespace rekindle::market
