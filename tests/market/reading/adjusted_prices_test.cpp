/// Prices without a tick: adjusted for splits and dividends, back-adjusted below zero, or stored as 32-bit
/// floats that are too coarse for a tick. And the ways in which vendors write such files.

#include "reading/reading_support.h"
#include "reading/tick.h"

#include <rekindle/base/philox.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/volume_profile.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Row {
    double open = 0, high = 0, low = 0, close = 0;
    std::int64_t volume = 0;
};

/// A walk in cents around `start`, all prices multiplied by `factor` and moved by `shift`.
std::vector<Row> walk(int count, double start, double factor, double shift = 0) {
    PhiloxStream random(31, RandomPurpose::test);
    std::vector<Row> rows;
    double cents = std::round(start * 100);
    for (int i = 0; i < count; ++i) {
        const double open = cents;
        cents = std::max(1.0, std::round(cents * (1 + 0.02 * (random.next_double() - 0.5))));
        const auto price = [&](double value) { return value / 100 * factor + shift; };
        rows.push_back({price(open), price(std::max(open, cents) + 3), price(std::min(open, cents) - 2),
                        price(cents), 1'000'000 + i});
    }
    return rows;
}

std::string day(std::size_t i) {
    return format_date(make_date(2023, 1, 2) + static_cast<std::int32_t>(i));
}

using Format = std::function<std::string(double)>;

std::string decimals(int count, double price) {
    return fmt::format("{:.{}f}", price, count);
}
std::string all_digits(double price) {
    return fmt::format("{:.17g}", price);
}
std::string float_digits(double price) {
    return all_digits(static_cast<double>(static_cast<float>(price)));
}

std::string yahoo(const std::vector<Row>& rows, const Format& text, const std::string& header) {
    std::string file = header;
    for (std::size_t i = 0; i < rows.size(); ++i)
        file += fmt::format("{},{},{},{},{},{}\n", day(i), text(rows[i].close), text(rows[i].high),
                            text(rows[i].low), text(rows[i].open), rows[i].volume);
    return file;
}

const std::string three_lines =
    "Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDate,,,,,\n";
const std::string one_line = "Date,Close,High,Low,Open,Volume\n";

void expect_close_to(const ReadResult& result, const std::vector<Row>& rows) {
    const BarColumns bars = result.bars.columns();
    ASSERT_EQ(bars.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto points = [&](Ticks ticks) { return result.report.tick.to_points(ticks); };
        EXPECT_NEAR(points(bars.open[i]), rows[i].open, 1e-5 * std::abs(rows[i].open) + 1e-6);
        EXPECT_NEAR(points(bars.high[i]), rows[i].high, 1e-5 * std::abs(rows[i].high) + 1e-6);
        EXPECT_NEAR(points(bars.low[i]), rows[i].low, 1e-5 * std::abs(rows[i].low) + 1e-6);
        EXPECT_NEAR(points(bars.close[i]), rows[i].close, 1e-5 * std::abs(rows[i].close) + 1e-6);
        EXPECT_EQ(bars.volume[i], rows[i].volume);
    }
}

TEST(AdjustedPrices, AreReadWithABinInsteadOfATick) {
    const auto rows = walk(400, 150, 0.98765432109);
    for (const auto& [name, text] : {std::pair<std::string, Format>{"doubles", all_digits},
                                     {"floats", float_digits},
                                     {"six decimals", [](double p) { return decimals(6, p); }}})
        for (const std::string& header : {three_lines, one_line}) {
            SCOPED_TRACE(name);
            const ReadResult result = read_text(yahoo(rows, text, header), {}, "AAPL.csv");
            expect_close_to(result, rows);
            EXPECT_EQ(result.report.profile_bin, 0.05);
            EXPECT_EQ(result.bars.metadata().level().points, 0.05);
            EXPECT_FALSE(result.bars.metadata().has_tick());
            EXPECT_EQ(tick_text(result.report), "none; profiles use bins of 0.05 points");
            EXPECT_THAT(result.report.notes, Contains(HasSubstr("No tick fits the prices")));
            EXPECT_EQ(result.bars.metadata().contracts.front(), header == one_line ? "" : "AAPL");
        }
}

