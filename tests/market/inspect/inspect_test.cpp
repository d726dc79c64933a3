#include "sessions/bar_builder.h"

#include <rekindle/base/text.h>
#include <rekindle/market/inspect.h>
#include <rekindle/market/simulate.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rekindle::market {
namespace {

using fixtures::BarBuilder;
using fixtures::new_york;
using testing::HasSubstr;

/// The report that a reader would give for the table.
ReadReport report_of(const BarTable& bars) {
    ReadReport report;
    report.format = "merged CSV";
    report.files = {"bars.csv"};
    report.rows = bars.size();
    report.tick = bars.metadata().tick;
    report.columns = {{"time", "timestamp", 1}, {"close", "close", 5}, {"", "session", 8}};
    for (const std::string& name : bars.metadata().contracts)
        report.contracts.push_back({name, 0});
    if (bars.size() > 0) {
        report.first_time = bars.columns().time.front();
        report.last_time = bars.columns().time.back();
    }
    return report;
}

InspectReport inspect_bars(const BarTable& bars, const SessionRules& rules = {},
                           RollMethod method = RollMethod::volume) {
    return inspect(bars, report_of(bars), rules, HolidayCalendar::embedded(), method);
}

BarTable simulated_bars(std::int64_t count) {
    SimulateOptions options;
    options.bars = count;
    return simulate_table(options);
}

/// The table without the bars for which `drop` is true.
template <class Drop>
BarTable without(const BarTable& table, Drop drop) {
    const BarColumns& from = table.columns();
    BarBuffer buffer;
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (drop(from.time[i]))
            continue;
        buffer.time.push_back(from.time[i]);
        buffer.open.push_back(from.open[i]);
        buffer.high.push_back(from.high[i]);
        buffer.low.push_back(from.low[i]);
        buffer.close.push_back(from.close[i]);
        buffer.volume.push_back(from.volume[i]);
        buffer.contract.push_back(from.contract[i]);
    }
    return BarBuffer::into_table(std::move(buffer), table.metadata());
}

