/// Files that are read together must hold one instrument.

#include "reading/reading_support.h"

#include <rekindle/market/contract_identity.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

namespace rekindle::market {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Ten daily bars from `first_day` of that month.
std::string days(const char* month, int first_day, double price, const char* contract = nullptr) {
    std::string text = std::string("date,open,high,low,close,volume") + (contract ? ",symbol\n" : "\n");
    for (int day = first_day; day < first_day + 10; ++day)
        text += fmt::format("{}-{:02},{:.2f},{:.2f},{:.2f},{:.2f},100{}{}\n", month, day, price, price * 1.01,
                            price * 0.99, price * 1.005, contract ? "," : "", contract ? contract : "");
    return text;
}

std::string error_of_folder(const TestFolder& folder, bool chain = false) {
    try {
        ReadOptions options = options_for(folder.path());
        options.chain = chain;
        read_with(options);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.render();
    }
    return "";
}

TEST(InstrumentWords, OmitDatesLengthsAndCommonWords) {
    for (const auto& [name, words] : {std::pair{"BTCUSDT-1m-2024-01.csv", "btcusdt"},
                                      {"BTCUSDT-1m-2024-02.csv.gz", "btcusdt"},
                                      {"Binance_ETHUSDT_1h.csv", "binance ethusdt"},
                                      {"2023.csv", ""},
                                      {"jan.csv", ""},
                                      {"SPY_Jan2024_daily.txt", "spy"},
                                      {"us500_d.csv", "us500"},
                                      {"us30_d.csv", "us30"},
                                      {"EURUSD_M1_202401.csv", "eurusd"},
                                      {"^GSPC.csv", "gspc"},
                                      {"es_old.csv", "es"},
                                      {"ES_live_20240105_093000.csv", "es"},
                                      {"EURUSD_M1_202401020000_202402012359.csv", "eurusd"},
                                      {"SPY-2024q1.csv", "spy"},
                                      {"SPY (2).csv", "spy"},
                                      {"M.csv", "m"}, // Macy's
                                      {"7203.T.csv", "7203 t"},
                                      {"600519.csv", "600519"}, // stocks are numbers in Asia
                                      {"000001.SZ.csv", "000001 sz"},
                                      {"240115.csv", ""},
                                      {"BTCUSD1440.csv", "btcusd1440"},
                                      {"BTCUSD_1440.csv", "btcusd"},
                                      {"history part 3.csv", ""}})
        EXPECT_EQ(instrument_words(name), words) << name;
}

/// The later file begins months after the other ends, at any price.
TEST(Instruments, FilesOfOtherNamesAreRejectedByName) {
    for (const auto& [one, other, price] : {std::tuple{"MSFT.csv", "AAPL.csv", 212.64},
                                            {"MSFT.csv", "AAPL.csv", 150.0},
                                            {"7203.T.csv", "6758.T.csv", 149.0},
                                            {"600519.csv", "000001.csv", 149.0},
                                            {"M.csv", "W.csv", 149.0},
                                            {"Binance_BTCUSDT_1m.csv", "Binance_ETHUSDT_1m.csv", 149.0},
                                            {"AAPL.csv", "2024.csv", 149.0},
                                            {"US500.csv", "US30.csv", 149.0}}) {
        const TestFolder folder;
        folder.write(one, days("2024-01", 1, 148.88));
        folder.write(other, days("2024-06", 1, price));
        EXPECT_THAT(error_of_folder(folder), AllOf(HasSubstr("different instruments"), HasSubstr(one),
                                                   HasSubstr(other), HasSubstr("--chain")));
        EXPECT_EQ(error_of_folder(folder, true), "") << one;
    }
}

TEST(Instruments, PartsWhosePricesDoNotLineUpAreRejectedByName) {
    for (const auto& [one, other] : {std::pair{"2023.csv", "2024.csv"},
                                     {"history part 1.csv", "history part 2.csv"},
                                     {"SPY-2023.csv", "SPY-2024.csv"},
                                     {"00700.csv", "00700 (1).csv"}}) {
        const TestFolder folder;
        folder.write(one, days("2024-03", 1, 62'000));
        folder.write(other, days("2024-04", 1, 5200));
        EXPECT_THAT(error_of_folder(folder), AllOf(HasSubstr("different instruments"), HasSubstr(one),
                                                   HasSubstr(other), HasSubstr("a factor of 11.98")));
        EXPECT_EQ(error_of_folder(folder, true), "") << one;
    }
}

TEST(Instruments, FilesWithDifferentPricesAtTheSameTimeAreRejectedByName) {
    const TestFolder folder;
    folder.write("spy.csv", days("2024-03", 1, 470));
    folder.write("qqq.csv", days("2024-03", 1, 400));
    for (const bool chain : {false, true}) {
        const std::string error = error_of_folder(folder, chain);
        EXPECT_THAT(error, AllOf(HasSubstr("different instruments"), HasSubstr("spy.csv"),
                                 HasSubstr("qqq.csv"), testing::Not(HasSubstr("rows cannot"))));
        EXPECT_EQ(error.find("--chain") == std::string::npos, chain) << "not the advice when it was given";
    }
}

TEST(Instruments, BarsWithoutAContractAreNotMixedWithContracts) {
    const TestFolder folder;
    folder.write("btc.csv", days("2024-03", 1, 62'000));
    folder.write("ES 06-24.csv", days("2024-04", 1, 5200));
    for (const bool chain : {false, true})
        EXPECT_THAT(error_of_folder(folder, chain), AllOf(HasSubstr("different instruments"),
                                                          HasSubstr("btc.csv"), HasSubstr("\"ES 06-24\"")));
    ReadOptions options = options_for(folder.path());
    options.contract = "ES";
    EXPECT_EQ(read_with(options).bars.size(), 10u);
}

TEST(Instruments, FilesOfOneInstrumentFormOneHistory) {
    const std::vector<std::vector<const char*>> histories{{"old.csv", "new.csv"},
                                                          {"bars-2023.csv", "bars-2024.csv"},
                                                          {"SPY_part1.csv", "SPY_part2.csv"},
                                                          {"SPY_2023_daily.csv", "spy (1).csv"},
                                                          {"ES 03-25.csv", "ES 06-25.csv"},
                                                          {"ESH25.csv", "ESM25.csv"},
                                                          {"ES_03_25.csv", "ES_06_25.csv"},
                                                          {"ES 03-25.Last.txt", "ES 06-25.Last.txt"}};
    for (const auto& names : histories) {
        const TestFolder folder;
        folder.write(names[0], days("2024-01", 1, 100));
        folder.write(names[1], days("2024-02", 1, 106));
        EXPECT_EQ(error_of_folder(folder), "") << names[0];
    }
    const TestFolder folder; // a year apart
    folder.write("BTC-2019.csv", days("2024-03", 1, 110));
    folder.write("BTC-2021.csv", days("2024-05", 1, 700));
    EXPECT_EQ(error_of_folder(folder), "");
}

TEST(Instruments, FilesWithBarsOfDifferentLengthsAreRejectedByName) {
    const TestFolder folder;
    std::string text = "time,open,high,low,close,volume\n";
    for (int i = 0; i < 60; ++i)
        text += fmt::format("2024-03-01 10:{:02}:00,100,101,99,100,5\n", i);
    folder.write("SPY_1m.csv", text);
    text = "time,open,high,low,close,volume\n";
    for (int i = 0; i < 60; ++i)
        text += fmt::format("2024-03-{:02} {:02}:{:02}:00,100,101,99,100,5\n", 2 + i / 30, 10 + i % 30 / 6,
                            i % 6 * 10);
    folder.write("SPY_10m.csv", text);
    EXPECT_THAT(error_of_folder(folder),
                AllOf(HasSubstr("SPY_10m.csv has bars of 10 minutes"), HasSubstr("SPY_1m.csv of 1 minute")));
}

} // namespace
} // namespace rekindle::market
