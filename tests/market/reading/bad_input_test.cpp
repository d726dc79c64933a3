#include "reading_support.h"

#include <rekindle/foundation/file.h>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace rekindle::market {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string good = "2024-12-12 05:01:00,100,101,99.75,100.25,5\n";

ReadOptions with_tick(double tick) {
    ReadOptions options;
    options.tick = tick;
    return options;
}

struct BadRow {
    const char* row;
    const char* column; ///< position in the line
    const char* what;
    const char* expected;
};

class BadRows : public testing::TestWithParam<BadRow> {};

TEST_P(BadRows, NamesPlaceAndReason) {
    const BadRow& bad = GetParam();
    const std::string text = bars_header + good + bad.row + "\n2024-12-12 05:09:00,100,101,99.75,100.25,5\n";
    const std::string message = error_of(text, with_tick(0.25));
    EXPECT_THAT(message, StartsWith(std::string("bars.csv:3:") + bad.column + ": "));
    EXPECT_THAT(message, HasSubstr(bad.what));
    EXPECT_THAT(message, HasSubstr(std::string("expected ") + bad.expected));
    EXPECT_THAT(message, HasSubstr("--bad-rows skip"));

    ReadOptions skip = with_tick(0.25);
    skip.skip_bad_rows = true;
    const ReadResult result = read_text(text, skip);
    EXPECT_EQ(result.bars.size(), 2u);
    ASSERT_EQ(result.rejected.size(), 1u);
    EXPECT_EQ(result.rejected[0].line, 3u);
    EXPECT_EQ(result.rejected[0].text, std::string(bad.row).substr(0, 400));
    EXPECT_EQ(result.report.rejected, 1u);
    EXPECT_THAT(result.report.notes, testing::Contains("1 row was skipped; rejected.csv says why."));
}

INSTANTIATE_TEST_SUITE_P(
    ReadBars, BadRows,
    testing::Values(
        BadRow{"2024-12-12 05:02:00,100,101,99,100", "32", "5 fields", "6"},
        BadRow{"2024-12-12 05:02:00,100,101,99,100,5,7", "38", "7 fields", "6"},
        BadRow{"rubbish", "1", "1 field", "6"},
        BadRow{"2024-12-12 05:02:00,,101,99,100,5", "21", "the open is missing", "a number"},
        BadRow{"2024-12-12 05:02:00,100,NaN,99,100,5", "25", "the high is missing (NaN)", "a number"},
        BadRow{"2024-12-12 05:02:00,100,101,x,100,5", "29", "the low \"x\" is not a number",
               "a decimal number"},
        BadRow{"2024-12-12 05:02:00,100,101,99,inf,5", "32", "the close \"inf\" is not a number",
               "a decimal number"},
        BadRow{"2024-12-12 05:02:00,100,101,99,100,", "36", "the volume is missing", "a number"},
        BadRow{"2024-12-12 05:02:00,100,101,99,100,-5", "36", "the volume -5 is negative", "zero or more"},
        BadRow{"2024-12-12 05:02:00,100,98,99,100,5", "25", "the high 98 is below the low 99", "high >= low"},
        BadRow{"2024-12-12 05:02:00,102,101,99,100,5", "21", "the open 102 is outside the range 99 to 101",
               "low <= open"},
        BadRow{"2024-12-12 05:02:00,100,101,99,98.75,5", "32", "the close 98.75 is outside", "low <= open"},
        BadRow{"2024-12-12 05:02:00,100.1,101,99,100,5", "21", "the open 100.1 is between two ticks",
               "a multiple of the tick 0.25"},
        BadRow{"2024-12-12 05:02:00,100,999999999,99,100,5", "25", "too large", "a multiple of the tick"},
        BadRow{"2024-12-12 05:02:00,0,101,0,100,5", "21", "the open 0 is not positive", "a price above zero"},
        BadRow{"2024-12-12 05:02:00,100,101,-99,100,5", "29", "the low -99 is not positive",
               "a price above zero"},
        BadRow{"12/12/2024 05:02,100,101,99,100,5", "1", "\"12/12/2024 05:02\" is not a valid time",
               "a timestamp like 2024-03-15 09:31:00"},
        BadRow{"2024-02-30 05:02:00,100,101,99,100,5", "1", "is not a valid time", "a timestamp like"},
        BadRow{",100,101,99,100,5", "1", "the time is missing", "a timestamp like"},
        BadRow{"2024-12-12 05:01:00,100,101,99,100,5", "1", "a second bar at 2024-12-12 05:01:00",
               "one bar per timestamp"},
        BadRow{"2024-12-12 05:00:00,100,101,99,100,5", "1", "the time goes backward to 2024-12-12 05:00:00",
               "bars in chronological order"},
        BadRow{"\"2024-12-12 05:02:00\",100,101,\"bad\",100,5", "31", "the low \"bad\" is not a number",
               "a decimal number"},
        BadRow{"\"2024-12-12 05:02:00,100,101,99,100,5", "1", "a quote is not closed", "quotes in pairs"},
        BadRow{"# a comment", "1", "1 field", "6"}));

