#include "simulate/simulated_market.h"

#include <rekindle/market/calendar.h>
#include <rekindle/market/rolls.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace rekindle::market {
namespace {

constexpr int regular_begin = 15 * 60 + 30; ///< 09:30, in minutes since 18:00
constexpr int regular_minutes = 390;
constexpr int listed_before_expiry =
    14; ///< days between the first trade of the next contract and the end of the old one

/// The share of the day's volume, in thousandths, that has moved to the next contract the given number of
/// days before expiry.
int moved_thousandths(std::int32_t days_to_expiry) {
    constexpr std::array<int, listed_before_expiry + 1> moved = {995, 980, 950, 850, 600, 0, 0, 150,
                                                                 50,  20,  10,  8,   0,   0, 4};
    return days_to_expiry > listed_before_expiry
               ? 0
               : moved[static_cast<std::size_t>(std::max(days_to_expiry, 0))];
}

/// -1 in the first regular minute, 0 at midday, 1 in the last.
double regular_position(int minute) {
    return (minute - regular_begin - 1) / (0.5 * (regular_minutes - 1)) - 1;
}

double expected_volume(int minute) {
    const double x = regular_position(minute);
    if (x >= -1 && x <= 1) {
        const double edge = minute == regular_begin + 1                 ? 1.8
                            : minute == regular_begin + regular_minutes ? 3.0
                                                                        : 1.0;
        return edge * (1500 + 4000 * x * x * x * x);
    }
    if (x > 1)
        return minute <= regular_begin + regular_minutes + 15 ? 1200 : 180;
    if (minute <= 120)
        return 400 - 2.5 * minute; // the first two hours
    if (minute <= 9 * 60)
        return 70;
    if (minute <= 14 * 60 + 30)
        return 260;                             // London
    return minute == 14 * 60 + 31 ? 2500 : 700; // 08:30, economic news
}

double expected_sigma(int minute) {
    const double x = regular_position(minute);
    return x >= -1 && x <= 1 ? 3.4e-4 * (1 + x * x * x * x) : 1.5e-4;
}

/// A symmetric value with std 1 from the four bytes of a word: their sum has variance 4 (256² - 1) / 12.
double rough_normal(std::uint32_t word) {
    const int sum = static_cast<int>((word & 0xFF) + (word >> 8 & 0xFF) + (word >> 16 & 0xFF) + (word >> 24));
    return (sum - 510) * 0.006765930;
}

std::int32_t next_quarterly_expiry(std::int32_t after, std::string& name) {
    const std::chrono::year_month_day day{std::chrono::sys_days{std::chrono::days{after}}};
    int year = static_cast<int>(day.year());
    int month = (static_cast<int>(static_cast<unsigned>(day.month())) + 2) / 3 * 3;
    for (;; month += 3) {
        if (month > 12) {
            month -= 12;
            ++year;
        }
        const std::string years = std::to_string(year);
        name = std::string(month < 10 ? "ES 0" : "ES ") + std::to_string(month) + "-" +
               (year < 2070 ? years.substr(2) : years);
        if (const auto expiry = contract_expiry(name); expiry && *expiry > after)
            return *expiry;
    }
}

Ticks to_ticks(double price) {
    return static_cast<Ticks>(std::lround(price));
}

} // namespace

SimulatedMarket::SimulatedMarket(const SimulateOptions& options)
    : options_(options), zone_(ZoneClock::load("America/New_York")), date_(options.start_date - 1) {
    for (int minute = 1; minute <= day_minutes; ++minute)
        minutes_[static_cast<std::size_t>(minute)] = {expected_volume(minute), expected_sigma(minute),
                                                      minute < regular_begin};
    list_contract(options.start_date - 1);
}

void SimulatedMarket::list_contract(std::int32_t expiry_before) {
    std::string name;
    expiries_.push_back(next_quarterly_expiry(expiry_before, name));
    PhiloxStream random(options_.seed, RandomPurpose::simulation, 1, names_.size());
    gaps_.push_back(names_.empty() ? 0 : gaps_.back() + 150 + static_cast<Ticks>(random.next_below(61)));
    names_.push_back(std::move(name));
}

void SimulatedMarket::roll_contracts() {
    if (date_ > expiries_[front_])
        ++front_;
    if (front_ + 1u == names_.size() && expiries_[front_] - date_ <= listed_before_expiry)
        list_contract(expiries_[front_]);
}

