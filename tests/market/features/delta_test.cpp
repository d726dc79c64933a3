/// Volumes at the bid and at the ask: from files to features.

#include "features/feature_testing.h"
#include "reading/reading_support.h"

#include <rekindle/market/column_file.h>
#include <rekindle/market/features.h>
#include <rekindle/market/inspect.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

using testing::HasSubstr;

const std::string with_sides = "time,open,high,low,close,volume,bid_volume,ask_volume\n"
                               "2024-03-15 09:31:00,10,12,9,11,100,30,60\n"
                               "2024-03-15 09:32:00,11,12,9,11,50,50,0\n"
                               "2024-03-15 09:33:00,11,13,9,12,0,0,0\n";

TEST(Sides, AreReadInMemoryAndThroughTheColumnFile) {
    for (const std::size_t chunk : {std::size_t{0}, std::size_t{1}}) {
        const TestFolder folder;
        ReadOptions options;
        options.paths = {folder.write("bars.csv", with_sides)};
        options.chunk_size = chunk;
        options.column_file = folder / "bars.columns";
        const ReadResult read = read_with(options);
        const BarColumns& columns = read.bars.columns();
        EXPECT_EQ(copy_of(columns.bid_volume), (std::vector<std::int64_t>{30, 50, 0}));
        EXPECT_EQ(copy_of(columns.ask_volume), (std::vector<std::int64_t>{60, 0, 0}));
        write_column_file(folder / "again.columns", read.bars);
        const BarTable again = open_column_file(folder / "again.columns");
        EXPECT_EQ(copy_of(again.columns().ask_volume), copy_of(columns.ask_volume));
        EXPECT_EQ(copy_of(again.columns().subspan(1, 2).bid_volume), (std::vector<std::int64_t>{50, 0}));
    }
}

TEST(Sides, StayWithTheirRows) {
    // Newest first, and from two files that overlap in time.
    const std::string header = "time,open,high,low,close,volume,bid_volume,ask_volume,contract\n";
    std::string forward = header, backward = header, odd = header;
    for (int i = 0; i < 60; ++i) {
        const std::string row =
            fmt::format("2024-03-15 10:{:02}:00,10,12,9,11,100,{},{},A\n", i, i % 50, 2 * i % 90);
        forward += row;
        backward.insert(header.size(), row);
        odd += fmt::format("2024-03-15 10:{:02}:00,10,12,9,11,100,{},{},B\n", i, 50, i);
    }
    const ReadResult one = read_text(forward), other = read_text(backward);
    EXPECT_EQ(copy_of(one.bars.columns().bid_volume), copy_of(other.bars.columns().bid_volume));
    EXPECT_EQ(copy_of(one.bars.columns().ask_volume), copy_of(other.bars.columns().ask_volume));
    const TestFolder folder;
    ReadOptions options;
    options.paths = {folder.write("a.csv", forward), folder.write("b.csv", odd)};
    const ReadResult both = read_with(options);
    const BarColumns& columns = both.bars.columns();
    ASSERT_EQ(columns.size(), 120U);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto minute = static_cast<std::int64_t>(i / 2);
        EXPECT_EQ(columns.bid_volume[i], columns.contract[i] == 0 ? minute % 50 : 50) << i;
        EXPECT_EQ(columns.ask_volume[i], columns.contract[i] == 0 ? 2 * minute % 90 : minute) << i;
    }
}

TEST(Sides, OneOfThemIsTheRestOfTheOther) {
    const ReadResult read =
        read_text("open_time,open,high,low,close,volume,taker_buy_volume\n"
                  "2024-03-15 09:31:00,10,12,9,11,1.5,0.25\n2024-03-15 09:32:00,11,12,9,11,2,2\n");
    EXPECT_EQ(copy_of(read.bars.columns().ask_volume), (std::vector<std::int64_t>{25, 200}));
    EXPECT_EQ(copy_of(read.bars.columns().bid_volume), (std::vector<std::int64_t>{125, 0}));
}

