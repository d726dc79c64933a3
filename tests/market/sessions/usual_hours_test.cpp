/// Session times follow the market: the same bars are in the same sessions in every zone of the US.

#include "reading/reading_support.h"
#include "sessions/bar_builder.h"

#include <rekindle/market/clock_suggestion.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/simulate.h>
#include <rekindle/market/usual_hours.h>
#include <rekindle/market/volume_profile.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rekindle::market {
namespace {

using fixtures::volume_plan;
using testing::HasSubstr;

/// Nine weeks around a change of the clocks.
BarTable simulated() {
    static const BarTable table =
        simulate_table({.bars = 60'000, .seed = 3, .start_date = make_date(2024, 2, 12)});
    return table;
}

/// The bars as text, with timestamps in local time of the zone.
std::string text_in(const char* zone) {
    const ZoneClock clock = ZoneClock::load(zone);
    const BarTable table = simulated();
    const BarColumns bars = table.columns();
    std::string text = "time,open,high,low,close,volume,contract\n";
    for (std::size_t i = 0; i < bars.size(); ++i)
        text += fmt::format("{},{},{},{},{},{},{}\n", format_civil(clock.to_local(bars.time[i])),
                            bars.open[i], bars.high[i], bars.low[i], bars.close[i], bars.volume[i],
                            table.metadata().contracts[bars.contract[i]]);
    return text;
}

struct DayVolume {
    std::int32_t date = 0;
    std::int64_t volume = 0;
    friend bool operator==(const DayVolume&, const DayVolume&) = default;
};

std::vector<DayVolume> days_of(const BarTable& bars, SessionRules rules, SessionHours hours,
                               SessionLength length) {
    rules.hours = hours;
    rules.length = length;
    const SessionPlan plan = volume_plan(bars, rules);
    ThreadPool pool(1);
    std::vector<DayVolume> days;
    for (const SessionSummary& session : summarize_sessions(bars, plan.sessions, {}, pool))
        days.push_back({session.date, session.total_volume});
    return days;
}

const std::vector<const char*> us_zones{"America/New_York",  "America/Chicago",
                                        "America/Denver",    "America/Los_Angeles",
                                        "America/Anchorage", "America/Phoenix",
                                        "Pacific/Honolulu",  "America/Toronto",
                                        "America/Halifax",   "America/Indiana/Indianapolis"};

TEST(UsualHours, AreThoseOfTheMarketInLocalTime) {
    struct Case {
        const char* zone;
        const char* rules_zone;
        int day_start, open, close;
    };
    for (const Case& one : std::vector<Case>{{"America/New_York", "America/New_York", 1080, 570, 960},
                                             {"America/Chicago", "America/Chicago", 1020, 510, 900},
                                             {"US/Central", "US/Central", 1020, 510, 900},
                                             {"America/Denver", "America/Denver", 960, 450, 840},
                                             {"America/Los_Angeles", "America/Los_Angeles", 900, 390, 780},
                                             {"America/Halifax", "America/Halifax", 1140, 630, 1020},
                                             {"America/Phoenix", "America/New_York", 1080, 570, 960},
                                             {"Pacific/Honolulu", "America/New_York", 1080, 570, 960}}) {
        const SessionRules rules = usual_session_rules(one.zone);
        EXPECT_EQ(rules.zone, one.rules_zone) << one.zone;
        EXPECT_EQ(rules.day_start, one.day_start) << one.zone;
        EXPECT_EQ(rules.rth_open, one.open) << one.zone;
        EXPECT_EQ(rules.rth_close, one.close) << one.zone;
        EXPECT_TRUE(rules.rth_known) << one.zone;
        EXPECT_FALSE(rules.day_start_assumed) << one.zone;
        EXPECT_EQ(zone_of_dates(one.zone), "America/New_York");
    }
    for (const char* zone : {"Europe/Berlin", "Europe/London", "Asia/Tokyo", "UTC", "America/Sao_Paulo"}) {
        const SessionRules rules = usual_session_rules(zone);
        EXPECT_EQ(rules.zone, zone);
        EXPECT_FALSE(rules.rth_known) << zone;
        EXPECT_TRUE(rules.day_start_assumed) << zone;
        EXPECT_EQ(zone_of_dates(zone), zone);
    }
}

TEST(UsualHours, GiveTheSameSessionsInEveryZoneOfTheUs) {
    const SessionRules here = usual_session_rules("America/New_York");
    for (const char* zone : us_zones) {
        ReadOptions options;
        options.clock = Clock::exchange;
        options.zone = options.exchange_zone = zone;
        options.tick = 1;
        const ReadResult read = read_text(text_in(zone), options);
        const SessionRules rules = usual_session_rules(zone);
        for (const SessionHours hours : {SessionHours::all, SessionHours::rth, SessionHours::eth}) {
            const auto expected = days_of(simulated(), here, hours, SessionLength::day);
            EXPECT_GT(expected.size(), 30u);
            EXPECT_EQ(days_of(read.bars, rules, hours, SessionLength::day), expected) << zone;
        }
        EXPECT_EQ(days_of(read.bars, rules, SessionHours::all, SessionLength::week),
                  days_of(simulated(), here, SessionHours::all, SessionLength::week))
            << zone;
        const ClockSuggestion suggestion = suggest_clock(read.bars, rules, read.report.stamps);
        EXPECT_EQ(suggestion.verdict, ClockSuggestion::Verdict::agrees) << zone << suggestion.message;
        EXPECT_EQ(suggestion.stamp_message + suggestion.hours_message + suggestion.day_message, "") << zone;
        EXPECT_THAT(volume_plan(read.bars, rules).notes,
                    testing::Not(testing::Contains(HasSubstr("assumed"))));
    }
}

TEST(UsualHours, AHaltAtAnotherTimeThanTheDayStartIsReported) {
    SessionRules rules = usual_session_rules("America/Chicago");
    EXPECT_EQ(suggest_clock(simulated(), rules).day_message, "");
    rules.day_start = 18 * 60;
    EXPECT_EQ(
        suggest_clock(simulated(), rules).day_message,
        "There is hardly a bar from 16:00 to 17:00 America/Chicago, but the trading day begins at 18:00, "
        "so sessions are cut during trading. Use --day-start 17:00.");
    rules.day_start = 0;
    EXPECT_THAT(suggest_clock(simulated(), rules).day_message, HasSubstr("Use --day-start 17:00."));
    rules.day_start = 16 * 60; // the day may begin at either end of the halt
    EXPECT_EQ(suggest_clock(simulated(), rules).day_message, "");
}

TEST(UsualHours, OfOtherZonesAreAssumedAndSaidToBe) {
    EXPECT_THAT(
        volume_plan(simulated(), usual_session_rules("Europe/Berlin")).notes,
        testing::Contains("When trading days begin in Europe/Berlin is not known; 18:00 is assumed, on "
                          "the evening before. --day-start sets another time."));
    // An assumed start of the trading day is not evidence against the clock, but a daily halt at another time
    // is.
    const ClockSuggestion london = suggest_clock(simulated(), usual_session_rules("Europe/London"));
    EXPECT_EQ(london.verdict, ClockSuggestion::Verdict::unclear);
    EXPECT_THAT(london.message, HasSubstr("The hours of exchanges in Europe/London are not known"));
    const BarTable winter = simulate_table({.bars = 40'000, .seed = 3, .start_date = make_date(2024, 1, 8)});
    EXPECT_THAT(suggest_clock(winter, usual_session_rules("Europe/London")).day_message,
                HasSubstr("Use --day-start 23:00."));
}

} // namespace
} // namespace rekindle::market
