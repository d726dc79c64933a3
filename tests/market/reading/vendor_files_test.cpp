/// Files in the formats that vendors and platforms export: each is read correctly or rejected with a message
/// that says what to do. The prices are made up; tick, order and spelling are those of the vendors.

#include "reading/reading_support.h"

#include <rekindle/market/clock.h>
#include <rekindle/market/clock_suggestion.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

using testing::HasSubstr;

/// A random walk of `count` bars; bar(i, …) formats one row from its number and its four prices.
template <class Bar>
std::string rows(int count, double tick, int start, bool newest_first, Bar bar) {
    std::vector<std::string> lines;
    int price = start;
    for (int i = 0; i < count; ++i) {
        const int close = price + (i * 7919 + 13) % 41 - 20;
        const int high = std::max(price, close) + i % 5, low = std::min(price, close) - i % 3;
        lines.push_back(bar(i, price * tick, high * tick, low * tick, close * tick));
        price = close;
    }
    std::string text;
    if (newest_first)
        std::reverse(lines.begin(), lines.end());
    for (const std::string& line : lines)
        text += line + "\n";
    return text;
}

std::string day(int i) {
    return format_date(make_date(2024, 1, 1) + i);
}
std::string minute(int i, const char* between = " ") {
    return day(i / 1440) + between + fmt::format("{:02}:{:02}:00", i / 60 % 24, i % 60);
}
/// The price after conversion to a 32-bit float, with six decimals.
std::string floated(double price) {
    return fmt::format("{:.6f}", static_cast<double>(static_cast<float>(price)));
}

struct Export {
    std::string vendor;
    std::string file;
    std::string text;
    std::size_t bars = 0; ///< 0: rejected
    double tick = 0;
    std::string columns{};
    std::string says{}; ///< expected in the notes or in the error
};