TEST(AdjustedPrices, UnadjustedOnesKeepTheirTick) {
    const auto rows = walk(400, 150, 1);
    for (const auto& [name, text] : {std::pair<std::string, Format>{"floats", float_digits},
                                     {"two decimals", [](double p) { return decimals(2, p); }},
                                     {"six decimals of floats", [](double p) {
                                          return decimals(6, static_cast<double>(static_cast<float>(p)));
                                      }}}) {
        SCOPED_TRACE(name);
        const ReadResult result = read_text(yahoo(rows, text, one_line));
        EXPECT_EQ(result.report.tick.points, 0.01);
        EXPECT_TRUE(result.bars.metadata().has_tick());
        EXPECT_EQ(result.report.profile_bin, 0);
    }
}

// From 131,072 on, 32-bit floats are 1/64 apart, so any such price is a multiple of 1/64.
TEST(AdjustedPrices, StepsOfFloatsAreNotATick) {
    for (const double start : {100'000.0, 180'000.0, 400'000.0, 600'000.0, 3'000'000.0}) {
        const auto rows = walk(400, start, 1);
        const ReadResult result = read_text(yahoo(rows, float_digits, one_line));
        EXPECT_EQ(result.bars.metadata().has_tick(), start < 131'072) << start;
        if (start > 131'072) {
            const auto image = static_cast<float>(start);
            EXPECT_EQ(result.report.float_spacing, std::nextafter(image, HUGE_VALF) - image) << start;
            EXPECT_THAT(tick_text(result.report), HasSubstr("none (32-bit floats, "));
            EXPECT_THAT(result.report.notes, Contains(HasSubstr("The prices are 32-bit floats, which are")));
        }
        EXPECT_EQ(read_text(yahoo(
                                rows, [](double p) { return decimals(2, p); }, one_line))
                      .report.tick.points,
                  0.01)
            << start;
    }
}

TEST(AdjustedPrices, BackAdjustedSeriesMayCrossZero) {
    const auto rows = walk(400, 60, 1, -61.37);
    const auto text = [](double p) { return decimals(2, p); };
    const ReadResult result = read_text(yahoo(rows, text, one_line));
    expect_close_to(result, rows);
    EXPECT_EQ(result.report.tick.points, 0.01);
    EXPECT_THAT(result.report.notes, Contains(HasSubstr("a close below zero")));
    // Rows of four equal prices at or below zero have missing prices, so they are still errors.
    for (const char* missing : {"0", "-1", "-99"}) {
        const std::string row = fmt::format("2030-01-01,{0},{0},{0},{0},5\n", missing);
        EXPECT_THAT(error_of(yahoo(rows, text, one_line) + row), HasSubstr("is not positive")) << missing;
    }
    // A low of -99 or 0 in a series above zero is an error, too.
    EXPECT_THAT(error_of(one_line + "2024-01-02,10,11,9,10,5\n2024-01-03,10,11,0,10,5\n"),
                HasSubstr("the low 0 is not positive"));
    EXPECT_THAT(error_of(one_line + "2024-01-02,10,11,9,10,5\n2024-01-03,10,11,-99,10,5\n"),
                HasSubstr("the low -99 is not positive"));
}

TEST(AdjustedPrices, ProfilesUseTheBin) {
    const auto rows = walk(50, 150, 0.98765432109);
    const ReadResult result = read_text(yahoo(rows, all_digits, one_line));
    const BarMetadata& metadata = result.bars.metadata();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Session session{.first = i, .count = 1};
        const VolumeProfile profile = session_profile(result.bars, session, {});
        EXPECT_EQ(profile.tick().points, 0.05);
        EXPECT_EQ(profile.lowest(), std::lround(rows[i].low / 0.05));
        EXPECT_EQ(profile.highest(), std::lround(rows[i].high / 0.05));
        const ProfileFigures figures = session_figures(result.bars, session, {});
        EXPECT_NEAR(figures.point_of_control * metadata.tick.points, profile.point_of_control() * 0.05, 1e-9);
        EXPECT_NEAR(figures.value_area_high * metadata.tick.points, profile.value_area().high * 0.05, 1e-9);
    }
}

