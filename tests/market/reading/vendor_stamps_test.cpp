/// Reads the beginnings of files as vendors document or export them. Checks which columns are recognized, and
/// when the first bar ends in UTC. All files contain the same four minutes, the first from 14:30 to 14:31 UTC
/// (09:30 to 09:31 in New York) on 2024-01-02. The prices are made up.

#include "reading/reading_support.h"

#include <rekindle/market/clock.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

struct Minute {
    int i = 0;
    double open = 0, high = 0, low = 0, close = 0;
    int volume = 0;
    std::int64_t unix_seconds() const { return 1'704'205'800 + 60 * std::int64_t{i}; }
    std::string ohlc(const char* between = ",") const {
        return fmt::format("{}{}{}{}{}{}{}", open, between, high, between, low, between, close);
    }
};

constexpr std::array<Minute, 4> minutes{{{0, 4770.25, 4772.5, 4769.75, 4771, 1250},
                                         {1, 4771, 4773.25, 4770.5, 4772.75, 980},
                                         {2, 4772.75, 4773, 4771.25, 4771.5, 1102},
                                         {3, 4771.5, 4774, 4771, 4773.5, 900}}};

struct Vendor {
    std::string name;
    std::string header; ///< with its line break
    std::function<std::string(const Minute&)> row;
    std::string columns; ///< "time 1, open 2, …" as recognized
    Clock clock = Clock::utc;
    std::string zone = "America/New_York"; ///< for Clock::exchange
    std::optional<StampAt> stamp{};        ///< as --stamp; empty if the file says it
    bool newest_first = false;
    std::string end = "2024-01-02 14:31:00"; ///< of the first bar, in UTC
};

std::string clock_text(const Minute& m, int hour, const char* between = ":", bool seconds = true) {
    return fmt::format("{:02}{}{:02}{}{}", hour, between, 30 + m.i, seconds ? between : "",
                       seconds ? "00" : "");
}

const std::string plain = "time 1, open 2, high 3, low 4, close 5, volume 6";
const std::string two_fields = "date 1, clock 2, open 3, high 4, low 5, close 6, volume 7";

std::vector<Vendor> vendors() {
    const auto start = StampAt::bar_start;
    const auto iso = [](const Minute& m, int hour) { return "2024-01-02 " + clock_text(m, hour); };
    std::vector<Vendor> all;
    all.push_back({"Binance, spot since 2025: microseconds, no header", "",
                   [](const Minute& m) {
                       const std::int64_t time = m.unix_seconds() * 1'000'000;
                       return fmt::format("{},{},{},{},1.5,13,7,0.7,0", time, m.ohlc(), m.volume,
                                          time + 59'999'999);
                   },
                   plain + ", ask_volume 10"});
    all.push_back({"Binance, futures: milliseconds, header",
                   "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,"
                   "taker_buy_quote_volume,ignore\n",
                   [](const Minute& m) {
                       const std::int64_t time = m.unix_seconds() * 1000;
                       return fmt::format("{},{},{},{},1.5,13,7,0.7,0", time, m.ohlc(), m.volume,
                                          time + 59'999);
                   },
                   plain + ", ask_volume 10"});
    all.push_back({.name = "TradingView, ISO time",
                   .header = "time,open,high,low,close,Volume\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("2024-01-02T{}-05:00,{},{}", clock_text(m, 9), m.ohlc(),
                                              m.volume);
                       },
                   .columns = plain,
                   .stamp = start});
    all.push_back(
        {.name = "TradingView, UNIX time",
         .header = "time,open,high,low,close,Volume\n",
         .row = [](const Minute& m) { return fmt::format("{},{},{}", m.unix_seconds(), m.ohlc(), m.volume); },
         .columns = plain,
         .stamp = start});
    all.push_back({.name = "yfinance, minutes",
                   .header = "Datetime,Open,High,Low,Close,Adj Close,Volume\n",
                   .row =
                       [=](const Minute& m) {
                           return fmt::format("{}-05:00,{},{},{}", iso(m, 9), m.ohlc(), m.close, m.volume);
                       },
                   .columns = "time 1, open 2, high 3, low 4, close 5, volume 7",
                   .stamp = start});
    all.push_back({.name = "Stooq, minutes of the bulk download",
                   .header = "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("SPY.US,5,20240102,{},{},{},0", clock_text(m, 15, ""), m.ohlc(),
                                              m.volume);
                       },
                   .columns = "contract 1, date 3, clock 4, open 5, high 6, low 7, close 8, volume 9",
                   .clock = Clock::exchange,
                   .zone = "Europe/Warsaw",
                   .stamp = start});
    all.push_back({.name = "Alpaca, Python SDK",
                   .header = "symbol,timestamp,open,high,low,close,volume,trade_count,vwap\n",
                   .row =
                       [=](const Minute& m) {
                           return fmt::format("SPY,{}+00:00,{},{},10.0,4771.2", iso(m, 14), m.ohlc(),
                                              m.volume);
                       },
                   .columns = "contract 1, time 2, open 3, high 4, low 5, close 6, volume 7",
                   .stamp = start});
    all.push_back({.name = "Alpaca, JSON as CSV",
                   .header = "t,o,h,l,c,v,n,vw\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("2024-01-02T{}Z,{},{},10,4771.2", clock_text(m, 14), m.ohlc(),
                                              m.volume);
                       },
                   .columns = plain,
                   .stamp = start});
    all.push_back({"Polygon, flat files", "ticker,volume,open,close,high,low,window_start,transactions\n",
                   [](const Minute& m) {
                       return fmt::format("SPY,{},{},{},{},{},{}000000000,12", m.volume, m.open, m.close,
                                          m.high, m.low, m.unix_seconds());
                   },
                   "contract 1, volume 2, open 3, close 4, high 5, low 6, time 7"});
    all.push_back({.name = "Polygon, JSON as CSV",
                   .header = "v,vw,o,c,h,l,t,n\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("{},4771.2,{},{},{},{},{}000,12", m.volume, m.open, m.close,
                                              m.high, m.low, m.unix_seconds());
                       },
                   .columns = "volume 1, open 3, close 4, high 5, low 6, time 7",
                   .stamp = start});
    for (const bool zone : {true, false}) // with the time zone since version 10.17 of the API
        all.push_back({.name = zone ? "Interactive Brokers, with a zone" : "Interactive Brokers, two blanks",
                       .header = "date,open,high,low,close,volume,average,barCount\n",
                       .row =
                           [=](const Minute& m) {
                               return fmt::format("20240102 {}{}{},{},{},4771.2,10", zone ? "" : " ",
                                                  clock_text(m, 9), zone ? " US/Eastern" : "", m.ohlc(),
                                                  m.volume);
                           },
                       .columns = plain,
                       .clock = zone ? Clock::utc : Clock::exchange,
                       .stamp = start});
    all.push_back({.name = "ib_async's data frame",
                   .header = "date,open,high,low,close,volume,average,barCount\n",
                   .row =
                       [=](const Minute& m) {
                           return fmt::format("{}-05:00,{},{},4771.2,10", iso(m, 9), m.ohlc(), m.volume);
                       },
                   .columns = plain,
                   .stamp = start});
    all.push_back({.name = "TradeStation, Up and Down",
                   .header = "\"Date\",\"Time\",\"Open\",\"High\",\"Low\",\"Close\",\"Up\",\"Down\"\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("01/02/2024,09:{},{},{},{}", 31 + m.i, m.ohlc(), m.volume - 100,
                                              100);
                       },
                   .columns = two_fields,
                   .clock = Clock::exchange});
    all.push_back({.name = "TradeStation, Vol",
                   .header = "\"Date\",\"Time\",\"Open\",\"High\",\"Low\",\"Close\",\"Vol\",\"OI\"\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("01/02/2024,09{},{},{},0", 31 + m.i, m.ohlc(), m.volume);
                       },
                   .columns = two_fields,
                   .clock = Clock::exchange});
    all.push_back({.name = "MultiCharts",
                   .header = "<Date>, <Time>, <Open>, <High>, <Low>, <Close>, <Volume>\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("01/02/2024,09:{}:00,{},{}", 31 + m.i, m.ohlc(), m.volume);
                       },
                   .columns = two_fields,
                   .clock = Clock::exchange});
    all.push_back({.name = "MetaTrader 4, no header, server in UTC+2",
                   .header = "",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("2024.01.02,16:{},{},{}", 30 + m.i, m.ohlc(), m.volume);
                       },
                   .columns = two_fields,
                   .clock = Clock::exchange,
                   .zone = "Europe/Athens",
                   .stamp = start});
    all.push_back({.name = "MetaTrader 5, server in UTC+2",
                   .header = "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("2024.01.02\t16:{}:00\t{}\t77\t{}\t5", 30 + m.i, m.ohlc("\t"),
                                              m.volume);
                       },
                   .columns = "date 1, clock 2, open 3, high 4, low 5, close 6, volume 8",
                   .clock = Clock::exchange,
                   .zone = "Europe/Athens",
                   .stamp = start});
    all.push_back({"Quantower", "Time left;Open;High;Low;Close;Volume\n",
                   [](const Minute& m) {
                       return fmt::format("1/2/2024 2:{}:00 PM;{};{}", 30 + m.i, m.ohlc(";"), m.volume);
                   },
                   plain});
    all.push_back(
        {.name = "FirstRate, no header",
         .header = "",
         .row = [=](const Minute& m) { return fmt::format("{},{},{}", iso(m, 9), m.ohlc(), m.volume); },
         .columns = plain,
         .clock = Clock::exchange,
         .stamp = start});
    all.push_back({.name = "Kibot, no header",
                   .header = "",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("01/02/2024,09:{},{},{}", 30 + m.i, m.ohlc(), m.volume);
                       },
                   .columns = two_fields,
                   .clock = Clock::exchange,
                   .stamp = start});
    all.push_back({.name = "HistData, ASCII: New York without daylight saving time",
                   .header = "",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("20240102 {};{};{}", clock_text(m, 9, ""), m.ohlc(";"),
                                              m.volume);
                       },
                   .columns = plain,
                   .clock = Clock::exchange,
                   .zone = "Etc/GMT+5",
                   .stamp = start});
    all.push_back({.name = "Dukascopy, GMT",
                   .header = "Gmt time,Open,High,Low,Close,Volume\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("02.01.2024 {}.000,{},{}", clock_text(m, 14), m.ohlc(),
                                              m.volume);
                       },
                   .columns = plain,
                   .stamp = start});
    all.push_back({.name = "Dukascopy, local time",
                   .header = "Local time,Open,High,Low,Close,Volume\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("02.01.2024 {}.000 GMT+0100,{},{}", clock_text(m, 15), m.ohlc(),
                                              m.volume);
                       },
                   .columns = plain,
                   .stamp = start});
    all.push_back({.name = "Dukascopy, JForex",
                   .header = "Time (UTC),Open,High,Low,Close,Volume \n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("2024.01.02 {},{},{}", clock_text(m, 14), m.ohlc(), m.volume);
                       },
                   .columns = plain,
                   .stamp = start});
    all.push_back({.name = "Kraken, OHLCVT without a header",
                   .header = "",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("{},{},{}.5,12", m.unix_seconds(), m.ohlc(), m.volume);
                       },
                   .columns = plain,
                   .stamp = start});
    all.push_back({.name = "Coinbase, candles as CSV",
                   .header = "time,low,high,open,close,volume\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("{},{},{},{},{},{}", m.unix_seconds(), m.low, m.high, m.open,
                                              m.close, m.volume);
                       },
                   .columns = "time 1, low 2, high 3, open 4, close 5, volume 6",
                   .stamp = start,
                   .newest_first = true});
    all.push_back(
        {.name = "Bitstamp of Kaggle, seconds with a point",
         .header = "Timestamp,Open,High,Low,Close,Volume\n",
         .row =
             [](const Minute& m) { return fmt::format("{}.0,{},{}", m.unix_seconds(), m.ohlc(), m.volume); },
         .columns = plain,
         .stamp = start});
    all.push_back({.name = "Bitstamp of CryptoDataDownload",
                   .header =
                       "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,"
                       "Volume USD\n",
                   .row =
                       [=](const Minute& m) {
                           return fmt::format("{},{},BTC/USD,{},{},1.5", m.unix_seconds(), iso(m, 14),
                                              m.ohlc(), m.volume);
                       },
                   .columns = "time 1, contract 3, open 4, high 5, low 6, close 7, volume 8",
                   .stamp = start,
                   .newest_first = true});
    all.push_back({.name = "Barchart, with its last line",
                   .header = "Time,Open,High,Low,Last,Change,%Chg,Volume\n",
                   .row =
                       [](const Minute& m) {
                           const std::string last =
                               m.i == 0 ? "\n\"Downloaded from Barchart.com as of 01-03-2024 10:00am CST\""
                                        : "";
                           return fmt::format("\"01/02/2024 09:{}\",{},1,0.1%,{}{}", 30 + m.i, m.ohlc(),
                                              m.volume, last);
                       },
                   .columns = "time 1, open 2, high 3, low 4, close 5, volume 8",
                   .clock = Clock::exchange,
                   .stamp = start,
                   .newest_first = true});
    all.push_back(
        {.name = "Sierra Chart, text export",
         .header = "Date, Time, Open, High, Low, Last, Volume, NumberOfTrades, BidVolume, AskVolume\n",
         .row =
             [](const Minute& m) {
                 return fmt::format("2024/1/2, {}.000000, {}, {}, 12, {}, {}", clock_text(m, 14),
                                    m.ohlc(", "), m.volume, m.volume / 2, m.volume - m.volume / 2);
             },
         .columns = two_fields + ", bid_volume 9, ask_volume 10",
         .stamp = start});
    all.push_back({.name = "AmiBroker, times of the end",
                   .header = "Ticker,Date/Time,Open,High,Low,Close,Volume\n",
                   .row =
                       [](const Minute& m) {
                           return fmt::format("SPY,1/2/2024 9:{}:00 AM,{},{}", 31 + m.i, m.ohlc(), m.volume);
                       },
                   .columns = "contract 1, time 2, open 3, high 4, low 5, close 6, volume 7",
                   .clock = Clock::exchange});
    return all;
}