std::vector<Export> exports() {
    std::vector<Export> all;
    all.push_back({"Yahoo, an index as floats", "^GSPC.csv",
                   "Date,Open,High,Low,Close,Adj Close,Volume\n" +
                       rows(300, 0.01, 418'951, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{},{},{},{},{},{}", day(i), floated(o), floated(h),
                                                   floated(l), floated(c), floated(c), 3'000'000'000 + i);
                            }),
                   300, 0.01, "", "float noise"});
    all.push_back({"Yahoo, a higher index as doubles of floats", "^IXIC.csv",
                   "Date,Open,High,Low,Close,Adj Close,Volume\n" +
                       rows(300, 0.01, 1'600'000, false,
                            [](int i, double o, double h, double l, double c) {
                                const auto digits = [](double p) {
                                    return fmt::format("{:.17g}", static_cast<double>(static_cast<float>(p)));
                                };
                                return fmt::format("{},{},{},{},{},{},{}", day(i), digits(o), digits(h),
                                                   digits(l), digits(c), digits(c), 5000 + i);
                            }),
                   300, 0.01, "", "float noise"});
    all.push_back({"Stooq, daily", "spx_d.csv",
                   "Date,Open,High,Low,Close,Volume\n" +
                       rows(60, 0.01, 470'000, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{:g},{:g},{:g},{:g},{}", day(i), o, h, l, c, 1000 + i);
                            }),
                   60, 0.01});
    all.push_back({"Stooq, bulk", "eurusd.txt",
                   "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n" +
                       rows(60, 0.00001, 109'321, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format(
                                    "EURUSD,5,202401{:02},{:02}{:02}00,{:.5f},{:.5f},{:.5f},{:.5f},0,0",
                                    2 + i / 1440, i / 60, i % 60, o, h, l, c);
                            }),
                   60, 0.00001});
    all.push_back({"TradingView, ISO", "CME_MINI_ES1!, 1.csv",
                   "time,open,high,low,close,Volume\n" +
                       rows(90, 0.25, 18'900, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{}Z,{},{},{},{},{}", minute(i, "T"), o, h, l, c, 10 + i);
                            }),
                   90, 0.25});
    all.push_back({"TradingView, seconds since 1970", "CME_MINI_ES1!, 60.csv",
                   "time,open,high,low,close,Volume\n" +
                       rows(90, 0.25, 18'900, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{},{},{},{},{}", 1'704'067'200 + 3600 * i, o, h, l, c,
                                                   10 + i);
                            }),
                   90, 0.25, "", "own UTC offset"});
    all.push_back({"Binance, klines", "BTCUSDT-1m-2024-01.csv",
                   "1704067200000,42283.58,42298.62,42261.02,42298.61,35.92724,1704067259999,1519032.1,1327,"
                   "23.18766,980394.2,0\n"
                   "1704067260000,42298.61,42320.0,42298.61,42320.0,21.16779,1704067319999,895580.9,1018,"
                   "13.1,554255.6,0\n",
                   2, 0.01, "", "Volumes have fractions: they are stored in units of 10^-5, exactly"});
    all.push_back({"Binance, klines of coins with a header", "BTCUSDT-1m-2024-01.csv",
                   "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,"
                   "taker_buy_quote_volume,ignore\n"
                   "1704067200000,42283.58,42298.62,42261.02,42298.61,35.92724,1704067259999,1519032.1,1327,"
                   "23.18766,980394.2,0\n"
                   "1704067260000,42298.61,42320.0,42298.61,42320.0,21.16779,1704067319999,895580.9,1018,"
                   "13.1,554255.6,0\n",
                   2, 0.01, "", "Volumes have fractions: they are stored in units of 10^-5, exactly"});
    all.push_back({"Binance, klines of contracts with a header", "BTCUSD_PERP-1m-2024-01.csv",
                   "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,"
                   "taker_buy_quote_volume,ignore\n" +
                       rows(70, 0.1, 422'831, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{:.1f},{:.1f},{:.1f},{:.1f},{},{},1.5,13,7,0.7,0",
                                                   1'704'067'200'000 + 60'000 * i, o, h, l, c, 100 + i,
                                                   1'704'067'259'999 + 60'000 * i);
                            }),
                   70, 0.1, "", "open_time holds the start of each bar"});
    all.push_back({"Binance, klines in microseconds with --columns", "BTCUSD_PERP-1m-2025-01.csv",
                   rows(70, 0.1, 422'831, false,
                        [](int i, double o, double h, double l, double c) {
                            return fmt::format("{},{:.1f},{:.1f},{:.1f},{:.1f},{},0,1.5,13,7,0.7,0",
                                               1'735'689'600'000'000 + 60'000'000 * std::int64_t{i}, o, h, l,
                                               c, 100 + i);
                        }),
                   70, 0.1, "time=1,open=2,high=3,low=4,close=5,volume=6"});
    all.push_back({"A timestamp within a second", "XBTUSD_60.csv",
                   "1704067200999,42200.1,42300.5,42100.0,42250.3,12\n", 0, 0,
                   "time=1,open=2,high=3,low=4,close=5,volume=6", "is not a recognized time"});
    all.push_back({"Kraken, OHLCVT", "XBTUSD_60.csv", "1704067200,42200.1,42300.5,42100.0,42250.3,12.5,340\n",
                   1, 0.1, "time=1,open=2,high=3,low=4,close=5,volume=6", "Volumes have fractions"});
    all.push_back({"NinjaTrader, minutes", "ES 03-24.Last.txt",
                   rows(120, 0.25, 18'900, false,
                        [](int i, double o, double h, double l, double c) {
                            return fmt::format("20240102 {:02}{:02}00;{};{};{};{};{}", 9 + i / 60, i % 60, o,
                                               h, l, c, 5 + i);
                        }),
                   120, 0.25});
    all.push_back({"Alpha Vantage, newest first", "daily_SPY.csv",
                   "timestamp,open,high,low,close,volume\n" +
                       rows(100, 0.01, 47'000, true,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{:.4f},{:.4f},{:.4f},{:.4f},{}", day(i), o, h, l, c,
                                                   1000 + i);
                            }),
                   100, 0.01, "", "newest to oldest"});
    all.push_back({"Databento, single-digit years", "glbx.csv",
                   "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n" +
                       rows(90, 0.25, 18'900, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format(
                                    "{}.000000000Z,33,1,5602,{:.9f},{:.9f},{:.9f},{:.9f},{},ESH4",
                                    minute(i, "T"), o, h, l, c, 10 + i);
                            }),
                   90, 0.25, "", "ts_event holds the start of each bar"});
    all.push_back({"Databento, nanoseconds since 1970", "glbx.csv",
                   "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n" +
                       rows(90, 0.25, 18'900, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},33,1,5602,{:.9f},{:.9f},{:.9f},{:.9f},{},ESH4",
                                                   1'704'067'200'000'000'000 +
                                                       60'000'000'000 * std::int64_t{i},
                                                   o, h, l, c, 10 + i);
                            }),
                   90, 0.25});
    all.push_back({"Polygon, flat file of minutes", "2024-01-02.csv",
                   "ticker,volume,open,close,high,low,window_start,transactions\n" +
                       rows(90, 0.01, 47'000, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format(
                                    "SPY,{},{:.2f},{:.2f},{:.2f},{:.2f},{},7", 10 + i, o, c, h, l,
                                    1'704'185'400'000'000'000 + 60'000'000'000 * std::int64_t{i});
                            }),
                   90, 0.01, "", "window_start holds the start of each bar"});
    all.push_back({"Polygon and Alpaca, single letters", "spy.csv",
                   "v,vw,o,c,h,l,t,n\n" + rows(90, 0.01, 47'000, false,
                                               [](int i, double o, double h, double l, double c) {
                                                   return fmt::format(
                                                       "{},1.5,{:.2f},{:.2f},{:.2f},{:.2f},{},7", 10 + i, o,
                                                       c, h, l, 1'704'185'400'000 + 60'000 * std::int64_t{i});
                                               }),
                   90, 0.01});
    all.push_back({"Alpha Vantage through pandas", "spy.csv",
                   "date,1. open,2. high,3. low,4. close,5. volume\n" +
                       rows(90, 0.01, 47'000, true,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{:.2f},{:.2f},{:.2f},{:.2f},{}.0", day(i), o, h, l, c,
                                                   1000 + i);
                            }),
                   90, 0.01, "", "newest to oldest"});
    all.push_back({"stocks of the S&P 500 on Kaggle", "AAL_data.csv",
                   "date,open,high,low,close,volume,Name\n" +
                       rows(90, 0.01, 47'000, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{:.2f},{:.2f},{:.2f},{:.2f},{},AAL", day(i), o, h, l,
                                                   c, 1000 + i);
                            }),
                   90, 0.01});
    all.push_back({"Sierra Chart", "ESH24-CME.txt",
                   "Date, Time, Open, High, Low, Last, Volume, NumberOfTrades, BidVolume, AskVolume\n" +
                       rows(90, 0.25, 18'900, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format(
                                    "2024/1/{}, {:02}:{:02}:00.000000, {}, {}, {}, {}, {}, 3, 4, 5",
                                    2 + i / 60, 9 + i / 60, i % 60, o, h, l, c, 10 + i);
                            }),
                   90, 0.25});
    all.push_back({"TradeStation, daily", "SPY.txt",
                   "\"Date\",\"Time\",\"Open\",\"High\",\"Low\",\"Close\",\"Vol\",\"OI\"\n" +
                       rows(25, 0.01, 47'000, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("01/{:02}/2024,16:00,{:.2f},{:.2f},{:.2f},{:.2f},{},0",
                                                   1 + i, o, h, l, c, 1000 + i);
                            }),
                   25, 0.01});
    all.push_back({"TradeStation, volume in two columns", "SPY.txt",
                   "\"Date\",\"Time\",\"Open\",\"High\",\"Low\",\"Close\",\"Up\",\"Down\"\n"
                   "01/02/2024,09:31,470,471,469,470.5,100,200\n",
                   1, 0.5, "", "The volume is the sum of the columns Up and Down"});
    all.push_back({"Barchart, minutes", "esh24_intraday-1min.csv",
                   "Time,Open,High,Low,Last,Change,%Chg,Volume\n" +
                       rows(90, 0.25, 18'900, true,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{},{},{},{},1,0.1%,{}", minute(i).substr(0, 16), o, h,
                                                   l, c, 10 + i);
                            }),
                   90, 0.25, "", "newest to oldest"});
    all.push_back({"AmiBroker", "es.csv",
                   "Ticker,Date/Time,Open,High,Low,Close,Volume\n" +
                       rows(90, 0.25, 18'900, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("ES,{},{},{},{},{},{}", minute(i), o, h, l, c, 10 + i);
                            }),
                   90, 0.25});
    all.push_back({"Interactive Brokers, two blanks", "es.csv",
                   "date,open,high,low,close,volume,average,barCount\n" +
                       rows(50, 0.25, 18'900, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("20240102  09:{:02}:00,{},{},{},{},{},1.5,3", i, o, h, l,
                                                   c, 10 + i);
                            }),
                   50, 0.25});
    all.push_back(
        {"CryptoDataDownload, fractional volumes", "Binance_BTCUSDT_1h.csv",
         "https://www.CryptoDataDownload.com\nUnix,Date,Symbol,Open,High,Low,Close,Volume BTC\n"
         "1704067200000,2024-01-01 00:00:00,BTCUSDT,42283.58,42554.57,42261.02,42475.23,1271.68108\n",
         1, 0.01, "", "Volume is taken from the column Volume BTC"});
    return all;
}