TEST(Sides, OfBinanceKlinesWithoutAHeader) {
    const ReadResult read = read_text(
        "1704067200000,42283.58,42298.62,42261.02,42298.61,35.92724,1704067259999,1519032.1,1327,23.18766,"
        "980394.2,0\n"
        "1704067260000,42298.61,42320.0,42298.61,42320.0,21.16779,1704067319999,895580.9,1018,13.1,554255.6,"
        "0\n");
    EXPECT_EQ(copy_of(read.bars.columns().ask_volume), (std::vector<std::int64_t>{2'318'766, 1'310'000}));
    EXPECT_EQ(copy_of(read.bars.columns().bid_volume), (std::vector<std::int64_t>{1'273'958, 806'779}));
}

TEST(Sides, AreLeftOutUnlessAllFilesHaveThem) {
    const TestFolder folder;
    ReadOptions options;
    options.paths = {folder.write("bars-2023.csv", with_sides),
                     folder.write("bars-2024.csv", bars_header + "2024-03-18 09:31:00,10,12,9,11,100\n")};
    const ReadResult read = read_with(options);
    EXPECT_FALSE(read.bars.columns().has_sides());
    EXPECT_THAT(fmt::format("{}", fmt::join(read.report.notes, " ")),
                HasSubstr("Volumes at the bid and at the ask are not used, because"));
}

TEST(Sides, WrongOnesMakeARowBad) {
    const std::string error = error_of(
        "time,open,high,low,close,volume,bid_volume,ask_volume\n2024-03-15 09:31:00,10,12,9,11,100,-3,60\n"
        "2024-03-15 09:32:00,10,12,9,11,100,3,x\n");
    EXPECT_THAT(error, HasSubstr("bars.csv:2:36: the volume at the bid -3 is negative"));
    EXPECT_THAT(error, HasSubstr("bars.csv:3:38: the volume at the ask \"x\" is not a number"));
}

TEST(Sides, AreShownByInspect) {
    const ReadResult read = read_text(with_sides);
    const InspectReport report =
        inspect(read.bars, read.report, SessionRules(), HolidayCalendar::none(), RollMethod::volume);
    EXPECT_THAT(render(report), HasSubstr("Sides      volumes at the bid (57.1 %) and at the ask (42.9 %)"));
    EXPECT_EQ(to_json(report)["bid_volume"], 80);
    EXPECT_EQ(to_json(report)["ask_volume"], 60);
}

TEST(DeltaFeatures, AgreeWithABruteForceVersion) {
    ThreadPool pool(2);
    const std::vector<SessionSummary> sessions = fixtures::random_summaries(80, 21);
    const FeatureMatrix matrix = session_features(sessions, fixtures::golden_tick, {"delta"}, pool);
    ASSERT_EQ(matrix.names, (std::vector<std::string>{"delta_pct", "delta_change_1d", "delta_pct_5d_ma",
                                                      "delta_pct_20d_ma", "delta_divergence"}));
    const auto delta = [&](std::size_t t) {
        const double bid = static_cast<double>(sessions[t].bid_volume);
        const double ask = static_cast<double>(sessions[t].ask_volume);
        return (ask - bid) / (ask + bid) * 100;
    };
    const auto mean = [&](std::size_t t, std::size_t count) {
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += delta(t - i);
        return sum / static_cast<double>(count);
    };
    ASSERT_EQ(matrix.rows(), 61U);
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        const std::size_t t = matrix.source[row];
        EXPECT_NEAR(matrix.at(row, 0), delta(t), 1e-9);
        EXPECT_NEAR(matrix.at(row, 1), delta(t) - delta(t - 1), 1e-9);
        EXPECT_NEAR(matrix.at(row, 2), mean(t, 5), 1e-9);
        EXPECT_NEAR(matrix.at(row, 3), mean(t, 20), 1e-9);
        const bool rose = sessions[t].close > sessions[t].open, fell = sessions[t].close < sessions[t].open;
        EXPECT_EQ(matrix.at(row, 4), (delta(t) > 0 && fell) || (delta(t) < 0 && rose) ? 1 : 0);
    }
}

TEST(DeltaFeatures, NeedTheSides) {
    ThreadPool pool(1);
    std::vector<SessionSummary> sessions = fixtures::random_summaries(80, 21);
    for (SessionSummary& session : sessions)
        session.bid_volume = session.ask_volume = -1;
    try {
        session_features(sessions, fixtures::golden_tick, {"session", "delta"}, pool);
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.render(), HasSubstr("needs volumes at the bid and at the ask"));
        EXPECT_THAT(error.render(), HasSubstr("bid_volume=NAME"));
    }
}

} // namespace
} // namespace rekindle::market
