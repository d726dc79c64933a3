#include "reading_support.h"

#include <gmock/gmock.h>

#include <string>

namespace rekindle::market {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string bars_at(std::initializer_list<const char*> times) {
    std::string text = "time,open,high,low,close,volume\n";
    for (const char* time : times)
        text += std::string(time) + ",1,1,1,1,1\n";
    return text;
}

ReadOptions exchange() {
    ReadOptions options;
    options.clock = Clock::exchange;
    options.tick = 1;
    return options;
}

std::vector<std::int64_t> times_of(const std::string& text, const ReadOptions& options) {
    const ReadResult result = read_text(text, options);
    return {result.bars.columns().time.begin(), result.bars.columns().time.end()};
}

// The clocks in New York change at 2024-03-10 07:00 UTC and 2024-11-03 06:00 UTC; 1710054000 and 1730613600
// by `date -u`.
constexpr std::int64_t spring = 1710054000;
constexpr std::int64_t fall = 1730613600;

TEST(BarTimes, SpringSkipsAnHour) {
    EXPECT_THAT(
        times_of(bars_at({"2024-03-10 01:59:00", "2024-03-10 02:00:00", "2024-03-10 03:01:00"}), exchange()),
        ElementsAre(spring - 60, spring, spring + 60));
    EXPECT_THAT(times_of(bars_at({"2024-03-10 01:59:00", "2024-03-10 03:00:00"}), exchange()),
                ElementsAre(spring - 60, spring));
    EXPECT_THAT(
        error_of(bars_at({"2024-03-10 01:59:00", "2024-03-10 02:01:00", "2024-03-10 03:01:00"}), exchange()),
        HasSubstr("bars.csv:3:1: 2024-03-10 02:01:00 does not exist in America/New_York"));
    EXPECT_THAT(error_of(bars_at({"2024-03-10 02:00:00", "2024-03-10 03:00:00"}), exchange()),
                HasSubstr("a second bar"));
}

TEST(BarTimes, FallRepeatsAnHour) {
    EXPECT_THAT(times_of(bars_at({"2024-11-03 01:30:00", "2024-11-03 01:59:00", "2024-11-03 01:00:00",
                                  "2024-11-03 01:30:00", "2024-11-03 02:00:00"}),
                         exchange()),
                ElementsAre(fall - 1800, fall - 60, fall, fall + 1800, fall + 3600));
    EXPECT_THAT(
        error_of(bars_at({"2024-11-03 01:30:00", "2024-11-03 01:30:00", "2024-11-03 01:30:00"}), exchange()),
        HasSubstr("bars.csv:4:1: the time goes backward"));
}

TEST(BarTimes, ClocksAndTimestamps) {
    const std::string text = bars_at({"2024-07-01 09:30:00", "2024-07-01 09:31:00", "2024-07-01 09:32:00"});
    constexpr std::int64_t label = 1719826200; // 2024-07-01 09:30 UTC
    ReadOptions options;
    options.tick = 1;
    EXPECT_THAT(times_of(text, options), ElementsAre(label, label + 60, label + 120));
    options.clock = Clock::raw;
    EXPECT_THAT(times_of(text, options), ElementsAre(label, label + 60, label + 120));
    options = exchange();
    EXPECT_THAT(times_of(text, options), ElementsAre(label + 14400, label + 14460, label + 14520));
    options.stamp = StampAt::bar_start;
    EXPECT_THAT(times_of(text, options), ElementsAre(label + 14460, label + 14520, label + 14580));
    options.zone = "Europe/Berlin";
    options.stamp = StampAt::bar_end;
    EXPECT_THAT(times_of(text, options), ElementsAre(label - 7200, label - 7140, label - 7080));
    options.stamp = StampAt::bar_start;
    EXPECT_THAT(error_of(bars_at({"2024-07-01 09:30:00"}), options),
                HasSubstr("cannot determine the bar length"));
    options.zone = "Mars/Olympus";
    EXPECT_NE(error_of(text, options), "");
}

// Read as ends, bars would be known before they end.
TEST(BarTimes, ColumnsOfStartsAreReadAsStarts) {
    constexpr std::int64_t label = 1719826200; // 2024-07-01 09:30 UTC
    const std::string rows = "2024-07-01 09:30:00,1,1,1,1,8\n2024-07-01 09:31:00,1,1,1,1,8\n";
    const auto times = [&](const std::string& name, std::optional<StampAt> stamp) {
        ReadOptions options;
        options.stamp = stamp;
        return times_of(name + ",open,high,low,close,volume\n" + rows, options);
    };
    for (const char* name : {"open_time", "Open time", "ts_event", "window_start"}) {
        SCOPED_TRACE(name);
        EXPECT_THAT(times(name, std::nullopt), ElementsAre(label + 60, label + 120));
        EXPECT_THAT(times(name, StampAt::bar_start), ElementsAre(label + 60, label + 120));
        EXPECT_THAT(times(name, StampAt::bar_end), ElementsAre(label, label + 60));
    }
    EXPECT_THAT(times("timestamp", std::nullopt), ElementsAre(label, label + 60));
}

TEST(BarTimes, FilesOfStartsAndEndsNeedTheOption) {
    const TestFolder folder;
    ReadOptions options;
    const std::string columns = ",open,high,low,close,volume\n";
    options.chain = true; // otherwise different names are different instruments
    options.paths = {
        folder.write("a.csv", "open_time" + columns +
                                  "2024-07-01 09:30:00,1,1,1,1,8\n2024-07-01 09:31:00,1,1,1,1,8\n"),
        folder.write("b.csv", "timestamp" + columns + "2024-07-01 09:33:00,1,1,1,1,8\n")};
    EXPECT_THROW(read_with(options), Error);
    options.stamp = StampAt::bar_end;
    EXPECT_EQ(read_with(options).bars.size(), 3U);
}

TEST(BarTimes, DatesOnlyKeepTheirDate) {
    ReadOptions options = exchange();
    options.stamp = StampAt::bar_start;
    EXPECT_THAT(times_of(bars_at({"2024-07-01", "2024-07-02"}), options),
                ElementsAre(19905 * 86400, 19906 * 86400));
}

TEST(BarTimes, UsualDistance) {
    EXPECT_EQ(
        read_text(bars_at({"2024-07-01 09:30", "2024-07-01 10:30", "2024-07-01 11:30", "2024-07-02 09:30"}))
            .report.bar_seconds,
        3600);
    EXPECT_EQ(read_text(bars_at({"2024-07-01", "2024-07-02", "2024-07-05"})).report.bar_seconds, 86400);
}

} // namespace
} // namespace rekindle::market
