/// Which instrument a file is inferred to be, and what that changes: from files to sessions.

#include "run_fixture.h"

#include <rekindle/market/clock.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/predict.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

namespace rekindle::trainer {
namespace {

using fixtures::Json;
using fixtures::Messages;
using test::TemporaryFolder;
using testing::HasSubstr;

constexpr int at(int hour, int minute = 0) {
    return hour * 60 + minute;
}

/// Prices in points of the minute that ends at `minute` on `date`: one number for all four.
using Price = std::function<double(std::int32_t date, int minute)>;

/// Rows of minutes from `open` to `close` (on the evening before, if open > close), with timestamps in local
/// time of the zone, or in UTC.
class MinuteFile {
  public:
    MinuteFile(std::string zone, std::string contract, bool local = false)
        : zone_(market::ZoneClock::load(zone)), contract_(std::move(contract)), local_(local) {}

    void add(std::int32_t date, int open, int close, const Price& price) {
        for (int minute = open < close ? open : open - at(24); minute < close; ++minute) {
            const std::int64_t civil =
                std::int64_t{date} * market::day_seconds + std::int64_t{minute + 1} * 60;
            const std::int64_t stamp = local_ ? civil : zone_.to_utc(civil);
            const double points = price(date, minute + 1);
            text_ += fmt::format("{},{},{},{},{},{}{}\n", market::format_civil(stamp), points, points + range,
                                 points, points, volume, contract_.empty() ? "" : "," + contract_);
        }
    }
    std::string text() const {
        return std::string("timestamp,open,high,low,close,volume") + (contract_.empty() ? "" : ",contract") +
               "\n" + text_;
    }
    double volume = 10;
    double range = 0; ///< from the low to the high

