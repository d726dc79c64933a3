#include "sessions/bar_builder.h"

#include <rekindle/market/clock_suggestion.h>
#include <rekindle/market/simulate.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rekindle::market {
namespace {

using Verdict = ClockSuggestion::Verdict;
using testing::HasSubstr;

/// Bars from December to April, which cover both offsets of New York.
BarTable winter_and_spring() {
    static const BarTable table = [] {
        SimulateOptions options;
        options.bars = 140'000;
        options.seed = 9;
        return simulate_table(options);
    }();
    return table;
}

/// The bars as read if the timestamps are local time of `zone` but are treated as UTC.
BarTable stamped_in(const BarTable& table, const char* zone, std::int64_t bar_seconds = 60) {
    const ZoneClock clock = ZoneClock::load(zone);
    const BarColumns& from = table.columns();
    BarBuffer buffer;
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (from.time[i] % bar_seconds != 0)
            continue;
        buffer.time.push_back(clock.to_local(from.time[i]));
        buffer.open.push_back(from.open[i]);
        buffer.high.push_back(from.high[i]);
        buffer.low.push_back(from.low[i]);
        buffer.close.push_back(from.close[i]);
        buffer.volume.push_back(from.volume[i]);
        buffer.contract.push_back(from.contract[i]);
    }
    BarMetadata metadata = table.metadata();
    metadata.bar_seconds = bar_seconds;
    return BarBuffer::into_table(std::move(buffer), metadata);
}

TEST(SuggestClock, AgreesWithUtcTimestamps) {
    const ClockSuggestion result = suggest_clock(winter_and_spring(), SessionRules{});
    EXPECT_EQ(result.verdict, Verdict::agrees) << result.message;
    EXPECT_EQ(result.candidates.front().zone, "UTC");
    ASSERT_EQ(result.seasons.size(), 2u);
    EXPECT_EQ(result.seasons[0].season, "UTC-05:00");
    EXPECT_THAT(result.seasons[0].peak_minutes, testing::UnorderedElementsAre(14 * 60 + 31, 21 * 60));
    EXPECT_EQ(result.seasons[0].quiet_hour, 22);
    EXPECT_THAT(result.seasons[1].peak_minutes, testing::UnorderedElementsAre(13 * 60 + 31, 20 * 60));
    EXPECT_EQ(result.seasons[1].quiet_hour, 21);
}

TEST(SuggestClock, FindsTheZoneOfTheTimestamps) {
    const BarTable table = winter_and_spring();
    for (const char* zone :
         {"America/New_York", "America/Chicago", "Europe/Berlin", "Europe/London", "Asia/Tokyo"})
        for (const std::int64_t bar_seconds : {60, 3600}) {
            const ClockSuggestion result =
                suggest_clock(stamped_in(table, zone, bar_seconds), SessionRules{});
            EXPECT_EQ(result.candidates.front().zone, zone) << result.message;
            // London is on UTC in winter, so a clear difference needs the summer part of the minute data.
            if (std::string(zone) != "Europe/London") {
                EXPECT_EQ(result.verdict, Verdict::contradicts) << zone << ": " << result.message;
                EXPECT_THAT(result.message, HasSubstr(zone));
            }
        }
}

TEST(SuggestClock, SuggestsTheRightOption) {
    const BarTable local = stamped_in(winter_and_spring(), "America/New_York");
    EXPECT_THAT(suggest_clock(local, SessionRules{}).message, HasSubstr("Use --clock exchange"));
    EXPECT_THAT(suggest_clock(stamped_in(winter_and_spring(), "Asia/Tokyo"), SessionRules{}).message,
                HasSubstr("Use --clock exchange --stamp-zone Asia/Tokyo (with --zone America/New_York)."));
    // UTC timestamps read as exchange time: the reader has converted them to instants that are five hours
    // off.
    const StampRules exchange{.clock = Clock::exchange};
    BarTable table = winter_and_spring();
    const ZoneClock new_york = ZoneClock::load("America/New_York");
    BarBuffer buffer;
    for (std::size_t i = 0; i < table.size(); ++i) {
        buffer.time.push_back(new_york.to_utc(table.columns().time[i]));
        for (auto* prices : {&buffer.open, &buffer.high, &buffer.low, &buffer.close})
            prices->push_back(1);
        buffer.volume.push_back(table.columns().volume[i]);
        buffer.contract.push_back(0);
    }
    const ClockSuggestion result = suggest_clock(
        BarBuffer::into_table(std::move(buffer), BarMetadata{{}, {""}, false, 60}), SessionRules{}, exchange);
    EXPECT_EQ(result.verdict, Verdict::contradicts) << result.message;
    EXPECT_THAT(result.message, HasSubstr("Use --clock utc"));
}

