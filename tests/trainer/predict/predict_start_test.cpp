/// Where a prediction starts, and for which instrument.

#include "../run_fixture.h"

#include <rekindle/market/clock.h>
#include <rekindle/trainer/instrument.h>
#include <rekindle/trainer/predict.h>

#include <contract_names.h>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

class PredictStartTest : public RunTest {
  protected:
    TrainConfig minute_config() const {
        TrainConfig settings = config();
        settings.data = {minute_bars().string()};
        settings.clock = market::Clock::utc;
        settings.features = {"minute"};
        settings.target = market::TargetKind::bar_return;
        settings.data_fraction = 0.1;
        settings.epochs = 1;
        settings.batch_size = 256;
        return settings;
    }
    static Prediction predict_with(const fs::path& model, const TrainConfig& input,
                                   const std::set<std::string>& given = {"data"}, bool other = false) {
        NullProgressSink progress;
        return predict({model, input, given, {}, other}, progress, CancellationToken());
    }
    /// The first lines of a file, like a download in the middle of a session.
    fs::path first_lines(const fs::path& file, std::size_t count, const std::string& name) const {
        const std::string text = read_file(file);
        std::size_t end = 0;
        for (std::size_t i = 0; i < count; ++i)
            end = text.find('\n', end) + 1;
        write_file_atomically(folder_ / name, text.substr(0, end));
        return folder_ / name;
    }
    static std::string said(const Prediction& prediction) {
        std::string text;
        for (const std::string& line : describe(prediction))
            text += line + "\n";
        return text;
    }
};

