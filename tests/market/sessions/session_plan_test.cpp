#include "sessions/bar_builder.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/session_plan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace rekindle::market {
namespace {

using fixtures::BarBuilder;
using fixtures::new_york;
using fixtures::volume_plan;

SessionRules rules_for(SessionHours hours, SessionLength length = SessionLength::day,
                       Clock clock = Clock::utc) {
    SessionRules rules;
    rules.hours = hours;
    rules.length = length;
    rules.raw_labels = clock == Clock::raw;
    return rules;
}

/// Five-minute bars in ES hours (18:00 to 17:00 New York time) from `first` to `last`, with holes and with
/// some stray bars in the daily halt and on weekends.
BarBuilder es_bars(std::int32_t first, std::int32_t last) {
    BarBuilder builder;
    builder.bar_seconds(300);
    PhiloxStream random(3, RandomPurpose::test);
    for (std::int32_t date = first; date <= last; ++date)
        for (int minute = 5; minute <= 24 * 60; minute += 5) {
            const bool halt = minute > 17 * 60 && minute <= 18 * 60;
            const bool closed = halt || (weekday_of(date) == 4 && minute > 17 * 60) ||
                                weekday_of(date) == 5 || (weekday_of(date) == 6 && minute <= 18 * 60);
            if (closed ? random.next_below(200) == 0 : random.next_below(10) != 0)
                builder.add(new_york(date, minute), 100 + static_cast<Ticks>(random.next_below(50)));
        }
    return builder;
}

/// The label of one bar by a literal implementation of the rule, without windows: the date, or nothing.
std::optional<std::int32_t> label_by_literal_rule(std::int64_t utc, SessionHours hours) {
    static const ZoneClock clock = ZoneClock::load("America/New_York");
    const HolidayCalendar& calendar = HolidayCalendar::embedded();
    const std::int64_t local = clock.to_local(utc);
    const std::int32_t date = date_of(local);
    const std::int64_t minute = (local - std::int64_t{date} * day_seconds) / 60;
    if (hours == SessionHours::all) {
        const std::int32_t day = minute > 18 * 60 ? date + 1 : date;
        return is_weekend(day) ? std::nullopt : std::optional(day);
    }
    const int close = calendar.half_day_close(date).value_or(16 * 60);
    const bool open_day = !is_weekend(date) && !calendar.is_holiday(date);
    const bool regular = open_day && minute > 9 * 60 + 30 && minute <= close;
    if (hours == SessionHours::rth)
        return regular ? std::optional(date) : std::nullopt;
    if (regular)
        return std::nullopt;
    std::int32_t day = open_day && minute > close ? date + 1 : date;
    while (is_weekend(day) || calendar.is_holiday(day))
        ++day;
    return day;
}

class HoursTest : public testing::TestWithParam<SessionHours> {};

// Two months with a clock change, Thanksgiving with its half day, and Christmas.
TEST_P(HoursTest, EveryBarIsInTheSessionOfTheRule) {
    const BarTable bars = es_bars(make_date(2024, 10, 27), make_date(2025, 1, 12)).table();
    const SessionPlan result = volume_plan(bars, rules_for(GetParam()));
    std::map<std::int32_t, std::vector<std::size_t>> expected;
    for (std::size_t i = 0; i < bars.size(); ++i)
        if (const auto label = label_by_literal_rule(bars.columns().time[i], GetParam()))
            expected[*label].push_back(i);
    ASSERT_EQ(result.sessions.size(), expected.size());
    std::size_t next = 0;
    for (const auto& [date, indices] : expected) {
        const Session& session = result.sessions[next++];
        EXPECT_EQ(session.date, date);
        EXPECT_EQ(session.first, indices.front()) << format_date(date);
        EXPECT_EQ(session.count, indices.size()) << format_date(date);
        EXPECT_EQ(session.first + session.count, indices.back() + 1) << format_date(date);
        EXPECT_EQ(session.contract, 0);
    }
}

TEST_P(HoursTest, PlanOfAPrefixIsAPrefixOfThePlan) {
    const BarBuilder builder =
        es_bars(make_date(2025, 2, 23), make_date(2025, 3, 23)); // the clocks change on March 9
    for (const SessionLength length : {SessionLength::day, SessionLength::week}) {
        if (length == SessionLength::week && GetParam() != SessionHours::all)
            continue;
        const BarTable bars = builder.table();
        const SessionPlan whole = volume_plan(bars, rules_for(GetParam(), length));
        std::size_t incomplete = 0;
        for (std::size_t count = 1; count < bars.size(); count += 17) {
            const BarTable part(bars.columns().subspan(0, count), bars.metadata(), nullptr);
            const SessionPlan beginning = volume_plan(part, rules_for(GetParam(), length));
            ASSERT_LE(beginning.sessions.size(), whole.sessions.size());
            const std::span<const Session> complete = beginning.complete_sessions();
            incomplete += beginning.sessions.size() - complete.size();
            for (std::size_t i = 0; i < beginning.sessions.size(); ++i) {
                EXPECT_EQ(beginning.sessions[i].first, whole.sessions[i].first);
                if (i + 1 < beginning.sessions.size()) {
                    EXPECT_EQ(beginning.sessions[i].count, whole.sessions[i].count);
                    EXPECT_EQ(beginning.sessions[i].date, whole.sessions[i].date);
                    EXPECT_TRUE(beginning.sessions[i].complete);
                }
            }
        }
        EXPECT_GT(incomplete, bars.size() / 17 / 10);
    }
}

INSTANTIATE_TEST_SUITE_P(Hours, HoursTest,
                         testing::Values(SessionHours::all, SessionHours::rth, SessionHours::eth));

TEST(PlanSessions, LastSessionIsCompleteOnceItEnds) {
    const std::int32_t friday = make_date(2025, 3, 7);
    const auto minutes = [&](int from, int to) {
        BarBuilder builder;
        for (std::int32_t date = friday - 3; date < friday; ++date)
            for (int minute = 9 * 60 + 31; minute <= 17 * 60; ++minute)
                builder.add(new_york(date, minute));
        for (int minute = from; minute <= to; ++minute)
            builder.add(new_york(friday, minute));
        return builder.table();
    };
    const auto complete = [&](const BarTable& bars, SessionHours hours,
                              SessionLength length = SessionLength::day) {
        return volume_plan(bars, rules_for(hours, length)).sessions.back().complete;
    };
    EXPECT_FALSE(complete(minutes(9 * 60 + 31, 15 * 60 + 59), SessionHours::rth));
    EXPECT_TRUE(complete(minutes(9 * 60 + 31, 16 * 60), SessionHours::rth));
    EXPECT_FALSE(
        complete(minutes(9 * 60 + 31, 16 * 60 + 59), SessionHours::all)); // the previous days end at 17:00
    EXPECT_TRUE(complete(minutes(9 * 60 + 31, 17 * 60), SessionHours::all));
    EXPECT_FALSE(complete(minutes(9 * 60 + 31, 16 * 60 + 59), SessionHours::all, SessionLength::week));
    EXPECT_TRUE(complete(minutes(9 * 60 + 31, 17 * 60), SessionHours::all, SessionLength::week));
    EXPECT_FALSE(complete(minutes(8 * 60, 9 * 60 + 29), SessionHours::eth));
    EXPECT_TRUE(complete(minutes(8 * 60, 9 * 60 + 30), SessionHours::eth));
    const SessionPlan open = volume_plan(minutes(9 * 60 + 31, 12 * 60), rules_for(SessionHours::rth));
    EXPECT_EQ(open.complete_sessions().size(), 3u);
    EXPECT_THAT(open.notes, testing::Contains(testing::HasSubstr("2025-03-07 17:00:00 UTC")));
}

TEST(PlanSessions, HalfDaysEndEarlyAndHolidaysHaveNoRegularHours) {
    BarBuilder builder;
    for (std::int32_t date = make_date(2024, 11, 27); date <= make_date(2024, 11, 29); ++date)
        for (int minute = 9 * 60 + 1; minute <= 17 * 60; ++minute)
            builder.add(new_york(date, minute));
    const SessionPlan regular = volume_plan(builder.table(), rules_for(SessionHours::rth));
    ASSERT_EQ(regular.sessions.size(), 2u);
    EXPECT_EQ(regular.sessions[0].count, 390u);
    EXPECT_FALSE(regular.sessions[0].half_day);
    EXPECT_EQ(regular.sessions[1].date, make_date(2024, 11, 29));
    EXPECT_EQ(regular.sessions[1].count, 210u);
    EXPECT_TRUE(regular.sessions[1].half_day);
    EXPECT_THAT(regular.notes,
                testing::Contains(testing::HasSubstr("390 bars fall in the regular hours of holidays")));
    const SessionPlan all = volume_plan(builder.table(), rules_for(SessionHours::all));
    ASSERT_EQ(all.sessions.size(), 3u);
    EXPECT_TRUE(all.sessions[1].half_day);
    const SessionPlan without = plan_sessions(builder.table(), rules_for(SessionHours::rth),
                                              HolidayCalendar::none(), RollMethod::volume);
    EXPECT_EQ(without.sessions.size(), 3u);
    EXPECT_EQ(without.sessions[2].count, 390u);
}

TEST(PlanSessions, ReportsDaysThatTheCalendarDoesNotCover) {
    BarBuilder builder;
    for (const std::int32_t date : {make_date(1990, 3, 7), make_date(1990, 3, 8), make_date(1999, 3, 8)})
        builder.add(new_york(date, 10 * 60));
    EXPECT_THAT(volume_plan(builder.table(), rules_for(SessionHours::all)).notes,
                testing::Contains(testing::HasSubstr("2 sessions are outside the calendar")));
}

// The date of the label decides; regular hours are 09:30 <= time < 16:00, without a zone.
TEST(PlanSessions, RawClockReadsLabels) {
    const std::int32_t friday = make_date(2025, 1, 10), saturday = friday + 1;
    const auto at = [](std::int32_t date, int minute) {
        return std::int64_t{date} * day_seconds + minute * 60;
    };
    BarBuilder builder;
    for (const int minute : {0, 9 * 60 + 29, 9 * 60 + 30, 15 * 60 + 59, 16 * 60, 23 * 60 + 59})
        builder.add(at(friday, minute)).add(at(saturday, minute));
    const BarTable bars = builder.table();
    const SessionRules rth = rules_for(SessionHours::rth, SessionLength::day, Clock::raw);
    for (const bool like_original : {false, true}) { // the original drops Saturdays
        const SessionPlan regular =
            plan_sessions(bars, rth, HolidayCalendar::embedded(), RollMethod::volume, like_original);
        ASSERT_EQ(regular.sessions.size(), like_original ? 1u : 2u);
        EXPECT_EQ(regular.sessions[0].date, friday);
        EXPECT_EQ(regular.sessions[0].first, 2u);
        EXPECT_EQ(regular.sessions[0].count, 2u);
        EXPECT_EQ(regular.sessions.back().date, like_original ? friday : saturday);
    }
    const SessionPlan all = volume_plan(bars, rules_for(SessionHours::all, SessionLength::day, Clock::raw));
    ASSERT_EQ(all.sessions.size(), 2u);
    EXPECT_EQ(all.sessions[0].count, 6u);
    EXPECT_EQ(all.sessions[1].date, saturday);
    EXPECT_TRUE(all.sessions[1].complete);
    EXPECT_THROW(volume_plan(bars, rules_for(SessionHours::eth, SessionLength::day, Clock::raw)), Error);
}

TEST(PlanSessions, DatesOnlyGiveOneSessionEach) {
    BarBuilder builder;
    builder.dates_only();
    for (std::int32_t date = make_date(2018, 12, 17); date <= make_date(2018, 12, 31); ++date)
        if (!is_weekend(date) && !HolidayCalendar::embedded().is_holiday(date))
            builder.add(std::int64_t{date} * day_seconds);
    const BarTable bars = builder.table();
    const SessionPlan days = volume_plan(bars, rules_for(SessionHours::all));
    EXPECT_EQ(days.sessions.size(), 10u);
    EXPECT_EQ(days.complete_sessions().size(), 10u);
    const SessionPlan weeks = volume_plan(bars, rules_for(SessionHours::all, SessionLength::week));
    ASSERT_EQ(weeks.sessions.size(), 3u);
    EXPECT_EQ(weeks.sessions[0].date, make_date(2018, 12, 21));
    EXPECT_EQ(weeks.sessions[1].count, 4u);          // Christmas
    EXPECT_EQ(weeks.complete_sessions().size(), 2u); // the Monday of the last week does not end it
    EXPECT_THROW(volume_plan(bars, rules_for(SessionHours::rth)), Error);
    EXPECT_THROW(volume_plan(bars, rules_for(SessionHours::eth)), Error);
}

TEST(PlanSessions, WeekEndsWithItsLastBusinessDay) {
    BarBuilder builder; // Good Friday 2025 is April 18
    builder.dates_only();
    for (std::int32_t date = make_date(2025, 4, 14); date <= make_date(2025, 4, 17); ++date)
        builder.add(std::int64_t{date} * day_seconds);
    EXPECT_TRUE(volume_plan(builder.table(), rules_for(SessionHours::all, SessionLength::week))
                    .sessions.back()
                    .complete);
    EXPECT_FALSE(volume_plan(builder.table(3), rules_for(SessionHours::all, SessionLength::week))
                     .sessions.back()
                     .complete);
}

TEST(PlanSessions, DayStartOfCurrencies) {
    BarBuilder builder;
    builder.bar_seconds(3600);
    const std::int32_t monday = make_date(2025, 3, 3);
    for (const int minute : {16 * 60, 17 * 60, 18 * 60})
        builder.add(new_york(monday, minute));
    SessionRules rules = rules_for(SessionHours::all);
    rules.day_start = 17 * 60;
    const SessionPlan evening = volume_plan(builder.table(), rules);
    ASSERT_EQ(evening.sessions.size(), 2u);
    EXPECT_EQ(evening.sessions[0].count, 2u); // the bar that ends at 17:00 closes Monday
    EXPECT_EQ(evening.sessions[1].date, monday + 1);
    rules.day_start = 0; // midnight: the trading day is the local date
    EXPECT_EQ(volume_plan(builder.table(), rules).sessions.size(), 1u);
}

TEST(PlanSessions, RejectsContradictoryRules) {
    const BarTable bars = BarBuilder().add(new_york(make_date(2025, 3, 3), 600)).table();
    const auto rejected = [&](auto change) {
        SessionRules rules;
        change(rules);
        try {
            volume_plan(bars, rules);
        } catch (const Error& error) {
            return error.status() == ExitStatus::usage;
        }
        return false;
    };
    EXPECT_FALSE(rejected([](SessionRules&) {}));
    EXPECT_TRUE(
        rejected([](SessionRules& r) { r.length = SessionLength::week, r.hours = SessionHours::rth; }));
    for (const SessionHours hours : {SessionHours::rth, SessionHours::eth}) {
        EXPECT_TRUE(rejected([&](SessionRules& r) { r.hours = hours, r.rth_open = r.rth_close; }));
        EXPECT_TRUE(rejected([&](SessionRules& r) { r.hours = hours, r.day_start = 15 * 60; }));
        EXPECT_TRUE(rejected([&](SessionRules& r) { r.hours = hours, r.day_start = 10 * 60; }));
        EXPECT_TRUE(rejected([&](SessionRules& r) { r.hours = hours, r.rth_known = false; }));
    }
    // Sessions of the whole day do not use regular hours, so these cannot contradict the day start.
    EXPECT_FALSE(rejected([](SessionRules& r) { r.day_start = 10 * 60; }));
    EXPECT_TRUE(rejected([](SessionRules& r) { r.day_start = 24 * 60; }));
    EXPECT_TRUE(rejected([](SessionRules& r) { r.zone = "America/Gotham"; }));
}

TEST(PlanSessions, NoBarsGiveNoSessions) {
    const BarTable bars = BarBuilder().table();
    for (const SessionHours hours : {SessionHours::all, SessionHours::rth, SessionHours::eth})
        EXPECT_TRUE(volume_plan(bars, rules_for(hours)).sessions.empty());
}

} // namespace
} // namespace rekindle::market
