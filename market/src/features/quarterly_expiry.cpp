#include "features/quarterly_expiry.h"

#include <chrono>

namespace rekindle::market {
namespace {

std::chrono::sys_days day_of(std::int32_t date) {
    return std::chrono::sys_days{std::chrono::days{date}};
}

} // namespace

int weekday_from_monday(std::int32_t date) noexcept {
    return static_cast<int>(std::chrono::weekday{day_of(date)}.iso_encoding()) - 1;
}

int month_of(std::int32_t date) noexcept {
    return static_cast<int>(static_cast<unsigned>(std::chrono::year_month_day{day_of(date)}.month()));
}

int days_to_quarterly_expiry(std::int32_t date) noexcept {
    using namespace std::chrono;
    const year_month_day today{day_of(date)};
    const unsigned month_in_quarter = (static_cast<unsigned>(today.month()) + 2) % 3;
    year_month expiry = today.year() / today.month() + months{2 - month_in_quarter};
    for (;;) {
        const auto days = sys_days{expiry / Friday[3]} - day_of(date);
        if (days.count() >= 0)
            return static_cast<int>(days.count());
        expiry += months{3};
    }
}

} // namespace rekindle::market