TEST(ReadBarsErrors, ListsTheFirstTenAndTheTotalCount) {
    std::string text = bars_header + good;
    for (int i = 0; i < 1234; ++i)
        text += "2024-12-12 05:02:00,100,101,99,,5\n";
    const std::string message = error_of(text, with_tick(0.25));
    EXPECT_THAT(message,
                StartsWith("1,234 rows cannot be used; the first 10:\n  bars.csv:3:32: the close is missing, "
                           "expected a number\n  bars.csv:4:32: "));
    EXPECT_THAT(message, HasSubstr("bars.csv:12:32"));
    EXPECT_THAT(message, testing::Not(HasSubstr("bars.csv:13:32")));
}

struct BadFile {
    const char* name;
    std::string content;
    const char* message;
};

TEST(ReadBarsErrors, RejectsFilesThatAreNotBars) {
    for (const BadFile& bad : {
             BadFile{"a.csv", "", "a.csv: the file is empty, expected at least one row"},
             BadFile{"a.csv", "\n \r\n\n", "a.csv: no rows: the file contains only blank lines"},
             BadFile{"a.csv", bars_header, "a.csv: no rows follow the header, expected at least one bar"},
             BadFile{"a.csv", std::string("ab\0cd\n", 6),
                     "a.csv: the file is not text: it contains NUL bytes"},
             BadFile{"a.csv", "\xFF\xFEt\0i\0m\0e\0", "a.csv: the text is UTF-16, expected UTF-8"},
             BadFile{"a.csv", "time,open,high,close,volume\n" + good,
                     "a.csv:1: no column for low; the columns are: time,open,high,close,volume, expected "
                     "time, open"},
             BadFile{"a.csv", "time,open,high,low,close\n" + good, "no column for volume"},
             BadFile{"a.csv", "a,b,c\n1,2,3\n",
                     "no column for time, open, high, low, close, volume; the columns are: a,b,c"},
             BadFile{"a.csv", "open,open,high,low,close,time,volume\n", "two columns are named open"},
             BadFile{"a.csv", "5,6,7,8\n",
                     "the first line is neither a header nor a row in a known format: 5,6,7,8"},
             BadFile{"a.csv", "hello world\n", "nor a row in a known format"},
             BadFile{"a.csv", bars_header + "31/12/2024,1,1,1,1,1\n",
                     "a.csv:2: \"31/12/2024\" has the day before the month"},
             BadFile{"a.csv", bars_header + "yesterday,1,1,1,1,1\n",
                     "a.csv:2: \"yesterday\" is not a recognized time"},
             BadFile{"a.csv", "Time,open,high,low,close,volume\n09:31,1,1,1,1,1\n",
                     "is not a recognized time"},
             BadFile{"a.csv", bars_header + std::string(200'000, '7'), "a line is longer than 65,536 bytes"},
             BadFile{"a.csv.gz", "\x1F\x8B rubbish", "a.csv.gz: the gzip data is damaged"},
         }) {
        const std::string message = error_of(bad.content, {}, bad.name);
        EXPECT_THAT(message, HasSubstr(bad.message)) << bad.content.substr(0, 60);
    }
}

TEST(ReadBarsErrors, NoRowsLeft) {
    ReadOptions skip = with_tick(0.25);
    skip.skip_bad_rows = true;
    EXPECT_THAT(error_of(bars_header + "2024-12-12 05:02:00,0,0,0,0,0\n", skip),
                HasSubstr("the open 0 is not positive, expected a price above zero\n  No row can be used"));
}

TEST(ReadBarsErrors, Options) {
    EXPECT_THAT(error_of(bars_header + good, with_tick(-1)),
                HasSubstr("--tick: -1 is not a valid tick size"));
    for (const auto& [columns, message] : {
             std::pair{"time=1,open=9", "open=9: bars.csv has 6 columns"},
             {"time=1,opening=2", "opening=2 is not a known setting"},
             {"time=1,open=Start",
              "open=Start: no such column; bars.csv has: time, open, high, low, close, volume"},
             {"time=1,time=2", "time is given twice"},
             {"time=1,open=2,high=3,low=4,close=5", "no column for volume"},
             {"date=1,open=2,high=3,low=4,close=5,volume=6", "no column for clock"},
         }) {
        ReadOptions options;
        options.columns = columns;
        EXPECT_THAT(error_of(bars_header + good, options), HasSubstr(message)) << columns;
    }
    EXPECT_THROW(read_with(options_for("/nonexistent/bars.csv")), Error);
    const TestFolder folder;
    EXPECT_THROW(read_with(options_for(folder.path())), Error);
}

// One wrong price among many is an error and does not change the inferred tick. Many of them change it.
TEST(ReadBarsErrors, InferredTickSurvivesOneWrongPrice) {
    std::string text = bars_header;
    for (int i = 0; i < 600; ++i)
        text += "2024-12-12 " + std::to_string(10 + i / 60) + ":" + std::to_string(100 + i % 60).substr(1) +
                ":00," + (i == 400 ? "100.13" : "100.25") + ",101,99.75,100.5,5\n";
    EXPECT_THAT(error_of(text),
                StartsWith("bars.csv:402:21: the open 100.13 is between two ticks, expected a multiple of "
                           "the tick 0.25"));
    for (std::size_t at = text.find("100.25"); at != std::string::npos; at = text.find("100.25"))
        text.replace(at, 6, "100.13");
    EXPECT_EQ(read_text(text).report.tick.points, 0.01);
}

// The samples used to infer the tick may miss the part of the file with a finer tick.
TEST(ReadBarsErrors, TickIsInferredAgainIfTheRestIsFiner) {
    std::string text = bars_header;
    for (int i = 0; i < 20'000; ++i) {
        char stamp[32];
        std::snprintf(stamp, sizeof stamp, "2024-12-%02d %02d:%02d:00", 1 + i / 1440, i / 60 % 24, i % 60);
        text += std::string(stamp) +
                (i >= 1500 && i < 1900 ? ",100.01,101,99.75,100.5,5\n" : ",100.25,101,99.75,100.5,5\n");
    }
    const ReadResult result = read_text(text);
    EXPECT_EQ(result.report.tick.points, 0.01);
    EXPECT_EQ(result.bars.columns().open[1500], 10001);
    EXPECT_EQ(result.bars.columns().open[0], 10025);
}

TEST(ReadBarsErrors, ContractNamesMustBeText) {
    const std::string row = "2024-12-12 05:01:00,1,1,1,1,1,";
    const std::string columns = "time,open,high,low,close,volume,contract\n";
    for (const char* name :
         {"ES\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "a\x01", "\xF5"})
        EXPECT_THAT(error_of(columns + row + name + "\n"), HasSubstr("bars.csv:2:31: the contract \""))
            << name;
    for (const char* name : {"ES 03-25", "\xE8\x9E\xBA\xE7\xBA\xB9", "\xC2\xB5", "\xF0\x9F\x94\xA5"})
        EXPECT_EQ(read_text(columns + row + name + "\n").bars.metadata().contracts[0], name);
    EXPECT_THAT(error_of(columns + row + "\n"), HasSubstr("bars.csv:2:31: the contract is missing"));
}

TEST(ReadBarsErrors, DuplicatesAcrossFilesNameBothPlaces) {
    const TestFolder folder;
    folder.write("part1.csv", bars_header + "2024-12-12 05:01:00,1,1,1,1,1\n2024-12-12 05:02:00,1,1,1,1,2\n");
    folder.write("part2.csv",
                 bars_header + "\n2024-12-12 05:02:00,1,1,1,1,3\n2024-12-12 05:03:00,1,1,1,1,4\n");
    ReadOptions options = options_for(folder.path());
    options.tick = 1;
    try {
        read_with(options);
        FAIL() << "the duplicate was not detected";
    } catch (const Error& error) {
        EXPECT_THAT(error.render(), HasSubstr("part2.csv:3:1: a second bar at the time of "));
        EXPECT_THAT(error.render(), HasSubstr("part1.csv:3"));
    }
    options.skip_bad_rows = true;
    const ReadResult result = read_with(options);
    EXPECT_THAT(result.bars.columns().volume, testing::ElementsAre(1, 2, 4));
    EXPECT_EQ(result.report.contracts[0].rows, 3u);
    ASSERT_EQ(result.rejected.size(), 1u);
    EXPECT_EQ(result.rejected[0].line, 3u);
}

TEST(RejectedRows, AreWrittenAsCsv) {
    const TestFolder folder;
    RejectedRow row;
    row.file = "a,b.csv";
    row.line = 3;
    row.column = 7;
    row.reason = "the low \"x\" is not a number";
    row.expected = "a decimal number";
    row.text = "1,\"x\"";
    write_rejected_rows(folder.path() / "rejected.csv", std::vector{row});
    EXPECT_EQ(
        read_file(folder.path() / "rejected.csv"),
        "file,line,column,reason,text\n"
        "\"a,b.csv\",3,7,\"the low \"\"x\"\" is not a number, expected a decimal number\",\"1,\"\"x\"\"\"\n");
}

} // namespace
} // namespace rekindle::market