std::string columns_of(const ReadReport& report) {
    std::string text;
    for (const RecognizedColumn& column : report.columns)
        if (!column.name.empty())
            text += (text.empty() ? "" : ", ") + column.name + " " + std::to_string(column.position);
    return text;
}

TEST(VendorStamps, ColumnsAndTheEndOfTheFirstBar) {
    for (const Vendor& vendor : vendors()) {
        SCOPED_TRACE(vendor.name);
        std::string text = vendor.header;
        for (std::size_t i = 0; i < minutes.size(); ++i)
            text += vendor.row(minutes[vendor.newest_first ? minutes.size() - 1 - i : i]) + "\n";
        ReadOptions options;
        options.clock = vendor.clock;
        options.zone = vendor.zone;
        options.stamp = vendor.stamp;
        options.tick = 0.25;
        const TestFolder folder;
        options.paths = {folder.write("bars.csv", text)};
        try {
            const ReadResult read = read_with(options);
            const BarColumns& bars = read.bars.columns();
            ASSERT_EQ(bars.size(), minutes.size());
            EXPECT_EQ(columns_of(read.report), vendor.columns);
            for (std::size_t i = 0; i < minutes.size(); ++i) {
                EXPECT_EQ(format_civil(bars.time[i] - 60 * static_cast<std::int64_t>(i)), vendor.end);
                EXPECT_EQ(bars.open[i] / 4.0, minutes[i].open);
                EXPECT_EQ(bars.high[i] / 4.0, minutes[i].high);
                EXPECT_EQ(bars.low[i] / 4.0, minutes[i].low);
                EXPECT_EQ(bars.close[i] / 4.0, minutes[i].close);
                EXPECT_EQ(bars.volume[i] / read.bars.metadata().volume_per_unit(), minutes[i].volume);
            }
        } catch (const Error& error) {
            ADD_FAILURE() << error.render();
        }
    }
}

