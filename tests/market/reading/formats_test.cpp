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

// The value of 2021-12-05 is known from 16:15 in New York (21:15 UTC) of that day on: the bars at 23:01 begin
// after it.
TEST(ReadBars, VixColumnIsUsedFromItsPublicationOn) {
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

} // namespace
} // namespace rekindle::market
