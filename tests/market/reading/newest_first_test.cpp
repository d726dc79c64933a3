/// Files that start with their newest bar, as exported by many vendors.

#include "reading/reading_support.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

using testing::HasSubstr;

/// The text with the rows after the first `kept` lines in reverse order.
std::string reversed_rows(const std::string& text, std::size_t kept) {
    std::vector<std::string_view> lines = split(text, '\n');
    if (lines.back().empty())
        lines.pop_back();
    std::reverse(lines.begin() + static_cast<std::ptrdiff_t>(kept), lines.end());
    std::string result;
    for (const std::string_view line : lines)
        result += std::string(line) + "\n";
    return result;
}

// 100,000 bars span several pieces and blocks, two contracts and a VIX column.
TEST(NewestFirst, GivesTheBarsInChronologicalOrder) {
    for (const std::int64_t bars : {3, 700, 100'000}) {
        const std::string text = simulated_text(bars, 6);
        const ReadResult expected = read_text(text);
        const std::string reversed = reversed_rows(text, 2);
        const ReadResult plain = read_text(reversed);
        expect_same_bars_and_vix(plain.bars, expected.bars);
        EXPECT_THAT(plain.report.notes, testing::Contains(HasSubstr("runs from newest to oldest")));
        EXPECT_THAT(expected.report.notes, testing::Not(testing::Contains(HasSubstr("newest"))));
        EXPECT_EQ(plain.report.data_hash, hash128(reversed));
        expect_same_bars_and_vix(read_text(packed(reversed), {}, "bars.csv.gz").bars, expected.bars);
        const TestFolder folder;
        ReadOptions chunked = options_for(folder.write("bars.csv", reversed));
        chunked.chunk_size = 100;
        chunked.column_file = folder.path() / "bars.columns";
        expect_same_bars_and_vix(read_with(chunked, 3).bars, expected.bars);
    }
}

// The hour that is repeated in the fall: its first and second occurrence keep their order.
TEST(NewestFirst, LocalTimeRepeatedInTheFall) {
    std::string text = bars_header;
    const ZoneClock clock = ZoneClock::load("America/New_York");
    const std::int64_t begin = std::int64_t{make_date(2024, 11, 2)} * day_seconds;
    for (int bar = 0; bar < 96 * 4; ++bar)
        text += fmt::format("{},1,1,1,1,{}\n", format_civil(clock.to_local(begin + bar * 900)), bar);
    ReadOptions options;
    options.clock = Clock::exchange;
    const ReadResult expected = read_text(text, options);
    ASSERT_EQ(expected.bars.columns().time.back(), begin + (96 * 4 - 1) * 900);
    expect_same_bars_and_vix(read_text(reversed_rows(text, 1), options).bars, expected.bars);
}

TEST(NewestFirst, ErrorsHaveTheRightLineNumbers) {
    std::string text = bars_header;
    for (int minute = 59; minute >= 0; --minute)
        text += fmt::format("2024-12-12 05:{:02}:00,1,1,1,1,{}\n", minute, minute == 30 ? "x" : "5");
    EXPECT_THAT(error_of(text), testing::StartsWith("bars.csv:31:29: the volume \"x\""));
    std::string disordered = bars_header;
    for (int minute = 59; minute >= 0; --minute)
        disordered += fmt::format("2024-12-12 05:{:02}:00,1,1,1,1,5\n", minute == 20 ? 50 : minute);
    EXPECT_THAT(error_of(disordered), HasSubstr("in a file that starts with its newest bar"));
    EXPECT_THAT(error_of(disordered), HasSubstr("each bar to be older than the one above it"));
}

TEST(NewestFirst, FilesInBothOrdersFormOneHistory) {
    const TestFolder folder;
    folder.write("es-2023.csv",
                 bars_header + "2023-12-12 05:02:00,1,1,1,1,2\n2023-12-12 05:01:00,1,1,1,1,1\n");
    folder.write("es-2024.csv",
                 bars_header + "2024-12-12 05:01:00,1,1,1,1,3\n2024-12-12 05:02:00,1,1,1,1,4\n");
    const ReadResult result = read_with(options_for(folder.path()));
    EXPECT_THAT(result.bars.columns().volume, testing::ElementsAre(1, 2, 3, 4));
}

// A file with one contract after another runs forward, regardless of the order of the contracts.
TEST(NewestFirst, ConsecutiveContractsAreNotReversed) {
    const ReadResult result = read_text("time,open,high,low,close,volume,contract\n"
                                        "2024-12-12 05:01:00,1,1,1,1,1,B\n2024-12-12 05:02:00,1,1,1,1,2,B\n"
                                        "2024-12-11 05:01:00,1,1,1,1,3,A\n2024-12-11 05:02:00,1,1,1,1,4,A\n");
    EXPECT_THAT(result.report.notes, testing::Not(testing::Contains(HasSubstr("newest"))));
    EXPECT_THAT(result.bars.columns().volume, testing::ElementsAre(3, 4, 1, 2));
}

TEST(NewestFirst, VixFileGivesTheSameValues) {
    const TestFolder folder;
    std::string vix = "DATE,OPEN,HIGH,LOW,CLOSE\n";
    for (int day = 1; day <= 20; ++day)
        vix += fmt::format("2024-12-{:02},1,1,1,{}\n", day, 10 + day);
    const std::string bars = "time,open,high,low,close,volume\n"
                             "2024-12-05 15:00:00,1,1,1,1,1\n2024-12-05 15:01:00,1,1,1,1,1\n"
                             "2024-12-12 15:00:00,1,1,1,1,1\n2024-12-12 15:01:00,1,1,1,1,1\n";
    std::vector<float> seen;
    for (const std::string& text : {vix, reversed_rows(vix, 1)}) {
        ReadOptions options = options_for(folder.write("bars.csv", bars));
        options.vix = folder.write("vix.csv", text);
        const ReadResult result = read_with(options);
        const auto values = result.bars.columns().vix;
        seen.insert(seen.end(), values.begin(), values.end());
    }
    EXPECT_THAT(seen, testing::ElementsAre(14, 14, 21, 21, 14, 14, 21, 21));
}

} // namespace
} // namespace rekindle::market
