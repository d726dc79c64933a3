/// Splits that prices are not adjusted for. The closes and opens around the splits of Apple, Tesla and NVIDIA
/// are the real ones; the other rows are made up.

#include <rekindle/base/philox.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/splits.h>

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TickSize cent{0.01};

struct Day {
    double open = 0, close = 0;
};

/// One bar per day, from this date on.
struct DailySeries {
    std::int32_t first = make_date(2020, 1, 1);
    std::vector<Day> days{};
    std::vector<std::uint16_t> contracts{}; ///< of each day; empty for one contract

    BarTable table() const {
        BarBuffer bars;
        for (std::size_t i = 0; i < days.size(); ++i) {
            const auto open = static_cast<Ticks>(std::lround(days[i].open / cent.points));
            const auto close = static_cast<Ticks>(std::lround(days[i].close / cent.points));
            bars.time.push_back((first + static_cast<std::int32_t>(i)) * day_seconds);
            bars.open.push_back(open);
            bars.close.push_back(close);
            bars.high.push_back(std::max(open, close));
            bars.low.push_back(std::min(open, close));
            bars.volume.push_back(100);
            bars.contract.push_back(contracts.empty() ? std::uint16_t{0} : contracts[i]);
        }
        return BarBuffer::into_table(
            std::move(bars),
            {.tick = cent, .contracts = {"A", "B"}, .dates_only = true, .bar_seconds = day_seconds});
    }
    std::vector<SuspectedSplit> splits() const {
        std::vector<Session> sessions;
        for (std::size_t i = 0; i < days.size(); ++i)
            sessions.push_back({.date = first + static_cast<std::int32_t>(i),
                                .first = i,
                                .count = 1,
                                .contract = contracts.empty() ? std::uint16_t{0} : contracts[i]});
        return suspected_splits(table(), sessions);
    }
};

double normal(PhiloxStream& random) {
    return std::sqrt(-2 * std::log(1 - random.next_double())) *
           std::cos(2 * std::numbers::pi * random.next_double());
}

/// Appends days to `series` until the close is exactly `close`, moving by 2 % a day before that.
void walk_to(DailySeries& series, double from, double close, int count, std::uint64_t seed) {
    PhiloxStream random(seed, RandomPurpose::test);
    double price = from;
    for (int i = 0; i < count; ++i) {
        const double open = price * std::exp(0.008 * normal(random));
        price = i + 1 == count ? close : from * std::exp(0.02 * normal(random));
        series.days.push_back({open, price});
    }
}

TEST(Splits, RealOnesAreFound) {
    struct Case {
        std::int32_t date;
        double close, open;
        int new_shares;
    };
    for (const auto& [date, close, open, shares] :
         {Case{make_date(2020, 8, 31), 499.23, 127.58, 4}, Case{make_date(2022, 8, 25), 891.29, 302.36, 3},
          Case{make_date(2024, 6, 10), 1208.88, 120.37, 10}}) {
        DailySeries series{.first = date - 60};
        walk_to(series, close, close, 60, 1);
        walk_to(series, open, open, 60, 2);
        series.days[60].open = open;
        const auto splits = series.splits();
        ASSERT_EQ(splits.size(), 1u);
        EXPECT_EQ(splits[0].date, date);
        EXPECT_EQ(splits[0].new_shares, shares);
        EXPECT_EQ(splits[0].old_shares, 1);
        const std::string warning = split_warning(splits, cent);
        EXPECT_THAT(warning, HasSubstr("looks like a " + std::to_string(shares) + ":1 split"));
        EXPECT_THAT(warning, HasSubstr(format_date(date)));
        EXPECT_THAT(warning, HasSubstr("split-adjusted"));
    }
}

TEST(Splits, EveryRatioIsFoundInBothDirections) {
    for (const int n : {2, 3, 4, 5, 7, 8, 10, 15, 20, 25, 50})
        for (const bool reverse : {false, true}) {
            const double before = reverse ? 20 : 1000, after = reverse ? 20.0 * n : 1000.0 / n;
            DailySeries series;
            walk_to(series, before, before, 40, 3);
            walk_to(series, after, after, 40, 4);
            series.days[40].open = after * 1.02;
            const auto splits = series.splits();
            ASSERT_EQ(splits.size(), 1u) << n << reverse;
            EXPECT_EQ(splits[0].new_shares, reverse ? 1 : n);
            EXPECT_EQ(splits[0].old_shares, reverse ? n : 1);
            EXPECT_EQ(split_text(splits[0]),
                      reverse ? "1:" + std::to_string(n) + " reverse" : std::to_string(n) + ":1");
        }
    DailySeries series;
    walk_to(series, 90, 90, 40, 5);
    walk_to(series, 60, 60, 40, 6);
    series.days[40].open = 60;
    ASSERT_EQ(series.splits().size(), 1u);
    EXPECT_EQ(split_text(series.splits()[0]), "3:2");
}

TEST(Splits, OtherJumpsAreNotNamed) {
    // Crashes and rises that no known ratio explains.
    for (const double factor :
         {0.9, 0.8, 0.75, 0.71, 0.6, 0.56, 0.43, 0.38, 0.29, 0.165, 1.1, 1.3, 1.5, 1.7, 2.3, 6.0}) {
        DailySeries series;
        walk_to(series, 100, 100, 40, 7);
        walk_to(series, 100 * factor, 100 * factor, 40, 8);
        series.days[40].open = 100 * factor;
        EXPECT_THAT(series.splits(), IsEmpty()) << factor;
    }
    // The same ratio between two contracts is a roll.
    DailySeries roll;
    walk_to(roll, 100, 100, 40, 9);
    walk_to(roll, 50, 50, 40, 10);
    roll.days[40].open = 50;
    EXPECT_EQ(roll.splits().size(), 1u);
    roll.contracts.assign(80, 0);
    std::fill(roll.contracts.begin() + 40, roll.contracts.end(), std::uint16_t{1});
    EXPECT_THAT(roll.splits(), IsEmpty());
    // Prices of a few ticks have such ratios every day.
    DailySeries penny;
    for (int i = 0; i < 80; ++i)
        penny.days.push_back({i % 2 == 0 ? 0.02 : 0.01, i % 2 == 0 ? 0.02 : 0.01});
    EXPECT_THAT(penny.splits(), IsEmpty());
}

// Ten years of days each, with overnight changes of 0.3 % to 10 %: volatile enough for changes of a third.
TEST(Splits, RandomWalksHaveNone) {
    std::size_t walks = 0, changes = 0;
    for (const double overnight : {0.003, 0.01, 0.03, 0.06, 0.1})
        for (std::uint64_t seed = 100; seed < 140; ++seed, ++walks) {
            PhiloxStream random(seed, RandomPurpose::test);
            DailySeries series;
            double log_price = std::log(5000.0);
            for (int i = 0; i < 2500; ++i, ++changes) {
                const double level = log_price + overnight * normal(random);
                log_price = std::log(5000.0) + 0.99 * (level + overnight * normal(random) - std::log(5000.0));
                series.days.push_back({std::exp(level), std::exp(log_price)});
            }
            EXPECT_THAT(series.splits(), IsEmpty()) << overnight << " " << seed;
        }
    EXPECT_EQ(walks, 200u);
    EXPECT_EQ(changes, 500'000u);
}

} // namespace
} // namespace rekindle::market
