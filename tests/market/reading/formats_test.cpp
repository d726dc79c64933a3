#include "reading_support.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace rekindle::market {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 2021-12-05T16:31:00Z by `date -u -d … +%s`.
constexpr std::int64_t first_stamp = 1638721860;

constexpr std::string_view merged =
    "timestamp,open,high,low,close,volume,contract,session,date,bar_range,bar_return,VIX\n"
    "2021-12-05 16:31:00,4527.00,4527.00,4527.00,4527.00,12,ES_03_22,ETH,2021-12-05,0.00,,\n"
    "2021-12-05 23:01:00,4536.00,4542.00,4531.25,4531.25,72,ES_03_22,ETH,2021-12-05,10.75,0.000939,30.67\n"
    "2021-12-05 23:02:00,4531.00,4534.25,4529.25,4532.50,12,ES_03_22,ETH,2021-12-05,5.00,0.000276,\n"
    "2021-12-06 23:03:00,4532.50,4536.00,4532.00,4536.00,8,ES_03_22,ETH,2021-12-06,4.00,0.000772,\n"
    "2021-12-06 23:04:00,4538.50,4540.00,4537.00,4540.00,5,ES 06-22,ETH,2021-12-06,3.00,0.000882,27.18\n";

TEST(ReadBars, MergedCsv) {
    const ReadResult result = read_text(merged);
    const BarColumns bars = result.bars.columns();
    EXPECT_THAT(bars.time, ElementsAre(first_stamp, first_stamp + 23400, first_stamp + 23460,
                                       first_stamp + 86400 + 23520, first_stamp + 86400 + 23580));
    EXPECT_THAT(bars.open, ElementsAre(4527 * 4, 4536 * 4, 4531 * 4, 18130, 18154));
    EXPECT_THAT(bars.high, ElementsAre(4527 * 4, 4542 * 4, 18137, 4536 * 4, 4540 * 4));
    EXPECT_THAT(bars.low, ElementsAre(4527 * 4, 18125, 18117, 4532 * 4, 4537 * 4));
    EXPECT_THAT(bars.close, ElementsAre(4527 * 4, 18125, 18130, 4536 * 4, 4540 * 4));
    EXPECT_THAT(bars.volume, ElementsAre(12, 72, 12, 8, 5));
    EXPECT_THAT(bars.contract, ElementsAre(0, 0, 0, 0, 1));
    EXPECT_EQ(result.bars.metadata().tick.points, 0.25);
    EXPECT_EQ(result.bars.metadata().bar_seconds, 60);
    EXPECT_FALSE(result.bars.metadata().dates_only);
    EXPECT_THAT(result.report.contracts,
                ElementsAre(ContractRows{"ES_03_22", 4}, ContractRows{"ES 06-22", 1}));
    EXPECT_EQ(result.report.format, "merged CSV");
    EXPECT_EQ(result.report.data_hash, hash128(merged));
    EXPECT_EQ(result.report.bytes, merged.size());
    EXPECT_TRUE(result.report.tick_inferred);
    EXPECT_THAT(result.report.notes, testing::Contains(HasSubstr("session, date, bar_range, bar_return")));
}

// The value of 2021-12-05 is known from 16:15 in New York (21:15 UTC) on that day, and the bars at 23:01
// begin after that.
TEST(ReadBars, VixColumnIsUsedFromItsPublication) {
    const ReadResult result = read_text(merged);
    EXPECT_EQ(result.report.vix_source, "column");
    const auto vix = result.bars.columns().vix;
    ASSERT_EQ(vix.size(), 5u);
    EXPECT_TRUE(std::isnan(vix[0]));
    EXPECT_EQ(vix[1], 30.67f);
    EXPECT_EQ(vix[2], 30.67f);
    EXPECT_EQ(vix[3], 27.18f);
    EXPECT_EQ(vix[4], 27.18f);
}

/// The same two bars in every form; 2024-12-12T05:01:00Z is 1733979660.
void expect_two_bars(const ReadResult& result, std::int64_t first = 1733979660,
                     std::int64_t second = 1733979720) {
    const BarColumns bars = result.bars.columns();
    EXPECT_THAT(bars.time, ElementsAre(first, second));
    EXPECT_THAT(bars.open, ElementsAre(6152 * 4 + 2, 6152 * 4));
    EXPECT_THAT(bars.high, ElementsAre(6153 * 4, 6152 * 4 + 1));
    EXPECT_THAT(bars.low, ElementsAre(6152 * 4, 6151 * 4));
    EXPECT_THAT(bars.close, ElementsAre(6152 * 4, 6151 * 4 + 3));
    EXPECT_THAT(bars.volume, ElementsAre(120, 7));
    EXPECT_EQ(result.bars.metadata().tick.points, 0.25);
}

