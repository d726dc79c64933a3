#include "reading_support.h"

#include <gmock/gmock.h>

#include <cmath>

namespace rekindle::market {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Notations, DecimalCommasAndDatesWithTheDayFirst) {
    const ReadResult result = read_text("Datum;Open;High;Low;Close;Volume\n"
                                        "03.04.2024 09:01;18.400,5;18.402,5;18.399,0;18.401,0;1.250\n"
                                        "03.04.2024 09:02;18.401,0;18.403,5;18.400,5;18.402,5;17\n",
                                        [] {
                                            ReadOptions options;
                                            options.columns = "time=1,open=2,high=3,low=4,close=5,volume=6";
                                            return options;
                                        }());
    EXPECT_EQ(result.bars.metadata().tick.points, 0.5);
    EXPECT_THAT(copy_of(result.bars.columns().open), ElementsAre(36'801, 36'802));
    EXPECT_THAT(copy_of(result.bars.columns().volume), ElementsAre(1250, 17));
    // date -u -d '2024-04-03 09:01' +%s
    EXPECT_THAT(copy_of(result.bars.columns().time), ElementsAre(1'712'134'860, 1'712'134'920));
    EXPECT_THAT(result.report.notes, Contains(HasSubstr("decimal commas")));
}

TEST(Notations, AnAmbiguousCommaIsStillRefused) {
    EXPECT_THAT(error_of("time;open;high;low;close;volume\n2024-04-03 09:01;4,800;4,801;4,799;4,800;3\n"),
                HasSubstr("4,800"));
}

TEST(Notations, AnOffsetAfterGmtIsAnOffset) {
    const ReadResult result = read_text("Gmt time,Open,High,Low,Close,Volume\n"
                                        "13.01.2024 00:01:00.000 GMT+0200,1.10,1.11,1.09,1.10,5\n"
                                        "13.01.2024 00:02:00.000 GMT+0200,1.10,1.11,1.09,1.10,6\n");
    // date -u -d '2024-01-12 22:01' +%s
    EXPECT_THAT(copy_of(result.bars.columns().time), ElementsAre(1'705'096'860, 1'705'096'920));
}

TEST(Notations, TimestampsCountInFourUnits) {
    for (const char* zeros : {"", "000", "000000", "000000000"}) {
        std::string text = "time,open,high,low,Last,volume\n";
        for (const int second : {1'710'495'060, 1'710'495'120})
            text += std::to_string(second) + zeros + ",10,11,9,10,3\n";
        EXPECT_THAT(copy_of(read_text(text).bars.columns().time), ElementsAre(1'710'495'060, 1'710'495'120));
    }
}

TEST(Notations, FractionalVolumesAreScaledExactly) {
    const ReadResult result = read_text(bars_header + "2024-04-03 09:01:00,1,2,1,2,0.00000001\n"
                                                      "2024-04-03 09:02:00,1,2,1,2,12.5\n"
                                                      "2024-04-03 09:03:00,1,2,1,2,1234.50000001\n");
    EXPECT_EQ(result.bars.metadata().volume_decimals, 8);
    EXPECT_EQ(result.bars.metadata().volume_per_unit(), 100'000'000);
    EXPECT_THAT(copy_of(result.bars.columns().volume), ElementsAre(1, 1'250'000'000, 123'450'000'001));
    EXPECT_THAT(result.report.notes, Contains(HasSubstr("units of 10^-8, exactly")));
}

TEST(Notations, FractionsThatWouldOverflowASessionAreRoundedAndCounted) {
    const ReadResult result = read_text(bars_header + "2024-04-03 09:01:00,1,2,1,2,0.123456789\n"
                                                      "2024-04-03 09:02:00,1,2,1,2,500000000\n");
    EXPECT_EQ(result.bars.metadata().volume_decimals, 4);
    EXPECT_THAT(copy_of(result.bars.columns().volume), ElementsAre(1235, 5'000'000'000'000));
    EXPECT_THAT(result.report.notes, Contains(HasSubstr("rounded to 4")));
}

TEST(Notations, FractionsOfLargeVolumesAloneAreRoundedAsBefore) {
    const ReadResult result =
        read_text(bars_header + "2024-04-03,1,2,1,2,61234.3\n2024-04-04,1,2,1,2,5000\n");
    EXPECT_EQ(result.bars.metadata().volume_decimals, 0);
    EXPECT_THAT(copy_of(result.bars.columns().volume), ElementsAre(61'234, 5000));
}

TEST(Notations, TheScaleOfVolumesIsKeptInColumnFiles) {
    const TestFolder folder;
    ReadOptions options;
    options.chunk_size = 1;
    options.column_file = folder.path() / "bars.rkbars";
    const ReadResult result = read_text(bars_header + "2024-04-03 09:01:00,1,2,1,2,0.5\n"
                                                      "2024-04-03 09:02:00,1,2,1,2,7\n",
                                        options);
    EXPECT_EQ(result.bars.metadata().volume_decimals, 1);
    EXPECT_THAT(copy_of(result.bars.columns().volume), ElementsAre(5, 70));
}

} // namespace
} // namespace rekindle::market
