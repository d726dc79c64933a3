/// Files that are read together must hold one instrument.

#include "reading/instruments.h"
#include "reading/reading_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

namespace rekindle::market {
namespace {

using reading::instrument_words;
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

std::string error_of_folder(const TestFolder& folder) {
    try {
        read_with(options_for(folder.path()));
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
                                      {"history part 3.csv", ""}})
        EXPECT_EQ(instrument_words(name), words) << name;
}

TEST(Instruments, FilesWhosePricesDoNotLineUpAreRejectedByName) {
    const TestFolder folder;
    folder.write("bitcoin.csv", days("2024-03", 1, 62'000));
    folder.write("sp500.csv", days("2024-04", 1, 5200));
    EXPECT_THAT(error_of_folder(folder), AllOf(HasSubstr("different instruments"), HasSubstr("bitcoin.csv"),
                                               HasSubstr("sp500.csv"), HasSubstr("a factor of 11.98")));
}

TEST(Instruments, FilesWithDifferentPricesAtTheSameTimeAreRejectedByName) {
    const TestFolder folder;
    folder.write("spy.csv", days("2024-03", 1, 470));
    folder.write("qqq.csv", days("2024-03", 1, 400));
    EXPECT_THAT(error_of_folder(folder), AllOf(HasSubstr("different instruments"), HasSubstr("spy.csv"),
                                               HasSubstr("qqq.csv"), testing::Not(HasSubstr("rows cannot"))));
}

TEST(Instruments, BarsWithoutAContractAreNotMixedWithContracts) {
    const TestFolder folder;
    folder.write("btc.csv", days("2024-03", 1, 62'000));
    folder.write("ES 06-24.csv", days("2024-04", 1, 5200));
    EXPECT_THAT(error_of_folder(folder),
                AllOf(HasSubstr("different instruments"), HasSubstr("btc.csv"), HasSubstr("\"ES 06-24\"")));
    ReadOptions options = options_for(folder.path());
    options.contract = "ES";
    EXPECT_EQ(read_with(options).bars.size(), 10u);
}

TEST(Instruments, FilesOfOneInstrumentFormOneHistory) {
    const TestFolder folder;
    for (const auto& [name, month, price] :
         {std::tuple{"old.csv", "2024-01", 100.0},
          {"new.csv", "2024-02", 106.0},
          {"BTC-2019.csv", "2024-03", 110.0},
          {"BTC-2021.csv", "2024-05", 700.0}}) // a year apart, with similar names
        folder.write(name, days(month, 1, price));
    EXPECT_EQ(error_of_folder(folder), "");
}

} // namespace
} // namespace rekindle::market