TEST(ReadBars, NinjaTraderExport) {
    const ReadResult result = read_text("20241212 050100;6152.5;6153;6152;6152;120\r\n"
                                        "20241212 050200;6152;6152.25;6151;6151.75;7\r\n",
                                        {}, "ES 03-25.Last.txt");
    expect_two_bars(result);
    EXPECT_EQ(result.report.format, "NinjaTrader export");
    EXPECT_THAT(result.bars.metadata().contracts, ElementsAre("ES 03-25"));
}

TEST(ReadBars, AcceptsHeadersDelimitersAndLineEndings) {
    for (const char* text : {
             ",Open,High,Low,Close,Volume\n2024-12-12 05:01:00,6152.5,6153,6152,6152,120\n2024-12-12 "
             "05:02:00,6152,6152.25,6151,6151.75,7",
             "TIMESTAMP;VOLUME;CLOSE;LOW;HIGH;OPEN\r\n20241212 050100;120;6152;6152;6153;6152.5\r\n20241212 "
             "050200;7;6151.75;6151;6152.25;6152\r\n",
             "\xEF\xBB\xBF"
             "Date_Time\tOPEN\tHIGH\tLOW\tCLOSE\tVOLUME\tExtra\n12/12/2024 "
             "05:01\t6152.5\t6153\t6152\t6152\t120\tx\n12/12/2024 5:02\t6152\t6152.25\t6151\t6151.75\t7\t\n",
             "Date,Time,Open,High,Low,Close,Volume\n2024-12-12,05:01,6152.5,6153,6152,6152,120\n2024-12-12,"
             "05:02,6152,6152.25,6151,6151.75,7\n",
             "Date,Open,High,Low,Close,Volume\n2024-12-12T05:01:00Z,6152.50,6153.0,6152,6152,120.0\n2024-12-"
             "12T05:02:00Z,6152,6152.25,6151,6151.75,7.0\n",
             "# made by hand\n# second "
             "comment\n\n\"time\",\"open\",\"high\",\"low\",\"close\",\"volume\"\n\"2024-12-12 "
             "05:01:00\",\"6152.5\",6153,6152,6152,120\n\n2024-12-12 "
             "05:02:00,6152,6152.25,6151,6151.75,\"7\"\n\n",
             "time, open, high, low, close, volume\n2024-12-12 05:01:00, 6152.5, 6153, 6152, 6152, "
             "120\n2024-12-12 05:02:00, 6152, 6152.25, 6151, 6151.75, 7\n",
         })
        expect_two_bars(read_text(text));
}

TEST(ReadBars, RequestedColumns) {
    ReadOptions options;
    options.columns = "time=1, open=3,high=4,low=5,close=6,volume=2";
    expect_two_bars(read_text("2024-12-12 05:01:00,120,6152.5,6153,6152,6152\n"
                              "2024-12-12 05:02:00,7,6152,6152.25,6151,6151.75\n",
                              options));
    options.columns = "date=d,clock=t,open=First,high=Top,low=Bottom,close=last,volume=none";
    const ReadResult result =
        read_text("d,t,First,Top,Bottom,Last\n20241212,0501,6152.5,6153,6152,6152\n", options);
    EXPECT_THAT(result.bars.columns().time, ElementsAre(1733979660));
    EXPECT_THAT(result.bars.columns().volume, ElementsAre(0));
    EXPECT_THAT(result.report.notes, testing::Contains(HasSubstr("volume=none")));
    EXPECT_EQ(result.report.columns[2], (RecognizedColumn{"open", "First", 3}));
}