TEST(AdjustedPrices, OneWrongPriceDoesNotMakeTheStepCoarse) {
    const auto rows = walk(400, 150, 0.98765432109);
    const std::string file = yahoo(rows, all_digits, one_line) + "2025-06-01,1e16,1e16,1e16,1e16,5\n";
    EXPECT_THAT(error_of(file),
                HasSubstr("too large compared with the other prices, expected less than 2147.48"));
    ReadOptions skip;
    skip.skip_bad_rows = true;
    expect_close_to(read_text(file, skip), rows);
}

TEST(AdjustedPrices, AGivenBinIsUsed) {
    ReadOptions options;
    options.profile_bin = 0.25;
    const ReadResult result =
        read_text(yahoo(
                      walk(50, 150, 1), [](double p) { return decimals(2, p); }, one_line),
                  options);
    EXPECT_EQ(result.report.profile_bin, 0.25);
    EXPECT_EQ(result.bars.metadata().level().points, 0.25);
}

TEST(AdjustedPrices, BinFollowsThePrice) {
    using reading::profile_bin;
    EXPECT_EQ(profile_bin({150'000'000, 150'000'000, 90'000'000}), 50'000);
    EXPECT_EQ(profile_bin({-4000, -4000}), 2);
    EXPECT_EQ(profile_bin({1}), 1);
    EXPECT_EQ(profile_bin({}), 1);
    EXPECT_EQ(profile_bin({2'000'000'000}), 1'000'000);
}

TEST(WideHeaders, OfSeveralTickersNeedAChoice) {
    const std::string file =
        "Price,Close,Close,High,High,Low,Low,Open,Open,Volume,Volume\n"
        "Ticker,AAPL,MSFT,AAPL,MSFT,AAPL,MSFT,AAPL,MSFT,AAPL,MSFT\n"
        "Date,,,,,,,,,,\n"
        "2024-01-02,185.64,370.87,188.44,375.9,183.89,366.77,187.15,373.86,82488700,25258600\n"
        "2024-01-03,184.25,370.6,185.88,373.26,183.43,368.51,184.22,369.01,58414500,23083500\n";
    EXPECT_THAT(error_of(file),
                testing::AllOf(HasSubstr("2 tickers: AAPL, MSFT"), HasSubstr("--contract AAPL")));
    ReadOptions options;
    options.contract = "msft";
    options.contract = "MSFT";
    const ReadResult result = read_text(file, options);
    EXPECT_THAT(result.bars.columns().close, testing::ElementsAre(37087, 37060));
    EXPECT_THAT(result.bars.columns().volume, testing::ElementsAre(25258600, 23083500));
    EXPECT_EQ(result.bars.metadata().contracts, std::vector<std::string>{"MSFT"});
    options.contract = "AAPL";
    EXPECT_THAT(read_text(file, options).bars.columns().open, testing::ElementsAre(18715, 18422));
    // Ticker above the names, as group_by="ticker" writes it.
    const ReadResult other = read_text("Ticker,KO,KO,KO,KO,KO\nPrice,Open,High,Low,Close,Volume\nDate,,,,,\n"
                                       "2024-01-02,59.02,59.9,58.9,59.82,15000000\n");
    EXPECT_THAT(other.bars.columns().close, testing::ElementsAre(2991));
    EXPECT_THAT(other.report.notes, testing::Each(testing::Not(HasSubstr("Unused"))));
}

TEST(WideHeaders, IntradayOfYfinance) {
    const ReadResult result = read_text("Price,Close,High,Low,Open,Volume\nTicker,SPY,SPY,SPY,SPY,SPY\n"
                                        "Datetime,,,,,\n"
                                        "2024-07-01 13:30:00+00:00,545.34,545.88,545.12,545.63,1200\n"
                                        "2024-07-01 13:31:00+00:00,545.20,545.39,545.01,545.34,900\n");
    EXPECT_EQ(result.bars.columns().time[0], 1'719'840'600);
    EXPECT_EQ(result.bars.metadata().bar_seconds, 60);
    EXPECT_THAT(result.bars.columns().close, testing::ElementsAre(54534, 54520));
}

TEST(WrittenNumbers, CurrenciesThousandsAndSuffixes) {
    const ReadResult nasdaq = read_text("Date,Close/Last,Volume,Open,High,Low\n"
                                        "01/03/2024,$184.25,58414460,$184.22,$185.88,$183.43\n"
                                        "01/02/2024,$185.64,82488670,$187.15,$188.44,$183.885\n");
    EXPECT_EQ(nasdaq.bars.columns().close[0], std::lround(185.64 / nasdaq.report.tick.points));
    const ReadResult index = read_text("Date,Close/Last,Volume,Open,High,Low\n"
                                       "01/02/2024,\"4,742.83\",--,\"4,745.20\",\"4,754.33\",\"4,722.67\"\n");
    EXPECT_EQ(index.bars.columns().close[0], 474283);
    EXPECT_EQ(index.bars.columns().volume[0], 0);
    const ReadResult investing = read_text(
        "\xEF\xBB\xBF\"Date\",\"Price\",\"Open\",\"High\",\"Low\",\"Vol.\",\"Change %\"\n"
        "\"Jan 03, 2024\",\"4,704.81\",\"4,725.07\",\"4,729.29\",\"4,699.71\",\"1.23M\",\"-0.80%\"\n"
        "\"Jan 02, 2024\",\"4,742.83\",\"4,745.20\",\"4,754.33\",\"4,722.67\",\"950.5K\",\"-0.57%\"\n");
    EXPECT_THAT(investing.bars.columns().close, testing::ElementsAre(474283, 470481));
    EXPECT_THAT(investing.bars.columns().volume, testing::ElementsAre(950'500, 1'230'000));
    EXPECT_TRUE(investing.bars.metadata().dates_only);
    const ReadResult empty = read_text("Date,Price,Open,High,Low,Vol.,Change %\n"
                                       "\"Jan 02, 2024\",1.1041,1.1038,1.1046,1.0938,,-0.1%\n");
    EXPECT_EQ(empty.bars.columns().volume[0], 0);
    EXPECT_THAT(empty.report.notes, Contains(HasSubstr("Vol. is empty")));
    const ReadResult unknown = read_text(bars_header + "2024-01-02 09:31:00,1.5,1.5,1.5,1.5,-1\n");
    EXPECT_EQ(unknown.bars.columns().volume[0], 0);
    EXPECT_THAT(unknown.report.notes, Contains(HasSubstr("1 volume of -1 (not available) is read as 0")));
    const ReadResult fractions = read_text("Date,Open,High,Low,Close,Volume\n"
                                           "1984-09-07,0.1,0.2,0.1,0.1,99392300.2123\n");
    EXPECT_EQ(fractions.bars.columns().volume[0], 99'392'300);
    EXPECT_THAT(fractions.report.notes, Contains(HasSubstr("rounded to whole units")));
    const ReadResult nse =
        read_text("Date,Open,High,Low,Close,Volume\n02-Jan-2024,\"21,751.35\",\"21,755.60\","
                  "\"21,555.65\",\"21,665.80\",\"263,700,000\"\n");
    EXPECT_EQ(nse.bars.columns().time[0], 1'704'153'600);
    EXPECT_EQ(nse.bars.columns().volume[0], 263'700'000);
}

// A comma that may be a decimal comma is not guessed.
TEST(WrittenNumbers, AmbiguousCommasAreRefused) {
    for (const char* price : {"4,800", "1,1041", "1.104,5", "12,34.5", ",123.4", "$-5", "1,,000.5"})
        EXPECT_FALSE(reading::parse_price(price)) << price;
    for (const auto& [text, value] : {std::pair{"$4,800", 4800.0},
                                      {"4,800.00", 4800.0},
                                      {"1,234,567", 1234567.0},
                                      {"-$5.25", -5.25},
                                      {"\u20AC1.5", 1.5}}) {
        const auto price = reading::parse_price(text);
        ASSERT_TRUE(price) << text;
        EXPECT_EQ(price->value(), value) << text;
    }
    for (const char* volume : {"M", "1.2X", "1,2", "1.2 millions"})
        EXPECT_FALSE(reading::parse_volume(volume)) << volume;
    for (const auto& [text, value] : {std::pair{"1.2M", 1.2e6},
                                      {"3b", 3e9},
                                      {"2.5T", 2.5e12},
                                      {"7K", 7000.0},
                                      {"1,234", 1234.0},
                                      {"-", 0.0}}) {
        const auto volume = reading::parse_volume(text);
        ASSERT_TRUE(volume) << text;
        EXPECT_EQ(volume->value(), value) << text;
    }
}

TEST(Hints, NameTheColumnsOfFilesWithoutAHeader) {
    EXPECT_THAT(error_of("AAPL,20240102,187.15,188.44,183.89,185.64,82488700\n"),
                HasSubstr("--columns time=2,open=3,high=4,low=5,close=6,volume=7"));
    EXPECT_THAT(error_of("2024-01-02,1.1,1.3,1.0,1.2\n"),
                HasSubstr("--columns time=1,open=2,high=3,low=4,close=5,volume=none"));
    EXPECT_THAT(error_of("Date,Open,High,Low,Close\n2024-01-02,1.1,1.3,1.0,1.2\n"),
                HasSubstr("--columns time=1,open=2,high=3,low=4,close=5,volume=none"));
    EXPECT_THAT(error_of("Day,First,Top,Bottom,Final,Traded\n2024-01-02,1.1,1.3,1.0,1.2,5\n"),
                HasSubstr("--columns time=1,open=2,high=3,low=4,close=5,volume=6"));
    EXPECT_THAT(error_of("2024-01-02 1.1 1.3 1.0 1.2 5\n"), HasSubstr("Separate the fields with commas"));
}

TEST(Hints, FitFilesInWhichEveryRowIsBad) {
    std::string rows = bars_header;
    for (int i = 10; i < 30; ++i)
        rows += fmt::format("2024-01-02 09:{}:00,1;1,2,1,1,x\n", i);
    const std::string all = error_of(rows);
    EXPECT_THAT(all, testing::AllOf(HasSubstr("No row can be used"), HasSubstr("--columns"),
                                    testing::Not(HasSubstr("--bad-rows skip"))));
    const std::string most = error_of(rows + "2024-01-02 09:50:00,1,2,1,1,5\n");
    EXPECT_THAT(most, HasSubstr("Most rows cannot be used"));
    ReadOptions skip;
    skip.skip_bad_rows = true;
    EXPECT_THAT(error_of(rows, skip), HasSubstr("No row can be used"));
}

// A trade between two ticks in a file of ticks, as in consolidated stock data.
TEST(Hints, OfferToReadPricesBetweenTicks) {
    std::string file = bars_header;
    for (int i = 0; i < 500; ++i)
        file += fmt::format("2024-01-02 {:02}:{:02}:00,1{:02}.25,1{:02}.5,1{:02}.01,1{:02}.02,5\n",
                            9 + i / 60, i % 60, i % 90, i % 90, i % 90, i % 90);
    file += "2024-01-02 23:00:00,104.5,104.650946,104.25,104.5,7\n";
    EXPECT_THAT(error_of(file), HasSubstr("--tick none reads them as they are"));
    ReadOptions options;
    options.profile_bin = 0;
    EXPECT_EQ(read_text(file, options).bars.size(), 501u);
    options = {};
    options.tick = 0.01;
    EXPECT_THAT(error_of(file, options), testing::Not(HasSubstr("--tick none")));
}

TEST(Hints, ContractOfAFileWithoutContracts) {
    ReadOptions options;
    options.contract = "ES";
    const std::string message = error_of(bars_header + "2024-01-02 09:31:00,1,1,1,1,5\n", options);
    EXPECT_THAT(message, testing::AllOf(HasSubstr("bars.csv names no contracts"),
                                        HasSubstr("Omit --contract"), testing::Not(HasSubstr("one of:"))));
}

TEST(Notes, TellHowFarPricesWereRounded) {
    const ReadResult result = read_text("Date,Open,High,Low,Close,Volume\n"
                                        "2021-05-24,4170.160156,4209.520020,4170.160156,4197.049805,5\n");
    EXPECT_THAT(
        result.report.notes,
        Contains("4 prices were rounded to the tick of 0.01, by at most 1.95 % of it (float noise)."));
}

} // namespace
} // namespace rekindle::market