/// The minute of the last bar of date_, 0 if the market is closed on that day.
int SimulatedMarket::last_minute_of_day() const {
    const HolidayCalendar& calendar = HolidayCalendar::embedded();
    if (is_weekend(date_))
        return 0;
    if (calendar.half_day_close(date_))
        return 19 * 60 + 15; // 13:15
    if (!calendar.is_holiday(date_))
        return day_minutes;
    const std::string month_day = format_date(date_).substr(5);
    const bool closed =
        month_day >= "12-24" || month_day <= "01-02" || (weekday_of(date_) == 4 && month_day < "05-01");
    return closed ? 0 : 19 * 60;
}

/// Four steps of a random walk whose variance depends on its own moves (GARCH(1,1) with mean 1).
SimulatedMarket::Path SimulatedMarket::walk(const Minute& minute, PhiloxStream& random) {
    const double step = minute.sigma * 0.5 * std::sqrt(day_variance_ * minute_variance_);
    Path path{price_, price_, price_, price_};
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
        const double shock = rough_normal(random.next_u32());
        sum += shock;
        path.close += path.close * (step * shock);
        path.high = std::max(path.high, path.close);
        path.low = std::min(path.low, path.close);
    }
    price_ = path.close;
    minute_variance_ = std::min(0.004 + minute_variance_ * (0.956 + 0.04 * (0.25 * sum * sum)), 25.0);
    return path;
}

void SimulatedMarket::add_bar(std::vector<SimulatedBar>& bars, std::int64_t time, const Path& path,
                              std::int64_t volume, std::uint16_t contract) {
    if (volume <= 0)
        return;
    const Ticks gap = gaps_[contract];
    SimulatedBar bar{time,
                     to_ticks(path.open) + gap,
                     to_ticks(path.high) + gap,
                     to_ticks(path.low) + gap,
                     to_ticks(path.close) + gap,
                     volume,
                     contract,
                     0};
    if (volume == 1)
        bar.open = bar.high = bar.low = bar.close; // one trade has one price
    if (date_of(time) != last_vix_date_) {
        last_vix_date_ = date_of(time);
        bar.vix_cents = static_cast<std::int32_t>(std::lround(1500 * std::sqrt(day_variance_)));
    }
    bars.push_back(bar);
}

void SimulatedMarket::next_day(std::vector<SimulatedBar>& bars) {
    int last_minute = 0;
    while (last_minute == 0) {
        ++date_;
        last_minute = last_minute_of_day();
    }
    roll_contracts();
    PhiloxStream random(options_.seed, RandomPurpose::simulation, 0, static_cast<std::uint64_t>(date_));
    const std::int64_t begin =
        zone_.to_utc((std::int64_t{date_} - 1) * day_seconds + std::int64_t{18} * 3600);
    const std::int32_t days_to_expiry = expiries_[front_] - date_;
    const int moved = front_ + 1u < names_.size() ? moved_thousandths(days_to_expiry) : 0;
    const double price_before = price_;
    const double busy = 0.6 + 0.4 * day_variance_;
    for (int minute = 1; minute <= last_minute; ++minute) {
        const Minute& expected = minutes_[static_cast<std::size_t>(minute)];
        const Path path = walk(expected, random);
        const double uniform = random.next_u32() * 0x1.0p-32;
        const std::uint32_t draw = random.next_u32();
        if (expected.may_be_empty && draw % 64 == 0)
            continue;
        const auto total =
            static_cast<std::int64_t>(expected.volume * busy * (0.25 + 2.25 * uniform * uniform)) + 1;
        const std::int64_t next = (total * moved + (draw >> 16) % 1000) / 1000;
        const std::int64_t time = begin + std::int64_t{minute} * 60;
        if (days_to_expiry > 0 || minute <= regular_begin) // the old contract ends at 09:30 on its last day
            add_bar(bars, time, path, total - next, front_);
        add_bar(bars, time, path, next, static_cast<std::uint16_t>(front_ + 1));
    }
    const double change = (price_ / price_before - 1) / 0.0095;
    day_variance_ = std::min(0.02 + 0.9 * day_variance_ + 0.08 * change * change, 16.0);
}

} // namespace rekindle::market
