/// Markets that trade on Saturdays and Sundays keep those days; stray bars of other markets are still
/// skipped.

#include "sessions/bar_builder.h"

#include <rekindle/base/philox.h>
#include <rekindle/market/session_plan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>

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

/// The session of a bar in a market without pauses and holidays, by its local time; nothing outside the
/// hours.
std::optional<std::int32_t> label_without_pauses(std::int64_t time, const SessionRules& rules) {
    static const ZoneClock zone = ZoneClock::load(SessionRules().zone);
    const bool raw = rules.raw_labels;
    const std::int64_t local = raw ? time : zone.to_local(time);
    const std::int32_t date = date_of(local);
    const std::int64_t minute = (local - std::int64_t{date} * day_seconds) / 60;
    if (rules.hours == SessionHours::all)
        return !raw && minute > rules.day_start ? date + 1 : date;
    const bool regular = raw ? minute >= rules.rth_open && minute < rules.rth_close
                             : minute > rules.rth_open && minute <= rules.rth_close;
    if (regular != (rules.hours == SessionHours::rth))
        return std::nullopt;
    return !regular && minute > rules.rth_close ? date + 1 : date;
}

// Every bar is in the session of its day, for all hours and clocks. 9,600 hours are 400 days.
TEST(Weekends, AreKeptForAMarketThatNeverCloses) {
    for (const SessionHours hours : {SessionHours::all, SessionHours::rth, SessionHours::eth})
        for (const Clock clock : {Clock::utc, Clock::exchange, Clock::raw})
            for (int weekday = 0; weekday < 7; ++weekday) { // for every first day of the file
                SessionRules rules;
                rules.hours = hours;
                rules.raw_labels = clock == Clock::raw;
                if (hours == SessionHours::eth && clock == Clock::raw)
                    continue; // refused
                SCOPED_TRACE(testing::Message() << "hours " << static_cast<int>(hours) << ", clock "
                                                << static_cast<int>(clock) << ", weekday " << weekday);
                const BarTable bars = around_the_clock(make_date(2024, 1, 1) + weekday, 9600).table();
                std::map<std::int32_t, std::size_t> expected;
                for (const std::int64_t time : bars.columns().time)
                    if (const auto label = label_without_pauses(time, rules))
                        ++expected[*label];
                const SessionPlan result =
                    plan_sessions(bars, rules, HolidayCalendar::none(), RollMethod::volume);
                std::map<std::int32_t, std::size_t> found;
                for (const Session& session : result.sessions)
                    found[session.date] = session.count;
                EXPECT_EQ(found, expected);
                const auto weekends = std::count_if(expected.begin(), expected.end(),
                                                    [](const auto& day) { return is_weekend(day.first); });
                EXPECT_GT(weekends, 110);
                if (hours != SessionHours::all || clock != Clock::raw) { // where each date is a session
                    EXPECT_THAT(result.notes, Contains(HasSubstr("This market trades on weekends: " +
                                                                 std::to_string(weekends) + " ")));
                }
                EXPECT_THAT(result.notes, testing::Not(Contains(HasSubstr("skipped"))));
            }
}

TEST(Weekends, AreKeptInDailyBars) {
    for (const Clock clock : {Clock::utc, Clock::exchange, Clock::raw}) {
        BarBuilder builder;
        builder.dates_only();
        const std::int32_t monday = make_date(2024, 1, 1);
        for (std::int32_t date = monday; date < monday + 70; ++date)
            builder.add(std::int64_t{date} * day_seconds);
        SessionRules rules;
        rules.raw_labels = clock == Clock::raw;
        EXPECT_EQ(volume_plan(builder.table(), rules).sessions.size(), 70u);
        rules.length = SessionLength::week;
        const SessionPlan weeks = volume_plan(builder.table(), rules);
        EXPECT_EQ(weeks.sessions.size(), 10u);
        for (const Session& week : weeks.sessions)
            EXPECT_EQ(week.count, 7u) << format_date(week.date);
    }
}

// A Saturday's overnight session is used once the Saturday's regular hours show that it is a trading day.
TEST(Weekends, OvernightSessionOfASaturdayIsOverAfterItsRegularHours) {
    SessionRules rules;
    rules.hours = SessionHours::eth;
    const std::int32_t saturday = make_date(2024, 6, 1);
    const BarBuilder builder = around_the_clock(saturday - 20, 21 * 24);
    for (int hour = 24; hour > 0; --hour) {
        const BarTable bars = builder.table(builder.size() - static_cast<std::size_t>(24 - hour));
        const Session last = volume_plan(bars, rules).sessions.back();
        const bool sunday = hour > 20; // after 16:00 in New York
        EXPECT_EQ(last.date, saturday + (sunday ? 1 : 0)) << hour;
        EXPECT_EQ(last.complete, hour == 20) << hour;
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
    for (const SessionHours hours : {SessionHours::all, SessionHours::rth, SessionHours::eth})
        for (const Clock clock : {Clock::utc, Clock::raw}) {
            SessionRules rules;
            rules.hours = hours;
            rules.raw_labels = clock == Clock::raw;
            if (clock == Clock::raw && hours != SessionHours::rth)
                continue; // every date is a session, or refused
            const SessionPlan plan = volume_plan(builder.table(), rules);
            EXPECT_EQ(plan.sessions.size(), hours == SessionHours::eth ? 21u : 20u);
            EXPECT_TRUE(std::none_of(plan.sessions.begin(), plan.sessions.end(),
                                     [](const Session& s) { return is_weekend(s.date); }));
            EXPECT_THAT(plan.notes, testing::Not(Contains(HasSubstr("weekends"))));
        }
}

// Later bars do not matter: the plan of a prefix is a prefix of the plan.
TEST(Weekends, PlanOfAPrefixIsAPrefixOfThePlan) {
    for (const SessionHours hours : {SessionHours::all, SessionHours::rth, SessionHours::eth})
        for (const int first_day : {0, 4, 5, 6}) {
            SessionRules rules;
            rules.hours = hours;
            const BarBuilder builder = around_the_clock(make_date(2024, 1, 1) + first_day, 24 * 24);
            const SessionPlan whole = volume_plan(builder.table(), rules);
            for (std::size_t count = 1; count < builder.size(); count += 5) {
                const SessionPlan part = volume_plan(builder.table(count), rules);
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