TEST(Inspect, SimulatedBarsHaveNoHolesAndNoMissingDays) {
    const InspectReport report = inspect_bars(simulated_bars(120'000));
    EXPECT_EQ(report.holes, 0u);
    EXPECT_EQ(report.missing_day_count, 0u);
    EXPECT_TRUE(report.regular_pauses.empty());
    EXPECT_EQ(report.clock.verdict, ClockSuggestion::Verdict::agrees);
    EXPECT_GE(report.plan.rolls.size(), 1u);
    ASSERT_EQ(report.sessions.size(), 4u);
    EXPECT_EQ(report.sessions[0].median_bars, 390u);
    EXPECT_EQ(report.sessions_needed, 51); // the first 50 sessions have no complete row
    EXPECT_EQ(lacking_sessions(report, report.sessions[0]), 0);
    EXPECT_GT(lacking_sessions(report, report.sessions[3]), 0); // four months of weeks
}

TEST(Inspect, FindsHolesAndMissingDays) {
    const BarTable whole = simulated_bars(60'000);
    const std::int32_t day = make_date(2021, 12, 21);
    const BarTable holed = without(whole, [&](std::int64_t time) {
        const bool hour = time > new_york(day, 10 * 60) && time <= new_york(day, 11 * 60);
        const bool quarter =
            time > new_york(day + 1, 600) && time <= new_york(day + 1, 612); // too short to count
        const bool two_days = time > new_york(day + 6, 18 * 60) && time <= new_york(day + 8, 18 * 60);
        return hour || quarter || two_days;
    });
    const InspectReport report = inspect_bars(holed);
    EXPECT_EQ(report.holes, 1u);
    EXPECT_THAT(report.largest_holes, testing::ElementsAre(Hole{new_york(day, 600), new_york(day, 661)}));
    EXPECT_EQ(report.missing_day_count, 2u);
    EXPECT_THAT(report.missing_days, testing::ElementsAre(day + 7, day + 8));
}

TEST(Inspect, RegularPausesAreNotHoles) {
    SessionRules rules;
    rules.day_start = 0; // the trading day is the local date, so it contains the daily halt
    const InspectReport report = inspect_bars(simulated_bars(60'000), rules);
    // Only the early close on Martin Luther King Jr. Day is unusual.
    const std::int32_t holiday = make_date(2022, 1, 17);
    EXPECT_EQ(report.holes, 1u);
    EXPECT_THAT(report.largest_holes,
                testing::ElementsAre(Hole{new_york(holiday, 13 * 60), new_york(holiday, 18 * 60 + 1)}));
    ASSERT_EQ(report.regular_pauses.size(), 1u);
    EXPECT_EQ(report.regular_pauses[0].begin_minute, 17 * 60);
    EXPECT_EQ(report.regular_pauses[0].end_minute, 18 * 60 + 1);
}

TEST(Inspect, SaysHowManyMoreSessionsTheLookBacksNeed) {
    BarBuilder builder;
    builder.dates_only();
    for (std::int32_t date = make_date(2018, 1, 1), sessions = 0; sessions < 40; ++date)
        if (!is_weekend(date)) {
            builder.add(std::int64_t{date} * day_seconds);
            ++sessions;
        }
    const InspectReport report = inspect_bars(builder.table());
    EXPECT_FALSE(report.sessions[0].refused.empty());
    EXPECT_EQ(lacking_sessions(report, report.sessions[2]), 11);
    const std::string text = render(report, 200);
    EXPECT_THAT(text, HasSubstr("the look-backs need 11 more"));
    EXPECT_THAT(text, HasSubstr("2018-01-01 to 2018-02-23"));
    EXPECT_THAT(text, HasSubstr("each belongs to a date"));
}

TEST(Inspect, ReportsContractsThatTheRollMethodRejects) {
    const InspectReport report = inspect_bars(simulated_bars(60'000), {}, RollMethod::single);
    EXPECT_THAT(report.roll_error, HasSubstr("contracts"));
    EXPECT_TRUE(report.plan.sessions.empty());
    EXPECT_THAT(render(report), HasSubstr("--roll volume"));
    EXPECT_FALSE(to_json(report).at("roll_error").is_null());
}

TEST(Inspect, TextIsPlainAndNamesZonesAndUnits) {
    const InspectReport report = inspect_bars(simulated_bars(120'000));
    for (const std::size_t width : {60u, 100u}) {
        const std::string text = render(report, width);
        for (const std::string_view line : split(text, '\n'))
            EXPECT_LE(line.size(), std::max<std::size_t>(width, 70)) << line;
        EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                                [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    }
    const std::string text = render(report);
    EXPECT_THAT(text, HasSubstr("2021-12-05 23:01:00 UTC (18:01:00 America/New_York)"));
    EXPECT_THAT(text, HasSubstr("not used: 8 session"));
    EXPECT_THAT(text, HasSubstr("points"));
    SessionRules raw;
    raw.raw_labels = true;
    EXPECT_THAT(render(inspect_bars(simulated_bars(20'000), raw)),
                HasSubstr("2021-12-05 23:01:00 by the label"));
}

TEST(Inspect, JsonContainsTheSameFacts) {
    const InspectReport report = inspect_bars(simulated_bars(120'000));
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(report).dump());
    EXPECT_EQ(json.at("rows"), 120'000);
    EXPECT_EQ(json.at("rolls").size(), report.plan.rolls.size());
    EXPECT_EQ(json.at("rolls")[0].at("gap_ticks"), report.plan.rolls[0].gap_ticks);
    EXPECT_EQ(json.at("rolls")[0].at("date"), format_date(report.plan.rolls[0].date));
    EXPECT_EQ(json.at("sessions")[2].at("sessions"), report.sessions[2].sessions);
    EXPECT_EQ(json.at("clock_suggestion").at("verdict"), "agrees");
    EXPECT_EQ(json.at("columns")[2].at("used_as"), nullptr);
    EXPECT_EQ(json.at("first_bar").at("seconds"), report.reading.first_time);
}

} // namespace
} // namespace rekindle::market