TEST_F(PredictStartTest, BarModelStartsAtTheLastBarOfTheData) {
    const fs::path model = run(minute_config()).run_folder;
    const auto zone = market::ZoneClock::load("America/New_York");
    std::set<std::string> timestamps;
    for (const std::size_t lines : {60'000u, 60'001u, 60'500u, 61'000u, 61'700u}) {
        TrainConfig input;
        input.data = {first_lines(minute_bars(), lines, "part.csv").string()};
        const Prediction prediction = predict_with(model, input);
        // The fields of the last line: a timestamp in UTC, the close in the fifth column.
        const std::string text = read_file(input.data.front());
        const std::string line = text.substr(text.rfind('\n', text.size() - 2) + 1);
        std::vector<std::string> fields;
        for (std::size_t at = 0; at < line.size(); at = line.find(',', at) + 1) {
            fields.push_back(line.substr(at, line.find(',', at) - at));
            if (line.find(',', at) == std::string::npos)
                break;
        }
        std::int32_t date = 0;
        ASSERT_TRUE(market::parse_date(fields[0].substr(0, 10), date));
        const std::int64_t utc = std::int64_t{date} * 86'400 + std::stoi(fields[0].substr(11, 2)) * 3600 +
                                 std::stoi(fields[0].substr(14, 2)) * 60;
        EXPECT_EQ(prediction.from_timestamp, market::format_civil(zone.to_local(utc)) + " America/New_York");
        EXPECT_EQ(prediction.data_end, prediction.from_timestamp);
        EXPECT_EQ(prediction.price, std::stod(fields[4])) << line;
        EXPECT_TRUE(contains(said(prediction), prediction.from_timestamp)) << said(prediction);
        EXPECT_FALSE(contains(said(prediction), "The data continues")) << said(prediction);
        timestamps.insert(prediction.from_timestamp);
    }
    EXPECT_EQ(timestamps.size(), 5u) << "each additional bar moves the start";
}

TEST_F(PredictStartTest, BarsOutsideTheSessionsAreSkippedWithANote) {
    TrainConfig settings = minute_config();
    settings.session = market::SessionHours::rth;
    settings.data_fraction = 1;
    const fs::path model = run(settings).run_folder;
    const std::string whole = read_file(minute_bars());
    // A file that ends at 23:30 UTC, in the evening of New York.
    std::size_t at = whole.find(" 23:30:00", whole.size() / 2);
    ASSERT_NE(at, std::string::npos);
    write_file_atomically(folder_ / "evening.csv", whole.substr(0, whole.find('\n', at) + 1));
    TrainConfig input;
    input.data = {(folder_ / "evening.csv").string()};
    const Prediction prediction = predict_with(model, input);
    EXPECT_TRUE(contains(prediction.from_timestamp, "16:00:00") || contains(prediction.from_timestamp, "13:"))
        << prediction.from_timestamp;
    EXPECT_NE(prediction.data_end, prediction.from_timestamp);
    EXPECT_TRUE(contains(said(prediction), "The data continues to " + prediction.data_end))
        << said(prediction);
    EXPECT_TRUE(contains(said(prediction), "last bar of its session")) << said(prediction);
}

TEST_F(PredictStartTest, SessionModelStartsAtTheLastCompleteSession) {
    TrainConfig settings = config();
    settings.data = {minute_bars().string()};
    settings.clock = market::Clock::utc;
    const fs::path model = run(settings).run_folder;
    TrainConfig input;
    input.data = {first_lines(minute_bars(), 112'000, "part.csv").string()};
    const Prediction prediction = predict_with(model, input);
    EXPECT_NE(prediction.from_timestamp, prediction.data_end);
    EXPECT_TRUE(contains(said(prediction), prediction.from_timestamp)) << said(prediction);
    EXPECT_TRUE(contains(said(prediction), "in a session that is not over")) << said(prediction);
}

/// The features are those of the model, even when longer or richer data would allow others.
TEST_F(PredictStartTest, WorksWithMoreDataThanInTraining) {
    write_lines(bars(), daily_lines(50));
    const fs::path small = run(config()).run_folder;
    for (const int sessions : {50, 51, 60, 61, 90}) {
        write_lines(folder_ / "later.csv", daily_lines(sessions));
        TrainConfig input;
        input.data = {(folder_ / "later.csv").string()};
        const Prediction prediction = predict_with(small, input);
        EXPECT_TRUE(std::isfinite(prediction.value)) << sessions;
        EXPECT_EQ(prediction.from_session, daily_lines(sessions).back().substr(0, 10));
    }
}

TEST_F(PredictStartTest, VixThatEndsBeforeTheBarsIsNoted) {
    const auto model_of = [&](std::vector<std::string> features) {
        TrainConfig settings = config();
        settings.features = std::move(features);
        return run(settings).run_folder;
    };
    const fs::path with = model_of({"session", "vix"}), without = model_of({"session"});
    const std::vector<std::string> lines = daily_lines(120);
    for (const std::size_t missing : {0u, 1u, 4u, 5u, 10u}) {
        std::vector<std::string> values{"Date,vix"};
        for (std::size_t i = 1; i + missing < lines.size(); ++i)
            values.push_back(lines[i].substr(0, 10) + lines[i].substr(lines[i].rfind(',')));
        write_lines(folder_ / "vix.csv", values);
        TrainConfig input;
        input.data = {bars().string()};
        input.vix = (folder_ / "vix.csv").string();
        const auto noted = [&](const fs::path& model) {
            return contains(said(predict_with(model, input, {"data", "vix"})),
                            "does its source end before the bars?");
        };
        EXPECT_EQ(noted(with), missing >= 5) << missing;
        EXPECT_FALSE(noted(without)) << "no feature uses the VIX";
    }
}

// ---------------------------------------------------------------------------------------- instruments

/// Data of one contract, without closes to compare.
Instrument named_only(const char* contract, const char* file) {
    Instrument instrument{{}, {file}, 100, 200, {}};
    if (*contract != '\0')
        instrument.names = {contract};
    return instrument;
}

TEST(InstrumentNames, ContractsOfOneInstrumentMatch) {
    std::vector<std::pair<const char*, const char*>> names = test::names_of_es; // with the number at the end
    for (const char* name : test::contracts_of_es)
        names.emplace_back(name, "");
    for (const auto& [one, one_number] : names)
        for (const auto& [other, other_number] : names) {
            const InstrumentMatch match =
                compare_instruments(named_only(one, "bars.csv"), named_only(other, "live.csv"));
            EXPECT_EQ(match.contradiction, "") << one << " " << other;
            if (std::string(one_number) == other_number) {
                EXPECT_EQ(match.doubt, "") << one << " " << other;
            } else {
                EXPECT_NE(match.doubt.find("the names differ in a number"), std::string::npos)
                    << one << " " << other << ": " << match.doubt;
            }
        }
}

TEST(InstrumentNames, DifferentInstrumentsDoNotMatch) {
    const auto& names = test::different_instruments;
    for (std::size_t i = 0; i < names.size(); ++i)
        for (std::size_t k = 0; k < names.size(); ++k) {
            const InstrumentMatch match =
                compare_instruments(named_only(names[i], "bars.csv"), named_only(names[k], "live.csv"));
            const bool named = *names[i] != '\0' && *names[k] != '\0';
            EXPECT_EQ(match.contradiction.empty(), i == k || !named) << names[i] << " " << names[k];
            EXPECT_EQ(match.doubt.empty(), named) << names[i] << " " << names[k] << ": " << match.doubt;
        }
    const auto sp = named_only("US500H25", "a.csv"), dow = named_only("US30H25", "b.csv");
    EXPECT_NE(compare_instruments(sp, dow).contradiction, "");
    EXPECT_EQ(compare_instruments(sp, named_only("US500", "b.csv")).doubt, "");
}

/// Bars without contracts: only the names of their files tell, as long as no sessions are in common.
TEST(InstrumentNames, FilesOfOtherInstrumentsDoNotMatch) {
    const auto compared = [](const char* model, const char* data) {
        return compare_instruments(named_only("", model), named_only("", data));
    };
    for (const auto& [model, data] : {std::pair{"MSFT.csv", "AAPL.csv"},
                                      {"MSFT_2023.csv", "AAPL_2024.csv"},
                                      {"binance_BTCUSDT-1m.csv", "binance_ETHUSDT-1m.csv"},
                                      {"US500_d.csv", "US30_d.csv"},
                                      {"7203.T.csv", "6758.T.csv"}}) {
        const std::string why = compared(model, data).contradiction;
        EXPECT_NE(why.find(model), std::string::npos) << why;
        EXPECT_NE(why.find(data), std::string::npos) << why;
    }
    for (const auto& [model, data] : {std::pair{"SPY_2023.csv", "spy_2024.csv"},
                                      {"merged_es_vix_test.csv", "es.csv"},
                                      {"es_train.csv", "ES_live.csv"},
                                      {"spy.csv", "SPY_arca.csv"}}) {
        EXPECT_EQ(compared(model, data).contradiction, "") << model;
        EXPECT_EQ(compared(model, data).doubt, "") << model;
    }
    for (const auto& [model, data] : {std::pair{"bars.csv", "AAPL.csv"}, {"train.csv", "live.csv"}}) {
        EXPECT_EQ(compared(model, data).contradiction, "") << model;
        EXPECT_NE(compared(model, data).doubt, "") << model;
    }
}

class InstrumentTest : public PredictStartTest {
  protected:
    /// Daily bars with a column of contracts.
    fs::path named(const std::string& contract, int sessions, std::uint64_t seed,
                   const std::string& name) const {
        auto lines = daily_lines(sessions, seed);
        lines[0] += ",Contract";
        for (std::size_t i = 1; i < lines.size(); ++i)
            lines[i] += "," + contract;
        write_lines(folder_ / name, lines);
        return folder_ / name;
    }
    static TrainConfig of(const fs::path& data) {
        TrainConfig input;
        input.data = {data.string()};
        return input;
    }
};

TEST_F(InstrumentTest, DifferentNameIsRefused) {
    TrainConfig settings = config();
    settings.data = {named("ES 03-25", 120, 1, "es.csv").string()};
    const fs::path model = run(settings).run_folder;
    EXPECT_NO_THROW(predict_with(model, of(named("ES 06-25", 130, 1, "es_next.csv"))));
    const TrainConfig nasdaq = of(named("NQ 03-25", 120, 1, "nq.csv"));
    const std::string error = error_of([&] { predict_with(model, nasdaq); });
    for (const char* text : {"ES", "es.csv", "NQ", "nq.csv", "--other-instrument"})
        EXPECT_TRUE(contains(error, text)) << text << ": " << error;
    const Prediction all_the_same = predict_with(model, nasdaq, {"data"}, true);
    EXPECT_TRUE(contains(said(all_the_same), "Another instrument?")) << said(all_the_same);
}

TEST_F(InstrumentTest, NextContractIsTheSameInstrument) {
    for (const auto& [first, next] : {std::pair{"ESH25.CME", "ESM25.CME"},
                                      {"ES MAR25", "ES JUN25"},
                                      {"BTC-28JUN24", "BTC-27SEP24"},
                                      {"ESH5 Index", "ESM5 Index"},
                                      {"ES1!", "ES2!"},
                                      {"es 03-25", "ES 06-25"},
                                      {"ES_20250321", "ES_20250620"},
                                      {"ESH5", "ESM5"},
                                      {"CME_MINI:ESH2025", "/ESM25"},
                                      {"NQ 03-25", "UNKNOWN"}}) { // which names none
        TrainConfig settings = config();
        settings.data = {named(first, 120, 1, "first.csv").string()};
        const fs::path model = run(settings).run_folder;
        const std::string text = said(predict_with(model, of(named(next, 130, 1, "next.csv"))));
        EXPECT_FALSE(contains(text, "Another instrument?")) << first << " " << next << ": " << text;
    }
}

TEST_F(InstrumentTest, DifferentClosesOnTheSameDatesAreRefused) {
    const fs::path model = run(config()).run_folder;
    write_lines(folder_ / "other.csv", daily_lines(120, 77));
    const std::string error = error_of([&] { predict_with(model, of(folder_ / "other.csv")); });
    for (const char* text : {"bars.csv", "other.csv", "correlation", "--other-instrument"})
        EXPECT_TRUE(contains(error, text)) << text << ": " << error;
    write_lines(folder_ / "same.csv", daily_lines(150));
    EXPECT_FALSE(contains(said(predict_with(model, of(folder_ / "same.csv"))), "Another instrument?"));
}

/// Later sessions of the same series under another name: the bars alone cannot tell.
TEST_F(InstrumentTest, AnotherFileWithoutCommonSessionsIsRefusedByName) {
    auto lines = daily_lines(300);
    const auto part = [&](std::size_t first, std::size_t last, const char* name) {
        std::vector<std::string> kept{lines.front()};
        kept.insert(kept.end(), lines.begin() + static_cast<std::ptrdiff_t>(first),
                    lines.begin() + static_cast<std::ptrdiff_t>(last));
        write_lines(folder_ / name, kept);
        return folder_ / name;
    };
    TrainConfig settings = config();
    settings.data = {part(1, 150, "MSFT.csv").string()};
    const fs::path model = run(settings).run_folder;
    const TrainConfig other = of(part(200, 301, "AAPL.csv"));
    const std::string error = error_of([&] { predict_with(model, other); });
    for (const char* text : {"MSFT.csv", "AAPL.csv", "--other-instrument"})
        EXPECT_TRUE(contains(error, text)) << text << ": " << error;
    const Prediction all_the_same = predict_with(model, other, {"data"}, true);
    EXPECT_TRUE(contains(said(all_the_same), "Another instrument?")) << said(all_the_same);
    EXPECT_EQ(all_the_same.instrument, "AAPL.csv");
    const Prediction own = predict_with(model, of(part(200, 301, "msft_2020.csv")));
    EXPECT_TRUE(contains(said(own), "Data: msft_2020.csv, bars of 1 day")) << said(own);
    EXPECT_FALSE(contains(said(own), "Another instrument?")) << said(own);
    // Common sessions tell more than names.
    EXPECT_FALSE(contains(said(predict_with(model, of(part(1, 200, "mister_softy.csv")))), "Another"));
}

/// --chain in training does not apply to other files.
TEST_F(InstrumentTest, ChainIsNotInheritedForOtherFiles) {
    const auto lines = daily_lines(300);
    const auto part = [&](std::size_t first, std::size_t last, const char* name) {
        std::vector<std::string> kept{lines.front()};
        kept.insert(kept.end(), lines.begin() + static_cast<std::ptrdiff_t>(first),
                    lines.begin() + static_cast<std::ptrdiff_t>(last));
        write_lines(folder_ / name, kept);
        return (folder_ / name).string();
    };
    TrainConfig settings = config();
    settings.data = {part(1, 100, "msft.csv"), part(100, 200, "softy.csv")};
    EXPECT_TRUE(contains(error_of([&] { run(settings); }), "--chain"));
    settings.chain = true;
    const fs::path model = run(settings).run_folder;
    EXPECT_NO_THROW(predict_with(model, {}, {}));
    TrainConfig input;
    input.data = {part(1, 250, "msft.csv"), part(250, 301, "aapl.csv")};
    EXPECT_TRUE(contains(error_of([&] { predict_with(model, input); }), "--chain"));
    input.chain = true;
    EXPECT_NO_THROW(predict_with(model, input, {"data", "chain"}));
}

TEST_F(InstrumentTest, DifferentPriceLevelsAreDoubted) {
    Instrument model{{}, {"bars.csv"}, 100, 200, {}};
    Instrument data{{}, {"live.csv"}, 1.05, 1.15, {{20'000, 1.1}}};
    EXPECT_TRUE(contains(compare_instruments(model, data).doubt, "the latest here is 1.1"));
    data.closes = {{20'000, 150.0}};
    EXPECT_TRUE(contains(compare_instruments(model, data).doubt, "does not show whether"));
    data.files = model.files;
    EXPECT_TRUE(compare_instruments(model, data).doubt.empty());
    // The same moves at a twentieth of the price: a split.
    for (int day = 0; day < 40; ++day) {
        const double close = 150 + 10 * std::sin(day);
        model.closes.push_back({19'000 + day, close});
        data.closes.push_back({19'000 + day, close / 20});
    }
    std::ranges::sort(data.closes, {}, &Instrument::Close::date);
    const InstrumentMatch split = compare_instruments(model, data);
    EXPECT_TRUE(split.contradiction.empty()) << split.contradiction;
    EXPECT_TRUE(contains(split.doubt, "0.05 times")) << split.doubt;
}

TEST_F(InstrumentTest, RunsWithoutAnInstrumentStillPredict) {
    const fs::path model = run(config()).run_folder;
    Json metadata = Json::parse(read_file(model / "best_model_metadata.json"));
    metadata["rekindle"].erase("instrument");
    metadata["rekindle"]["target"].erase("across_sessions");
    metadata["rekindle"]["config"].erase("across_sessions");
    write_file_atomically(model / "best_model_metadata.json", metadata.dump());
    EXPECT_TRUE(std::isfinite(predict_with(model, {}, {}).value));
}

} // namespace
} // namespace rekindle::trainer