/// Held-out files, which were not used to develop the reader.
std::vector<Export> held_out() {
    std::vector<Export> all;
    all.push_back({"Tiingo", "tiingo_spy.csv",
                   "date,close,high,low,open,volume\n" +
                       rows(50, 0.01, 47'123, true,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{}T00:00:00.000Z,{:.2f},{:.2f},{:.2f},{:.2f},{}", day(i),
                                                   c, h, l, o, 900 + i);
                            }),
                   50, 0.01, "", "newest to oldest"});
    all.push_back({"Interactive Brokers through pandas", "es.csv",
                   ",date,open,high,low,close,volume,average,barCount\n" +
                       rows(80, 0.25, 19'000, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{}-06:00,{},{},{},{},{}.0,{},{}", i, minute(i), o, h,
                                                   l, c, 7 + i, c, 3);
                            }),
                   80, 0.25});
    all.push_back({"FirstRate, no header", "NQ_full_1min.txt",
                   rows(70, 0.25, 68'000, false,
                        [](int i, double o, double h, double l, double c) {
                            return fmt::format("{},{},{},{},{},{}", minute(i), o, h, l, c, 7 + i);
                        }),
                   70, 0.25, "time=1,open=2,high=3,low=4,close=5,volume=6"});
    all.push_back({"MetaTrader 5", "EURUSD_M1.csv",
                   "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n" +
                       rows(60, 0.00001, 110'427, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format(
                                    "2024.01.02\t{:02}:{:02}:00\t{:.5f}\t{:.5f}\t{:.5f}\t{:.5f}\t28\t0\t12",
                                    i / 60, i % 60, o, h, l, c);
                            }),
                   60, 0.00001, "", "<VOL> is 0 throughout"});
    all.push_back(
        {"Dukascopy, day first", "EURUSD_Candlestick_1_M_BID.csv",
         "Gmt time,Open,High,Low,Close,Volume\n13.01.2024 00:01:00.000 GMT+0000,1.1,1.1,1.1,1.1,5.25\n", 1,
         0.1, "", "in units of 10^-2, exactly"});
    all.push_back({"Yahoo, gold as floats", "GC=F.csv",
                   "Date,Open,High,Low,Close,Adj Close,Volume\n" +
                       rows(200, 0.1, 20'641, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format("{},{},{},{},{},{},{}", day(i), floated(o), floated(h),
                                                   floated(l), floated(c), floated(c), 300 + i);
                            }),
                   200, 0.1, "", "float noise"});
    all.push_back({"Cboe, a future on the VIX", "CFE_VX_K2024.csv",
                   "Trade Date,Futures,Open,High,Low,Close,Settle,Change,Total Volume,EFP,Open Interest\n" +
                       rows(60, 0.05, 300, false,
                            [](int i, double o, double h, double l, double c) {
                                return fmt::format(
                                    "{},K (May 24),{:.2f},{:.2f},{:.2f},{:.2f},{:.2f},0,{},0,9", day(i), o, h,
                                    l, c, c, 300 + i);
                            }),
                   60, 0.05, "", ""});
    all.push_back({"a column named for its zone", "6EH4.csv",
                   "timestamp_utc,open,high,low,close,volume\n"
                   "2024-01-01 23:01:00,1.1076,1.10785,1.1076,1.1078,205\n"
                   "2024-01-01 23:02:00,1.1078,1.1078,1.1077,1.10775,86\n",
                   2, 0.00005, "", ""});
    return all;
}