  private:
    market::ZoneClock zone_;
    std::string contract_;
    bool local_;
    std::string text_;
};

/// A few prices around `middle`, in steps of `tick`.
Price around(double middle, double tick) {
    return [=](std::int32_t date, int minute) { return middle + tick * ((date * 7 + minute * 13) % 29); };
}

struct Loaded {
    TrainConfig config;
    std::string sentence;
    std::string messages;
    MarketData data;
    std::vector<std::size_t> counts; ///< of bars in each complete session
};

/// Infers the instrument of a file and reads it.
Loaded load(const std::string& name, const std::string& text, TrainConfig config = {},
            const std::set<std::string>& given = {}) {
    const TemporaryFolder folder;
    write_file_atomically(folder / name, text);
    config.data = {(folder / name).string()};
    config.threads = 1;
    std::string sentence = infer_instrument(config, given);
    Messages messages;
    ThreadPool pool(1);
    MarketData data = load_market_data(config, {}, pool, messages, CancellationToken());
    std::vector<std::size_t> counts;
    for (const market::Session& session : data.plan.sessions)
        counts.push_back(session.count);
    return {std::move(config), std::move(sentence), std::move(messages.text), std::move(data),
            std::move(counts)};
}

std::string first_date(const Loaded& loaded) {
    return market::format_date(loaded.data.plan.sessions.front().date);
}

/// Crude oil, May 2020 contract, 16 to 22 April: on the 20th it fell to -37.63 at 14:30.
std::string crude_oil() {
    MinuteFile file("America/New_York", "CLK20");
    const auto price = [](std::int32_t date, int minute) {
        if (date != market::make_date(2020, 4, 20) || minute < at(13))
            return 12.5 + 0.01 * (minute % 200);
        return minute < at(14, 8) ? 5.01 - 0.01 * (minute / 8) : minute < at(14, 25) ? -20.37 : -37.63;
    };
    for (const int day : {16, 17, 20, 21, 22})
        file.add(market::make_date(2020, 4, day), at(18), at(17), price);
    return file.text();
}

TEST(InferredInstrument, CrudeOilThroughApril2020) {
    TrainConfig config;
    config.session = market::SessionHours::rth;
    const Loaded oil = load("cl.csv", crude_oil(), config);
    EXPECT_EQ(oil.config.instrument, "CL");
    EXPECT_EQ(oil.config.regular_hours, "09:00-14:30");
    EXPECT_EQ(oil.counts, std::vector<std::size_t>(5, 330)) << oil.messages;
    EXPECT_EQ(oil.data.read.report.tick.points, 0.01);
    EXPECT_EQ(oil.data.summaries[2].close, -3763);
    EXPECT_EQ(oil.data.summaries[2].low, -3763);
    EXPECT_THAT(oil.messages, HasSubstr("this market has traded there"));
    EXPECT_THAT(oil.messages, testing::Not(HasSubstr("back-adjusted")));
    // Without the instrument, four equal prices below zero are missing prices.
    config.instrument = "none";
    EXPECT_THROW(load("cl.csv", crude_oil(), config), Error);
}

TEST(InferredInstrument, BelowZeroWhereTheInstrumentNeverTraded) {
    MinuteFile file("America/Chicago", "ESM24");
    file.range = 0.25; // four equal prices at or below 0 would be missing prices
    for (const int day : {4, 5, 6, 7, 8})
        file.add(market::make_date(2024, 3, day), at(17), at(16), around(-2, 0.25));
    const Loaded es = load("es.csv", file.text());
    EXPECT_EQ(es.config.instrument, "ES");
    EXPECT_THAT(es.messages, HasSubstr("below zero, where ES never traded"));
}

TEST(InferredInstrument, ESInChicagoTime) {
    MinuteFile file("America/Chicago", "ES 06-24", true);
    for (const int day : {7, 8, 11, 12, 13}) // clocks change on Sunday, 2024-03-10
        file.add(market::make_date(2024, 3, day), at(17), at(16), around(5100, 0.25));
    TrainConfig config;
    config.clock = market::Clock::exchange;
    config.stamp_zone = "America/Chicago";
    config.session = market::SessionHours::rth;
    const Loaded es = load("es.csv", file.text(), config);
    EXPECT_EQ(es.config.instrument, "ES");
    EXPECT_EQ(es.config.zone, "America/New_York"); // the usual hours are the instrument's
    EXPECT_EQ(es.config.regular_hours, "auto");
    EXPECT_EQ(es.config.days, market::TradingDays::automatic);
    EXPECT_EQ(es.counts, std::vector<std::size_t>(5, 390)) << es.messages;
    // The same with the zone of the exchange for both.
    config.stamp_zone.clear();
    config.zone = "America/Chicago";
    const Loaded chicago = load("es.csv", file.text(), config, {"zone"});
    EXPECT_EQ(chicago.config.instrument, "ES");
    EXPECT_EQ(chicago.config.zone, "America/Chicago");
    EXPECT_EQ(chicago.counts, es.counts);
    // Read in the wrong zone, bars lie within the halt.
    config.zone = "America/New_York";
    EXPECT_THAT(load("es.csv", file.text(), config).messages, HasSubstr("within the daily halt"));
}

TEST(InferredInstrument, NotesInNewYorkTime) {
    MinuteFile file("America/Chicago", "ZNM24");
    for (const int day : {4, 5, 6, 7, 8})
        file.add(market::make_date(2024, 3, day), at(17), at(16), around(110, 1.0 / 64));
    TrainConfig config;
    config.session = market::SessionHours::rth;
    const Loaded zn = load("zn.csv", file.text(), config);
    EXPECT_EQ(zn.config.instrument, "ZN");
    EXPECT_EQ(zn.config.zone, "America/New_York");
    EXPECT_EQ(zn.config.regular_hours, "08:20-15:00"); // 07:20 to 14:00 in Chicago
    EXPECT_EQ(zn.counts, std::vector<std::size_t>(5, 400));
}

std::string bund() {
    MinuteFile file("Europe/Berlin", "FGBLM24", true);
    for (int day = 25; day <= 37; ++day) { // over Easter: no trading on March 29 and April 1
        const std::int32_t date = market::make_date(2024, 3, 1) + day - 1;
        if (!market::is_weekend(date) && day != 29 && day != 32)
            file.add(date, day < 31 ? at(1, 10) : at(2, 10), at(22), around(132, 0.01));
    }
    return file.text();
}

TEST(InferredInstrument, BundHours) {
    TrainConfig config;
    config.clock = market::Clock::exchange;
    config.session = market::SessionHours::rth;
    const Loaded data = load("bund.csv", bund(), config);
    EXPECT_EQ(data.config.instrument, "FGBL");
    EXPECT_EQ(data.config.zone, "Europe/Berlin");
    EXPECT_EQ(data.config.day_start, "01:00");
    EXPECT_EQ(data.counts, std::vector<std::size_t>(8, 840)) << data.messages;
    EXPECT_EQ(first_date(data), "2024-03-25");
    EXPECT_THAT(data.sentence, HasSubstr("FGBL (Euro-Bund futures)"));
    EXPECT_THAT(data.sentence, HasSubstr("regular hours 08:00-22:00 (Europe/Berlin)"));
    EXPECT_THAT(data.messages, testing::Not(HasSubstr("Holidays and half days are those of")));
}

TEST(InferredInstrument, AChristmasWeekOfCoinsWithFractionalVolumes) {
    MinuteFile file("UTC", "");
    file.volume = 0.00012345;
    for (int day = 23; day <= 30; ++day)
        file.add(market::make_date(2024, 12, day), 0, at(24), around(97'000, 0.1));
    const Loaded coins = load("BTCUSDT-1m.csv", file.text());
    EXPECT_EQ(coins.config.instrument, "CRYPTO");
    EXPECT_EQ(coins.config.zone, "UTC");
    EXPECT_EQ(coins.config.days, market::TradingDays::all);
    ASSERT_GE(coins.counts.size(), 7U);
    EXPECT_EQ(std::vector<std::size_t>(coins.counts.begin(), coins.counts.begin() + 7),
              std::vector<std::size_t>(7, 1440));
    EXPECT_EQ(coins.data.read.bars.metadata().volume_decimals, 8);
    EXPECT_EQ(coins.data.read.bars.columns().volume[0], 12'345);
    // Regular hours do not exist there; with --session rth, the usual ones are kept.
    TrainConfig config;
    config.session = market::SessionHours::rth;
    const Loaded regular = load("BTCUSDT-1m.csv", file.text(), config);
    EXPECT_EQ(regular.config.instrument, "none");
    EXPECT_THAT(regular.sentence, HasSubstr("not used because it has no regular hours"));
    EXPECT_EQ(regular.config.zone, "America/New_York");
}

TEST(InferredInstrument, CurrenciesChangeDaysAt17InNewYork) {
    MinuteFile file("America/New_York", "EUR/USD");
    for (const int day : {4, 5, 6, 7, 8})
        file.add(market::make_date(2024, 3, day), at(17), at(17), around(1.09, 0.00001));
    const Loaded fx = load("quotes.csv", file.text());
    EXPECT_EQ(fx.config.instrument, "FX");
    EXPECT_EQ(fx.config.day_start, "17:00");
    EXPECT_EQ(fx.counts, std::vector<std::size_t>(5, 1440)) << fx.messages;
    EXPECT_EQ(first_date(fx), "2024-03-04");
}

TEST(InferredInstrument, CanBeRefused) {
    TrainConfig config;
    config.instrument = "none";
    config.clock = market::Clock::exchange;
    config.stamp_zone = "Europe/Berlin";
    const Loaded none = load("bund.csv", bund(), config);
    EXPECT_EQ(none.sentence, "");
    EXPECT_EQ(none.config.zone, "America/New_York");
    config.instrument = "auto";
    config.zone = "Asia/Tokyo";
    const Loaded tokyo = load("bund.csv", bund(), config, {"zone"});
    EXPECT_EQ(tokyo.config.instrument, "none");
    EXPECT_EQ(tokyo.config.zone, "Asia/Tokyo");
    EXPECT_THAT(tokyo.sentence, HasSubstr("not used because --zone is given"));
}

TEST(InferredInstrument, RawLabelsHaveNone) {
    TrainConfig config;
    config.clock = market::Clock::raw;
    const Loaded raw = load("bund.csv", bund(), config);
    EXPECT_FALSE(has_instrument(raw.config));
    EXPECT_EQ(raw.sentence, "");
}

TEST(InferredInstrument, TheTickWhereNotEveryPriceOccurs) {
    MinuteFile file("America/Chicago", "ESM24");
    for (const int day : {4, 5})
        file.add(market::make_date(2024, 3, day), at(17), at(16), around(5100, 1));
    EXPECT_EQ(load("es.csv", file.text()).data.read.report.tick.points, 0.25);
    TrainConfig config;
    config.instrument = "none";
    EXPECT_EQ(load("es.csv", file.text(), config).data.read.report.tick.points, 1);
    config.instrument = "auto";
    config.tick = "0.5";
    EXPECT_EQ(load("es.csv", file.text(), config).data.read.report.tick.points, 0.5);
}

TEST(InferredInstrument, ContractsOfAnotherInstrumentAreWarnedAbout) {
    TrainConfig config;
    config.instrument = "FDAX";
    config.zone = "Europe/Berlin";
    config.clock = market::Clock::exchange;
    const Loaded wrong = load("bund.csv", bund(), config);
    EXPECT_THAT(wrong.messages,
                HasSubstr("The contracts are those of FGBL (Euro-Bund futures), not of FDAX"));
    EXPECT_THAT(wrong.messages, HasSubstr("tick of 0.01, but FDAX has a tick of 1"));
}

TEST(InferredInstrument, IsKeptWithTheModelAndUsedByPredict) {
    const TemporaryFolder folder;
    MinuteFile file("Europe/Berlin", "FGBLM24"), unnamed("Europe/Berlin", "");
    Price walk = [](std::int32_t date, int minute) {
        return 132 + 0.01 * ((date * 37 + minute / 60 * 13) % 101);
    };
    // Hourly bars: the minute of each hour that ends it.
    std::string text = file.text(), later = unnamed.text();
    const market::ZoneClock berlin = market::ZoneClock::load("Europe/Berlin");
    for (std::int32_t date = market::make_date(2023, 9, 4); date < market::make_date(2024, 5, 31); ++date)
        for (int hour = 3; !market::is_weekend(date) && hour <= 22; ++hour) {
            const std::int64_t time = berlin.to_utc(std::int64_t{date} * market::day_seconds + hour * 3600);
            const double open = walk(date, hour * 60 - 60), close = walk(date, hour * 60);
            const std::string row =
                fmt::format("{},{:.2f},{:.2f},{:.2f},{:.2f},{}", market::format_civil(time), open,
                            std::max(open, close) + 0.03, std::min(open, close) - 0.02, close, 100 + hour);
            text += row + ",FGBLM24\n";
            later += row + "\n";
        }
    write_file_atomically(folder / "FGBL.csv", text);
    write_file_atomically(folder / "new.csv", later);
    TrainConfig config;
    config.data = {(folder / "FGBL.csv").string()};
    config.output = (folder / "runs").string();
    config.session = market::SessionHours::rth;
    config.epochs = 1;
    config.hidden_layers = {4};
    config.threads = 1;
    NullProgressSink progress;
    const TrainOutcome outcome = train(config, {}, progress, CancellationToken());
    const auto stored = nlohmann::json::parse(read_file(outcome.run_folder / "config.json"));
    EXPECT_EQ(stored["instrument"], "FGBL");
    EXPECT_EQ(stored["zone"], "Europe/Berlin");
    EXPECT_EQ(stored["regular_hours"], "08:00-22:00");
    EXPECT_EQ(stored["days"], "auto");
    const auto metadata =
        nlohmann::json::parse(read_file(outcome.run_folder / "best_model_metadata.json"))["rekindle"];
    EXPECT_EQ(metadata["rules"]["zone"], "Europe/Berlin");
    EXPECT_EQ(metadata["config"]["instrument"], "FGBL");
    PredictOptions options{
        .model = outcome.run_folder, .input = {}, .given = {"data"}, .scaler = {}, .other_instrument = true};
    options.input.data = {(folder / "new.csv").string()};
    const Prediction prediction = predict(options, progress, CancellationToken());
    Json json;
    to_json(json, prediction);
    EXPECT_THAT(json.dump(), HasSubstr("Europe/Berlin"));
    // The same bars with and without the contract's name give the same number.
    options.input.data = {(folder / "FGBL.csv").string()};
    EXPECT_EQ(predict(options, progress, CancellationToken()).value, prediction.value);
    // The instrument's hours written in its own zone are the model's; others are not.
    options.given.insert({"instrument", "zone", "day_start", "regular_hours"});
    options.input.instrument = "FGBL";
    options.input.zone = "Europe/Paris";
    options.input.day_start = "01:00";
    options.input.regular_hours = "08:00-22:00";
    EXPECT_EQ(predict(options, progress, CancellationToken()).value, prediction.value);
    options.input.regular_hours = "09:00-17:30";
    EXPECT_THROW(predict(options, progress, CancellationToken()), Error);
}

} // namespace
} // namespace rekindle::trainer
