/// Markets that trade on Saturdays and Sundays keep those days; stray bars of other markets are still
/// skipped.

#include "sessions/bar_builder.h"

#include <rekindle/base/philox.h>
#include <rekindle/market/session_plan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace rekindle::market {
namespace {

using fixtures::BarBuilder;
using fixtures::new_york;
using fixtures::volume_plan;
using testing::Contains;
using testing::HasSubstr;

std::size_t bars_in(const SessionPlan& plan) {
    return std::accumulate(plan.sessions.begin(), plan.sessions.end(), std::size_t{0},
                           [](std::size_t sum, const Session& s) { return sum + s.count; });
}

/// Bars for every hour, day and night, as on cryptocurrency exchanges.
BarBuilder around_the_clock(std::int32_t first, int hours) {
    BarBuilder builder;
    builder.bar_seconds(3600);
    for (int hour = 1; hour <= hours; ++hour)
        builder.add(std::int64_t{first} * day_seconds + hour * 3600);
    return builder;
}

// 9,600 hours are 400 days, of which 114 are Saturdays and Sundays.
TEST(Weekends, AreKeptForAMarketThatNeverCloses) {
    for (int weekday = 0; weekday < 7; ++weekday) { // for every first day of the file
        const SessionPlan result =
            volume_plan(around_the_clock(make_date(2024, 1, 1) + weekday, 9600).table());
        EXPECT_GE(bars_in(result), 9600u - 18u)
            << "at most a part of the first day is missing, on weekday " << weekday;
        EXPECT_THAT(result.notes, Contains(HasSubstr("This market trades on weekends: 11")));
        EXPECT_THAT(result.notes, testing::Not(Contains(HasSubstr("skipped"))));
        for (std::size_t i = 1; i < result.sessions.size(); ++i)
            EXPECT_EQ(result.sessions[i].date, result.sessions[i - 1].date + 1);
    }
}

TEST(Weekends, WeeksEndOnSundayInAMarketThatNeverCloses) {
    SessionRules rules;
    rules.length = SessionLength::week;
    rules.zone = "UTC";
    rules.day_start = 0;
    const std::int32_t monday = make_date(2024, 1, 1);
    const SessionPlan whole = volume_plan(around_the_clock(monday, 21 * 24).table(), rules);
    ASSERT_EQ(whole.sessions.size(), 3u);
    EXPECT_EQ(whole.sessions[1].count, 7u * 24);
    EXPECT_TRUE(whole.sessions[2].complete);
    EXPECT_FALSE(volume_plan(around_the_clock(monday, 21 * 24 - 30).table(), rules).sessions.back().complete);
}

// Half days of the stock exchange do not apply to cryptocurrencies: the day is not over when the exchange
// closes.
TEST(Weekends, HolidaysDoNotShortenDaysInAMarketThatNeverCloses) {
    SessionRules rules;
    rules.zone = "UTC";
    rules.day_start = 0;
    const std::int32_t half_day = make_date(2024, 11, 29);
    const std::int32_t first = half_day - 20;
    EXPECT_FALSE(volume_plan(around_the_clock(first, 20 * 24 + 20).table(), rules).sessions.back().complete);
    EXPECT_TRUE(volume_plan(around_the_clock(first, 21 * 24).table(), rules).sessions.back().complete);
}

TEST(Weekends, SundaysAreKeptForAMarketOpenFromSundayToThursday) {
    SessionRules rules;
    rules.zone = "Asia/Riyadh";
    rules.day_start = 0;
    const ZoneClock riyadh = ZoneClock::load(rules.zone);
    BarBuilder builder;
    std::size_t bars = 0;
    for (std::int32_t date = make_date(2024, 3, 3); date < make_date(2024, 6, 2); ++date)
        for (int minute = 10 * 60 + 1; weekday_of(date) != 4 && weekday_of(date) != 5 && minute <= 15 * 60;
             ++minute, ++bars)
            builder.add(riyadh.to_utc(std::int64_t{date} * day_seconds + minute * 60));
    for (const SessionHours hours : {SessionHours::all, SessionHours::rth}) {
        rules.hours = hours;
        rules.rth_open = 10 * 60;
        rules.rth_close = 15 * 60;
        const SessionPlan result = volume_plan(builder.table(), rules);
        // With all hours, the first Sunday has 300 bars, less than half of 24 hours, so it is not recognized
        // yet.
        EXPECT_GE(bars_in(result) + (hours == SessionHours::all ? 300 : 0), bars - 300 * 3) << "US holidays";
        EXPECT_TRUE(std::any_of(result.sessions.begin(), result.sessions.end(),
                                [](const Session& s) { return weekday_of(s.date) == 6; }));
    }
}

TEST(Weekends, StrayBarsOfOtherMarketsAreSkipped) {
    BarBuilder builder;
    builder.bar_seconds(300);
    std::size_t strays = 0;
    for (std::int32_t date = make_date(2025, 3, 3); date <= make_date(2025, 3, 30); ++date)
        for (int minute = 5; minute <= 17 * 60; minute += 5)
            if (!is_weekend(date))
                builder.add(new_york(date, minute));
            else if (minute % 240 == 0) {
                builder.add(new_york(date, minute));
                ++strays;
            }
    const SessionPlan result = volume_plan(builder.table());
    EXPECT_EQ(bars_in(result) + strays, builder.size());
    EXPECT_THAT(result.notes, Contains(HasSubstr("outside Monday to Friday")));
    EXPECT_THAT(result.notes, testing::Not(Contains(HasSubstr("weekends"))));
}

// Later bars do not matter: the plan of a prefix is a prefix of the plan.
TEST(Weekends, PlanOfAPrefixIsAPrefixOfThePlan) {
    for (const int first_day : {0, 4, 5, 6}) {
        const BarBuilder builder = around_the_clock(make_date(2024, 1, 1) + first_day, 24 * 24);
        const BarTable bars = builder.table();
        const SessionPlan whole = volume_plan(bars);
        for (std::size_t count = 1; count < bars.size(); count += 5) {
            const SessionPlan part = volume_plan(builder.table(count));
            const auto complete = part.complete_sessions();
            ASSERT_LE(complete.size(), whole.sessions.size());
            for (std::size_t i = 0; i < complete.size(); ++i) {
                ASSERT_EQ(complete[i].date, whole.sessions[i].date);
                ASSERT_EQ(complete[i].count, whole.sessions[i].count) << format_date(complete[i].date);
            }
        }
    }
}

} // namespace
} // namespace rekindle::market