TEST(SuggestClock, RawUsesTheLabels) {
    const StampRules raw{.clock = Clock::raw};
    EXPECT_EQ(suggest_clock(winter_and_spring(), SessionRules{}, raw).verdict,
              Verdict::agrees); // the labels are UTC, as raw timestamps usually are
}

TEST(SuggestClock, DetectsTimestampsAtTheStartOfBars) {
    const BarTable table = winter_and_spring();
    EXPECT_EQ(suggest_clock(table, SessionRules{}).stamp_message, "");
    for (const std::int64_t bar_seconds : {60, 3600}) {
        const BarTable ends = stamped_in(table, "UTC", bar_seconds);
        EXPECT_EQ(suggest_clock(ends, SessionRules{}).stamp_message, "");
        std::vector<std::int64_t> starts(ends.columns().time.begin(), ends.columns().time.end());
        for (std::int64_t& time : starts)
            time -= bar_seconds;
        BarColumns columns = ends.columns();
        columns.time = starts;
        const BarTable shifted(columns, ends.metadata(), nullptr);
        EXPECT_THAT(suggest_clock(shifted, SessionRules{}).stamp_message, HasSubstr("Use --stamp start"))
            << bar_seconds;
        EXPECT_THAT(suggest_clock(shifted, SessionRules{}).stamp_message,
                    HasSubstr("18:00 America/New_York"));
    }
}

TEST(SuggestClock, DoesNotGuessWithoutEvidence) {
    using fixtures::BarBuilder;
    BarBuilder always; // trades evenly around the clock, all week
    for (std::int64_t minute = 0; minute < 60 * 24 * 60; minute += 5)
        always.add(1'700'000'000 + minute * 60, 100, 10);
    EXPECT_EQ(suggest_clock(always.bar_seconds(300).table(), SessionRules{}).verdict, Verdict::unclear);
    BarBuilder few;
    few.add(1'700'000'000).add(1'700'000'060);
    EXPECT_THAT(suggest_clock(few.table(), SessionRules{}).message, HasSubstr("cannot be determined"));
    BarBuilder dates;
    dates.dates_only().add(0).add(day_seconds);
    EXPECT_THAT(suggest_clock(dates.table(), SessionRules{}).message, HasSubstr("belongs to a date"));
}

// Cryptocurrencies trade at all hours, so nothing contradicts any clock.
TEST(SuggestClock, HasNoVerdictForAMarketThatNeverCloses) {
    for (const std::int64_t bar_seconds : {60, 3600}) {
        fixtures::BarBuilder builder;
        builder.bar_seconds(bar_seconds);
        for (std::int64_t i = 1; i <= 60 * day_seconds / bar_seconds; ++i)
            builder.add(std::int64_t{make_date(2024, 2, 1)} * day_seconds + i * bar_seconds, 100,
                        50 + (i * 7919) % 100);
        for (const Clock clock : {Clock::utc, Clock::exchange}) {
            const ClockSuggestion result =
                suggest_clock(builder.table(), SessionRules{}, StampRules{.clock = clock});
            EXPECT_EQ(result.verdict, Verdict::unclear) << result.message;
            EXPECT_EQ(result.stamp_message, "");
            EXPECT_EQ(result.hours_message, "");
        }
    }
}

} // namespace
} // namespace rekindle::market
