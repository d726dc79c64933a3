/// Regular hours belong to the exchange: its zone and its open and close.

#include "sessions/bar_builder.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/clock_suggestion.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/simulate.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rekindle::market {
namespace {

using fixtures::BarBuilder;
using fixtures::new_york;
using fixtures::volume_plan;
using testing::HasSubstr;

SessionRules regular(const char* zone, int open, int close) {
    SessionRules rules;
    rules.hours = SessionHours::rth;
    rules.zone = zone;
    rules.rth_open = open;
    rules.rth_close = close;
    return rules;
}

BarTable two_months() {
    static const BarTable table = [] {
        SimulateOptions options;
        options.bars = 60'000;
        options.seed = 5;
        return simulate_table(options);
    }();
    return table;
}

// The same session, given in the local time of three zones.
TEST(RegularHours, AreTheSameBarsInEveryZone) {
    const SessionPlan expected = volume_plan(two_months(), regular("America/New_York", 9 * 60 + 30, 16 * 60));
    ASSERT_GT(expected.sessions.size(), 30u);
    for (const auto& rules : {regular("America/Chicago", 8 * 60 + 30, 15 * 60),
                              regular("America/Los_Angeles", 6 * 60 + 30, 13 * 60)}) {
        const SessionPlan other = volume_plan(two_months(), rules);
        ASSERT_EQ(other.sessions.size(), expected.sessions.size()) << rules.zone;
        for (std::size_t i = 0; i < other.sessions.size(); ++i) {
            EXPECT_EQ(other.sessions[i].date, expected.sessions[i].date);
            EXPECT_EQ(other.sessions[i].first, expected.sessions[i].first);
            EXPECT_EQ(other.sessions[i].count, expected.sessions[i].count) << rules.zone << " " << i;
        }
    }
}

// The embedded half days close at 13:00 in New York, regardless of the user's zone.
TEST(RegularHours, EarlyClosesUseTheZoneOfTheCalendar) {
    BarBuilder builder;
    const std::int32_t half_day = make_date(2024, 11, 29);
    for (int minute = 9 * 60 + 1; minute <= 17 * 60; ++minute)
        builder.add(new_york(half_day, minute));
    for (const auto& [zone, open, close] :
         {std::tuple{"America/New_York", 570, 960}, {"America/Chicago", 510, 900}}) {
        const SessionPlan result = volume_plan(builder.table(), regular(zone, open, close));
        ASSERT_EQ(result.sessions.size(), 1u);
        EXPECT_EQ(result.sessions[0].count, 210u) << zone;
    }
    const HolidayCalendar local = HolidayCalendar::parse("format: rekindle-calendar/1\nname: local\n"
                                                         "source: none\nvalid_from: 2024-01-01\n"
                                                         "valid_to: 2024-12-31\nchecked: 2024-12-31\n"
                                                         "half_days: {\"13:00\": [2024-11-29]}\n",
                                                         "a test");
    EXPECT_EQ(plan_sessions(builder.table(), regular("America/Chicago", 510, 900), local, RollMethod::volume)
                  .sessions[0]
                  .count,
              270u)
        << "without a zone, closing times are local";
}

TEST(RegularHours, MustBeGivenForAnotherZone) {
    SessionRules rules = regular("America/Chicago", 570, 960);
    rules.rth_known = false;
    for (const SessionHours hours : {SessionHours::rth, SessionHours::eth}) {
        rules.hours = hours;
        try {
            volume_plan(two_months(), rules);
            FAIL() << "accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.where(), "--regular-hours");
            EXPECT_THAT(error.render(), HasSubstr("08:30-15:00"));
        }
    }
    rules.hours = SessionHours::all;
    EXPECT_GT(volume_plan(two_months(), rules).sessions.size(), 30u);
}

TEST(RegularHours, AreReportedIfTheVolumeContradictsThem) {
    const auto message = [](const char* zone, int open, int close) {
        return suggest_clock(two_months(), regular(zone, open, close)).hours_message;
    };
    EXPECT_EQ(message("America/New_York", 570, 960), "");
    EXPECT_EQ(message("America/Chicago", 510, 915), "");
    EXPECT_THAT(message("America/New_York", 510, 915), HasSubstr("but at 09:30"));
    EXPECT_THAT(message("America/Chicago", 570, 960), HasSubstr("but at 08:30"));
    SessionRules unknown = regular("America/Chicago", 570, 960);
    unknown.rth_known = false;
    EXPECT_EQ(suggest_clock(two_months(), unknown).hours_message, "");
    EXPECT_EQ(suggest_clock(two_months(), unknown).verdict, ClockSuggestion::Verdict::agrees);
}

TEST(RegularHours, HolidaysOfAnotherCountryAreReported) {
    SessionRules rules;
    rules.zone = "Europe/Berlin";
    EXPECT_THAT(volume_plan(two_months(), rules).notes,
                testing::Contains(HasSubstr("not of an exchange in Europe/Berlin")));
    rules.zone = "America/Chicago";
    EXPECT_THAT(volume_plan(two_months(), rules).notes,
                testing::Not(testing::Contains(HasSubstr("not of an exchange"))));
}

} // namespace
} // namespace rekindle::market