TEST(ReadBars, DatesOnly) {
    const ReadResult result =
        read_text("Date,Open,High,Low,Close,Adj Close,Volume\r\n"
                  "1/4/1999,1229.22998,1248.810059,1219.099976,1228.099976,1228.099976,877000000\r\n"
                  "1/5/1999,1228.099976,1246.109985,1228.099976,1244.780029,1244.780029,775000000\r\n"
                  "1/6/1999,1244.780029,1272.5,1244.780029,1272.339966,1272.339966,986900000\r\n");
    const BarColumns bars = result.bars.columns();
    EXPECT_TRUE(result.bars.metadata().dates_only);
    EXPECT_EQ(result.bars.metadata().bar_seconds, 86400);
    EXPECT_THAT(bars.time, ElementsAre(10595 * 86400, 10596 * 86400, 10597 * 86400));
    EXPECT_EQ(result.bars.metadata().tick.points, 0.01);
    EXPECT_THAT(bars.high, ElementsAre(124881, 124611, 127250));
    EXPECT_EQ(result.report.prices_rounded, 11u);
    EXPECT_EQ(result.report.columns[5], (RecognizedColumn{"", "Adj Close", 6}));
}

TEST(ReadBars, OffsetsFromUtc) {
    const char* text =
        "time,open,high,low,close,volume\n2024-12-12 00:01:00-05:00,6152.5,6153,6152,6152,120\n"
        "2024-12-12 00:02:00-05:00,6152,6152.25,6151,6151.75,7\n";
    for (const Clock clock : {Clock::utc, Clock::exchange}) {
        ReadOptions options;
        options.clock = clock;
        expect_two_bars(read_text(text, options));
    }
    ReadOptions raw;
    raw.clock = Clock::raw;
    expect_two_bars(read_text(text, raw), 1733979660 - 18000, 1733979720 - 18000);
}

TEST(ReadBars, SelectsContractsByNamePrefix) {
    ReadOptions options;
    options.contract = "ES 0";
    const ReadResult result = read_text(merged, options);
    EXPECT_THAT(result.report.contracts, ElementsAre(ContractRows{"ES 06-22", 1}));
    options.contract = "VIX";
    EXPECT_THAT(error_of(merged, options),
                HasSubstr("no contract begins with \"VIX\", expected the beginning of one of: "
                          "ES_03_22, ES 06-22"));
    options.contract = "ALL";
    EXPECT_EQ(read_text(merged, options).bars.size(), 5u);
}

TEST(ReadBars, FolderIsMergedByTimeThenContract) {
    const TestFolder folder;
    folder.write("ES 03-25.Last.txt", "20241212 050100;100;101;100;101;1\n20241212 050200;100;101;100;101;2\n"
                                      "20241212 050400;100;101;100;101;4\n");
    folder.write("ES 12-24.Last.txt", "20241212 050000;90;91;90;91;10\n20241212 050200;90;91;90;91;20\n"
                                      "20241212 050300;90;91;90;91;30\n");
    folder.write("notes.md", "no bars");
    const ReadResult result = read_with(options_for(folder.path()));
    const BarColumns bars = result.bars.columns();
    EXPECT_THAT(result.bars.metadata().contracts, ElementsAre("ES 12-24", "ES 03-25"));
    EXPECT_THAT(bars.volume, ElementsAre(10, 1, 20, 2, 30, 4));
    EXPECT_THAT(bars.contract, ElementsAre(0, 1, 0, 1, 0, 1));
    EXPECT_EQ(result.report.files.size(), 2u);
}

TEST(ReadBars, ConsecutiveContractsInOneFile) {
    const ReadResult result =
        read_text("time,open,high,low,close,volume,contract\n"
                  "2024-12-12 05:01:00,100,101,100,101,1,B\n2024-12-12 05:02:00,100,101,100,101,2,B\n"
                  "2024-12-12 05:00:00,100,101,100,101,3,A\n2024-12-12 05:02:00,100,101,100,101,4,A\n");
    EXPECT_THAT(result.bars.columns().volume, ElementsAre(3, 1, 4, 2));
    EXPECT_THAT(result.bars.metadata().contracts, ElementsAre("A", "B"));
}

TEST(ReadBars, FilesOfOneInstrumentShareTheNamelessContract) {
    const TestFolder folder;
    const std::string header = "time,open,high,low,close,volume\n";
    folder.write("2023.csv", header + "2023-12-12 05:01:00,1.5,1.5,1.5,1.5,1\n");
    folder.write("2024.csv", header + "2024-12-12 05:01:00,1.5,1.5,1.5,1.5,2\n");
    EXPECT_THAT(read_with(options_for(folder.path())).bars.metadata().contracts, ElementsAre(""));
}

} // namespace
} // namespace rekindle::market
