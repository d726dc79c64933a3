/// Every command that reads bars warns when the data contradicts the options.

#include "process.h"
#include "small_market.h"

#include <rekindle/market/clock.h>
#include <rekindle/market/simulate.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rekindle::cli {
namespace {

/// The commands that cut sessions, each with what it needs besides bars.
std::vector<Words> commands(const std::string& data) {
    return {{"volume-profile", "--data", data, "--draw", "1"},
            {"features", "--data", data, "--output", "features.csv", "--features", "calendar"},
            {"train", "--data", data, "--epochs", "1", "--hidden-layers", "4", "--features", "calendar,gap"}};
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Runs every command with the options; each must print all of the texts and exit with the status.
void expect_said(const std::string& data, const Words& options, const std::vector<std::string>& texts,
                 int status = 0) {
    for (const Words& command : commands(data)) {
        const TemporaryFolder folder;
        const Finished finished = rekindle(joined(command, options), {.folder = folder.path()});
        EXPECT_EQ(finished.status, status) << command[0] << finished.errors;
        for (const std::string& text : texts)
            EXPECT_TRUE(contains(finished.output + finished.errors, text))
                << command[0] << " does not say: " << text << "\n"
                << finished.errors;
    }
}

/// ES-like minutes of some weeks in UTC.
class SimulatedFile {
    TemporaryFolder folder_;

  public:
    SimulatedFile() : path(folder_.path() + "/es.csv") {
        market::simulate_file({.bars = 40'000, .seed = 3}, path);
    }
    const std::string path;
};

const std::string& simulated() {
    static const SimulatedFile file;
    return file.path;
}

std::string daily(const char* header_contract, const std::string& contract, std::int32_t first, int days,
                  double price) {
    std::string text = std::string("date,open,high,low,close,volume") + header_contract + "\n";
    for (int i = 0; i < days; ++i)
        text += fmt::format("{},{:.2f},{:.2f},{:.2f},{:.2f},{}{}\n", market::format_date(first + i),
                            price + i % 7, price + i % 7 + 2, price + i % 7 - 2,
                            price + i % 7 + (i * 5) % 3 - 1, 100 + i % 9, contract);
    return text;
}

TEST(MarketWarnings, ClockThatTheVolumeContradicts) {
    expect_said(simulated(), {"--clock", "exchange"}, {"--clock exchange looks wrong", "Use --clock utc"});
}

TEST(MarketWarnings, RegularHoursOfAnotherZone) {
    expect_said(simulated(), {"--session", "rth", "--regular-hours", "08:30-15:15"},
                {"Volume does not rise at 08:30 America/New_York", "but at 09:30"});
    expect_said(simulated(), {"--session", "rth", "--zone", "America/Chicago"},
                {"--regular-hours: the regular hours of an exchange in America/Chicago are not known",
                 "are 08:30-15:00 there"},
                2);
    expect_said(simulated(), {"--regular-hours", "08:30-15:15"}, {"--session all"}, 2);
    for (const char* hours : {"0830-1515", "15:15-08:30", "08:30", "08:30-25:00", "08:60-15:15"})
        expect_said(simulated(), {"--session", "rth", "--regular-hours", hours},
                    {"--regular-hours", "such as 08:30-15:15"}, 2);
}

// The same bars make the same profiles, in Chicago time and in New York time.
TEST(MarketWarnings, RegularHoursInChicagoTimeMatchNewYork) {
    const auto profile = [](const Words& options) {
        const Finished finished = rekindle(
            joined({"volume-profile", "--data", simulated(), "--session", "rth", "--output", "-"}, options));
        EXPECT_EQ(finished.status, 0) << finished.errors;
        EXPECT_FALSE(contains(finished.errors, "Volume does not rise")) << finished.errors;
        return finished.output;
    };
    EXPECT_EQ(profile({}), profile({"--zone", "America/Chicago", "--regular-hours", "08:30-15:00"}));
    EXPECT_NE(profile({}), profile({"--regular-hours", "09:30-15:00"}));
}

TEST(MarketWarnings, UnknownZoneIsRefusedForDatesToo) {
    const TemporaryFolder folder;
    const std::string data = folder.file("spx.csv", daily("", "", market::make_date(2023, 1, 2), 200, 4000));
    for (const std::string& file : {data, simulated()}) {
        expect_said(file, {"--zone", "America/New_Yrok"}, {"--zone: unknown time zone", "America/New_York"},
                    2);
        EXPECT_EQ(rekindle({"inspect", file, "--zone", "America/New_Yrok"}).status, 2);
    }
    EXPECT_EQ(rekindle({"train", "--data", data, "--zone", "Nowhere", "--print-config"}).status, 2);
    expect_said(data, {"--clock", "exchange", "--day-start", "17:00"},
                {"these options have no effect: --clock, --day-start"});
}

TEST(MarketWarnings, SessionsOfOneBar) {
    const TemporaryFolder folder;
    const std::string data = folder.file("spx.csv", daily("", "", market::make_date(2023, 1, 2), 200, 4000));
    expect_said(data, {}, {"In 200 of 200 sessions there is only one bar", "--session-length week"});
    EXPECT_TRUE(contains(rekindle({"inspect", data}).output, "too few for a profile"));
    const Finished weekly =
        rekindle({"volume-profile", "--data", data, "--session-length", "week", "--draw", "1"});
    EXPECT_FALSE(contains(weekly.errors, "only one bar")) << weekly.errors;
}

TEST(MarketWarnings, WeekendsOfAMarketThatNeverCloses) {
    const TemporaryFolder folder;
    std::string text = "time,open,high,low,close,volume\n";
    for (int hour = 0; hour < 2400; ++hour)
        text += fmt::format("{} {:02}:00:00,{},{},{},{},{}\n", market::format_date(19'800 + hour / 24),
                            hour % 24, 100 + hour % 5, 107, 98, 100 + (hour + 1) % 5, 50 + hour % 11);
    expect_said(folder.file("coin.csv", text), {}, {"This market trades on weekends: 2"});
}

TEST(MarketWarnings, FolderOfDifferentInstruments) {
    const std::int32_t first = market::make_date(2023, 1, 2);
    const auto refused = [](const TemporaryFolder& folder, const std::vector<std::string>& texts) {
        expect_said(folder.path(), {}, texts, 2);
        const Finished inspected = rekindle({"inspect", folder.path()});
        EXPECT_TRUE(contains(inspected.output + inspected.errors, "different instruments"))
            << inspected.errors;
    };
    const TemporaryFolder nameless, one_nameless, named;
    nameless.file("btc.csv", daily("", "", first, 120, 42'000));
    nameless.file("es.csv", daily("", "", first + 130, 120, 4700));
    refused(nameless, {"btc.csv", "es.csv", "different instruments"});
    one_nameless.file("btc.csv", daily("", "", first, 120, 42'000));
    one_nameless.file("ES 03-24.csv", daily("", "", first + 121, 120, 4700));
    refused(one_nameless, {"btc.csv", "ES 03-24", "different instruments"});
    named.file("one.csv", daily(",symbol", ",BTCUSDT", first, 120, 42'000));
    named.file("two.csv", daily(",symbol", ",ESH24", first + 121, 120, 4700));
    refused(named, {"\"BTCUSDT\" and \"ESH24\"", "--contract"});
}

// Contracts a year apart: the change is not a return, and look-backs start over.
TEST(MarketWarnings, UnknownGapBetweenContracts) {
    const TemporaryFolder folder;
    folder.file("ES 03-22.csv", daily("", "", market::make_date(2021, 12, 1), 90, 2000));
    folder.file("ES 03-24.csv", daily("", "", market::make_date(2023, 12, 1), 90, 9000));
    const Finished finished = rekindle({"features", "--data", folder.path(), "--features", "returns",
                                        "--output", folder.path() + "/returns.tsv"});
    ASSERT_EQ(finished.status, 0) << finished.errors;
    EXPECT_TRUE(contains(finished.errors, "the gap is unknown")) << finished.errors;
    const Finished lines = run_process({"sh", "-c", "grep -c '^20' '" + folder.path() + "/returns.tsv'"});
    // 50 sessions of each contract fill the look-backs.
    EXPECT_EQ(lines.output, "80\n");
}

} // namespace
} // namespace rekindle::cli