void expect_read_or_rejected(const Export& file) {
    SCOPED_TRACE(file.vendor);
    ReadOptions options;
    options.columns = file.columns;
    if (file.bars == 0) {
        const std::string message = error_of(file.text, options, file.file);
        EXPECT_THAT(message, HasSubstr(file.says));
        EXPECT_THAT(message, HasSubstr("expected"));
        return;
    }
    const TestFolder folder;
    options.paths = {folder.write(file.file, file.text)};
    const ReadResult result = read_with(options);
    const BarColumns bars = result.bars.columns();
    ASSERT_EQ(bars.size(), file.bars);
    EXPECT_EQ(result.report.tick.points, file.tick);
    for (std::size_t i = 1; i < bars.size(); ++i) {
        ASSERT_LT(bars.time[i - 1], bars.time[i]);
        ASSERT_EQ(bars.open[i], bars.close[i - 1]) << "the walk, in order";
    }
    if (!file.says.empty()) {
        EXPECT_THAT(result.report.notes, testing::Contains(HasSubstr(file.says)));
    }
}

TEST(VendorFiles, AreReadOrRejectedWithAdvice) {
    for (const Export& file : exports())
        expect_read_or_rejected(file);
}

TEST(VendorFiles, HeldOutFilesAreReadOrRejected) {
    for (const Export& file : held_out())
        expect_read_or_rejected(file);
}

