#include "reading_support.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>

namespace rekindle::market {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string bar(const std::string& time) {
    return time + ",1,1,1,1,1\n";
}

struct VixRead {
    const TestFolder folder;
    ReadOptions options;

    VixRead(const std::string& bars, const std::string& vix) {
        options.paths = {folder.write("bars.csv", bars)};
        options.vix = folder.write("vix.csv", vix);
        options.tick = 1;
    }
    std::vector<float> values() const {
        const ReadResult result = read_with(options);
        return {result.bars.columns().vix.begin(), result.bars.columns().vix.end()};
    }
    std::string error() const {
        try {
            read_with(options);
            return "";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
    }
};

const std::string cboe =
    "DATE,OPEN,HIGH,LOW,CLOSE\r\n07/01/2024,12,13,11,12.22\r\n07/02/2024,12,13,11,12.03\r\n"
    "12/12/2024,13,14,13,13.92\r\n";

// 16:15 in New York is 20:15 UTC in July and 21:15 UTC in December.
TEST(Vix, IsKnownFromItsPublicationInSummerAndWinter) {
    const VixRead read(bars_header + bar("2024-07-01 20:15:00") + bar("2024-07-01 20:16:00") +
                           bar("2024-07-02 20:15:00") + bar("2024-07-02 20:16:00") +
                           bar("2024-12-12 20:16:00") + bar("2024-12-12 21:15:00") +
                           bar("2024-12-12 21:16:00"),
                       cboe);
    const auto vix = read.values();
    ASSERT_EQ(vix.size(), 7u);
    EXPECT_TRUE(std::isnan(vix[0])) << "the bar that ends at the publication began before it";
    EXPECT_EQ(vix[1], 12.22f);
    EXPECT_EQ(vix[2], 12.22f);
    EXPECT_EQ(vix[3], 12.03f);
    EXPECT_EQ(vix[4], 12.03f);
    EXPECT_EQ(vix[5], 12.03f);
    EXPECT_EQ(vix[6], 13.92f);
}

TEST(Vix, LongBarsGetTheValueKnownWhenTheyBegin) {
    const VixRead read(bars_header + bar("2024-07-01 19:00:00") + bar("2024-07-01 20:00:00") +
                           bar("2024-07-01 21:00:00") + bar("2024-07-01 22:00:00"),
                       cboe);
    const auto vix = read.values();
    EXPECT_TRUE(std::isnan(vix[2])) << "20:00 to 21:00 began before 20:15";
    EXPECT_EQ(vix[3], 12.22f);
}

TEST(Vix, BarsWithDatesOnlyGetThePreviousDate) {
    const VixRead read(bars_header + bar("7/1/2024") + bar("7/2/2024") + bar("7/3/2024"), cboe);
    const auto vix = read.values();
    EXPECT_TRUE(std::isnan(vix[0]));
    EXPECT_EQ(vix[1], 12.22f);
    EXPECT_EQ(vix[2], 12.03f);
}

TEST(Vix, TimestampsAtTheStartGiveTheSameBars) {
    VixRead read(bars_header + bar("2024-07-01 20:14:00") + bar("2024-07-01 20:15:00"), cboe);
    read.options.stamp = StampAt::bar_start;
    const auto vix = read.values();
    EXPECT_TRUE(std::isnan(vix[0]));
    EXPECT_EQ(vix[1], 12.22f);
}

TEST(Vix, AcceptsTheOtherLayoutAndHolidays) {
    const VixRead read(bars_header + bar("2024-07-05 12:00:00"), "Date,vix\n7/2/2024,12.03\n7/4/2024,.\n");
    EXPECT_EQ(read.values()[0], 12.03f);
}

/// Daily values whose dates have a time of 00:00:00, and FRED's column names.
TEST(Vix, ReadsVendorFiles) {
    const std::string bars = bars_header + bar("2024-07-02 20:15:00") + bar("2024-07-02 20:16:00");
    for (const char* file : {"Date,Open,High,Low,Close,Volume\n2024-07-01 00:00:00-05:00,12,13,11,12.22,0\n"
                             "2024-07-02 00:00:00-05:00,12,13,11,12.03,0\n",
                             "Date,Open,High,Low,Close\n2024-07-01 00:00:00,12,13,11,12.22\n2024-07-02 "
                             "00:00:00,12,13,11,12.03\n",
                             "observation_date,VIXCLS\n2024-07-01,12.22\n2024-07-02,12.03\n2024-07-04,\n"}) {
        const auto vix = VixRead(bars, file).values();
        EXPECT_EQ(vix[0], 12.22f) << file;
        EXPECT_EQ(vix[1], 12.03f) << file;
    }
    EXPECT_THAT(VixRead(bars, "Date,Close\n2024-07-01 00:00:00,12\n2024-07-02 16:15:00,13\n").error(),
                HasSubstr("vix.csv:3:1: \"2024-07-02 16:15:00\" is not a date"));
}

// No value may be used before it is published: values of later dates must not change earlier bars.
TEST(Vix, LaterValuesDoNotChangeEarlierBars) {
    std::string bars = bars_header;
    for (int hour = 0; hour < 24 * 5; ++hour)
        bars += bar("2024-07-0" + std::to_string(1 + hour / 24) + " " +
                    std::to_string(100 + hour % 24).substr(1) + ":00:00");
    std::string vix = "Date,vix\n";
    std::vector<float> before;
    for (int day = 1; day <= 5; ++day) {
        vix += "7/" + std::to_string(day) + "/2024," + std::to_string(10 + day) + "\n";
        const auto values = VixRead(bars, vix).values();
        const std::size_t known =
            static_cast<std::size_t>((day - 1) * 24 + 20); // hours that ended by 20:00 of the day
        for (std::size_t i = 0; i < known && i < before.size(); ++i)
            EXPECT_TRUE(values[i] == before[i] || (std::isnan(values[i]) && std::isnan(before[i])))
                << day << " " << i;
        before = values;
    }
}

TEST(Vix, NotesAnUnusedColumn) {
    VixRead read("time,open,high,low,close,volume,VIX\n2024-07-03 12:00:00,1,1,1,1,1,99\n", cboe);
    const ReadResult result = read_with(read.options);
    EXPECT_EQ(result.report.vix_source, "file");
    EXPECT_EQ(result.bars.columns().vix[0], 12.03f);
    EXPECT_THAT(result.report.notes, testing::Contains(HasSubstr("A VIX column is present but not used")));
    read.options.vix.reset();
    EXPECT_EQ(read_with(read.options).report.vix_source, "column");
    EXPECT_EQ(
        read_text("time,open,high,low,close,volume,VIX\n2024-07-03 12:00:00,1,1,1,1,1,\n").report.vix_source,
        "none");
}

TEST(Vix, RejectsBadFiles) {
    for (const auto& [content, message] : {
             std::pair{"Date,price\n7/1/2024,12\n",
                       "not a VIX file; its columns are: Date,price, expected DATE,OPEN"},
             {"Date,vix\n2024-07-01 16:15:00,12\n", "the first row has no recognized date"},
             {"Date,vix\n", "the first row has no recognized date"},
             {"Date,vix\n7/1/2024,-3\n", "vix.csv:2:1: the VIX \"-3\" is not a positive number"},
             {"Date,vix\n7/1/2024,12\n7/1/2024,13\n",
              "vix.csv:3:1: 2024-07-01 follows 2024-07-01: dates must be ascending"},
             {"Date,vix\n7/1/2024,12\n2024-07-02,13\n", "vix.csv:3:1: \"2024-07-02\" is not a date"},
             {"Date,vix\n7/1/2024\n", "vix.csv:2:1: 1 field, but the header has 2"},
             {"Date,vix\n7/1/2024,.\n", "no values follow the header"},
             {"", "the file is empty"},
         })
        EXPECT_THAT(VixRead(bars_header + bar("2024-07-01 20:16:00"), content).error(), HasSubstr(message))
            << content;
    EXPECT_THAT(error_of("time,open,high,low,close,volume,VIX\n2024-07-03 12:00:00,1,1,1,1,1,x\n"),
                StartsWith("bars.csv:2:31: the VIX \"x\" is not a positive number"));
}

} // namespace
} // namespace rekindle::market