TEST(VendorStamps, ANamedZoneFollowsDaylightSavingTimeAndIsTheSameInEveryRow) {
    const std::string header = "date,open,high,low,close,volume\n";
    const ReadResult read = read_text(header + "20240308 09:30:00 US/Eastern,1,2,1,2,5\n"
                                               "20240311 09:30:00 US/Eastern,2,3,1,2,5\n");
    EXPECT_EQ(format_civil(read.bars.columns().time[0]), "2024-03-08 14:30:00");
    EXPECT_EQ(format_civil(read.bars.columns().time[1]), "2024-03-11 13:30:00");
    EXPECT_NE(error_of(header + "20240308 09:30:00 US/Eastern,1,2,1,2,5\n"
                                "20240311 09:30:00 US/Central,2,3,1,2,5\n"),
              "");
    EXPECT_NE(error_of(header + "20240308 09:30:00 US/Nowhere,1,2,1,2,5\n"), "");
    ReadOptions raw;
    raw.clock = Clock::raw;
    EXPECT_EQ(format_civil(
                  read_text(header + "20240308 09:30:00 US/Eastern,1,2,1,2,5\n", raw).bars.columns().time[0]),
              "2024-03-08 09:30:00");
}

TEST(VendorStamps, RowsWithoutAHeaderMustBeOpenHighLowClose) {
    EXPECT_EQ(error_of("2024-01-02 09:30:00,4,5,3,4,10\n2024-01-02 09:31:00,4,5,3,4.5,10\n"), "");
    for (const char* other : {"2024-01-02 09:30:00,4,3,5,4,10\n", "2024-01-02 09:30:00,4,5,3,6,10\n",
                              "2024-01-02 09:30:00,4,4,4,4,10\n", "2024-01-02 09:30:00,4,5,3,4\n",
                              "2024-01-02 09:30:00,4,5,3,4,x\n", "7,4,5,3,4,10\n"})
        EXPECT_NE(error_of(other), "") << other;
}

} // namespace
} // namespace rekindle::market