/// Rows from the MetaTrader 5 Python package; the real volume of row i is real(i), the tick volume is 1000 +
/// i.
template <class Real>
std::string metatrader(int count, Real real) {
    return "time,open,high,low,close,tick_volume,spread,real_volume\n" +
           rows(count, 0.25, 18'900, false, [&](int i, double o, double h, double l, double c) {
               return fmt::format("{},{},{},{},{},{},1,{}", 1'704'200'460 + 60 * i, o, h, l, c, 1000 + i,
                                  real(i));
           });
}

TEST(VendorFiles, TradedVolumeIsPreferredToTheNumberOfPriceChanges) {
    const auto volumes = [](const ReadResult& result) {
        const auto column = result.bars.columns().volume;
        return std::vector<std::int64_t>(column.begin(), column.end());
    };
    const ReadResult traded = read_text(metatrader(3, [](int i) { return 5 + i; }));
    EXPECT_EQ(volumes(traded), (std::vector<std::int64_t>{5, 6, 7}));
    EXPECT_THAT(traded.report.notes, testing::Contains("Volume is taken from the column real_volume, not "
                                                       "from tick_volume, which counts price changes."));
    EXPECT_EQ(traded.bars.columns().time[0], 1'704'200'460);

    const ReadResult none = read_text(metatrader(3, [](int) { return 0; }));
    EXPECT_EQ(volumes(none), (std::vector<std::int64_t>{1000, 1001, 1002}));
    EXPECT_THAT(none.report.notes,
                testing::Contains("Volume is taken from the column tick_volume, which counts price changes, "
                                  "because real_volume is 0 throughout."));

    // Far beyond the part used to recognize the file, and in a file other than the first.
    const int many = 60'000;
    const std::string late = metatrader(many, [](int i) { return i == many - 1 ? 9 : 0; });
    EXPECT_EQ(volumes(read_text(late)).back(), 9);
    EXPECT_EQ(volumes(read_text(late)).front(), 0);
    const TestFolder folder;
    const std::string header = late.substr(0, late.find('\n') + 1);
    const std::size_t half = late.find('\n', late.size() / 2) + 1;
    ReadOptions options;
    options.paths = {folder.write("es_1.csv", late.substr(0, half)),
                     folder.write("es_2.csv", header + late.substr(half))};
    EXPECT_EQ(volumes(read_with(options)), volumes(read_text(late)));

    const ReadResult alone =
        read_text("time,open,high,low,close,tick_volume\n2024-01-02 09:31:00,1,1,1,1,8\n");
    EXPECT_EQ(volumes(alone), (std::vector<std::int64_t>{8}));
    EXPECT_THAT(
        alone.report.notes,
        testing::Contains("Volume is taken from the column tick_volume, which counts price changes."));
}

TEST(VendorFiles, UnixTimesAreUtcInEveryUnit) {
    for (const char* zeros : {"", "000", "000000", "000000000", ".0"})
        for (const Clock clock : {Clock::utc, Clock::exchange}) {
            ReadOptions options;
            options.clock = clock;
            const ReadResult result = read_text(
                fmt::format("time,open,high,low,close,volume\n1710495060{},1,1,1,1,8\n", zeros), options);
            EXPECT_EQ(result.bars.columns().time[0], 1'710'495'060) << zeros;
        }
}

/// Daily bars with a time of 00:00:00, in the format of each vendor, are read as dates.
TEST(VendorFiles, DailyBarsAtMidnightAreDates) {
    struct Case {
        std::string vendor;
        std::function<std::string(int)> stamp; ///< of day i
    };
    const std::vector<Case> cases{
        {"yfinance", [](int i) { return day(i) + (i < 69 ? " 00:00:00-05:00" : " 00:00:00-04:00"); }},
        {"Tiingo", [](int i) { return day(i) + "T00:00:00.000Z"; }},
        {"pandas", [](int i) { return day(i) + " 00:00:00"; }},
        {"Tokyo", [](int i) { return day(i) + "T00:00:00+09:00"; }},
        {"Binance", [](int i) { return std::to_string((1'704'067'200 + 86'400 * std::int64_t{i}) * 1000); }},
    };
    for (const Case& one : cases)
        for (const Clock clock : {Clock::utc, Clock::exchange, Clock::raw})
            for (const StampAt at : {StampAt::bar_end, StampAt::bar_start}) {
                SCOPED_TRACE(one.vendor);
                ReadOptions options;
                options.clock = clock;
                options.stamp = at;
                const std::string text =
                    "Date,Open,High,Low,Close,Volume\n" +
                    rows(120, 0.01, 47'000, false, [&](int i, double o, double h, double l, double c) {
                        return fmt::format("{},{:.2f},{:.2f},{:.2f},{:.2f},{}", one.stamp(i), o, h, l, c,
                                           5 + i);
                    });
                const ReadResult result = read_text(text, options);
                EXPECT_TRUE(result.bars.metadata().dates_only);
                ASSERT_EQ(result.bars.size(), 120u);
                for (std::size_t i = 0; i < 120; ++i)
                    ASSERT_EQ(date_of(result.bars.columns().time[i]),
                              make_date(2024, 1, 1) + static_cast<std::int32_t>(i));
                const ClockSuggestion suggestion =
                    suggest_clock(result.bars, SessionRules{}, options.stamps());
                EXPECT_EQ(suggestion.verdict, ClockSuggestion::Verdict::unclear);
                EXPECT_EQ(suggestion.stamp_message + suggestion.hours_message, "");
                EXPECT_THAT(result.report.notes, testing::Each(testing::Not(HasSubstr("clock"))));
            }
}

TEST(VendorFiles, IntradayBarAmongDailyBarsIsReported) {
    EXPECT_THAT(error_of("Date,Open,High,Low,Close,Volume\n2024-01-02 00:00:00-05:00,1,1,1,1,8\n" +
                         std::string("2024-01-03 00:00:00-05:00,1,1,1,1,8\n") + std::string(1 << 17, '\n') +
                         "2024-01-04 09:30:00-05:00,1,1,1,1,8\n"),
                HasSubstr("expected a timestamp like 2024-03-15 00:00:00-05:00"));
    // Minutes around midnight stay minutes.
    const ReadResult minutes = read_text("time,open,high,low,close,volume\n2024-01-02 23:59:00,1,1,1,1,8\n"
                                         "2024-01-03 00:00:00,1,1,1,1,8\n");
    EXPECT_FALSE(minutes.bars.metadata().dates_only);
}

} // namespace
} // namespace rekindle::market
