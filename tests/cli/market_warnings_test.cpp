/// Every command that reads bars warns when the data contradicts the options.

#include "process.h"
#include "small_market.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/option_table.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/simulate.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/model_file.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

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

/// The commands of an option, such as "zone".
std::vector<std::string> commands_of(std::string_view option) {
    for (const OptionSpec& row : option_table())
        if (row.name == option)
            return {row.commands.begin(), row.commands.end()};
    ADD_FAILURE() << "there is no option " << option;
    return {};
}

/// A network with three inputs and no scaler, as the original system saved it.
const std::string& network_file() {
    static const TemporaryFolder folder;
    static const std::string path = [] {
        trainer::ModelFile file;
        file.feature_columns = {"session_weekday", "session_month", "days_to_expiry"};
        const std::array<std::size_t, 1> hidden{4};
        file.model = mlp::ModelDescription::default_network(file.feature_columns.size(), hidden, 0,
                                                            mlp::Activation::silu, 1);
        mlp::Engine engine(file.model, {});
        engine.initialize();
        file.parameters = engine.parameters();
        trainer::write_model_file(folder.path() + "/network.pt", file);
        return folder.path() + "/network.pt";
    }();
    return path;
}

/// One position, held from the first bar on.
const std::string& positions_file() {
    static const TemporaryFolder folder;
    static const std::string path = [] {
        write_file_atomically(folder.path() + "/positions.csv",
                              "known_at,position\n1990-01-01T00:00:00Z,1\n");
        return folder.path() + "/positions.csv";
    }();
    return path;
}

/// A command with the arguments that it needs.
Words reading(const std::string& command, const std::string& data, const std::string& model) {
    if (command == "inspect")
        return {command, data, "--format", "json"};
    if (command == "import-model")
        return {command, network_file(), "--data", data, "--output", "imports"};
    const Words small{"--epochs", "1", "--hidden-layers", "4", "--features", "calendar,gap"};
    const Words more =
        command == "volume-profile" ? Words{"--draw", "1"}
        : command == "features"     ? Words{"--output", "features.csv", "--features", "calendar"}
        : command == "train"        ? small
        : command == "walk-forward" ? joined(small, {"--folds", "2", "--output", "walks"})
        : command == "search"       ? joined(small, {"--folds", "2", "--output", "searches", "--trials", "2",
                                                     "--vary", "dropout-rate=0|0.1"})
        : command == "backtest"     ? Words{"--positions", positions_file(), "--output", "backtests"}
        : command == "predict"      ? Words{"--model", model}
                                    : Words{};
    EXPECT_FALSE(more.empty()) << "no test runs " << command;
    return joined({command, "--data", data}, more);
}

/// The run folder of a training in this folder, "" when there is none.
std::string run_in(const std::string& folder) {
    const fs::path parent = fs::path(folder) / "TRAINING";
    return fs::exists(parent) ? fs::directory_iterator(parent)->path().string() : "";
}

/// A model trained on simulated() without options.
const std::string& usual_model() {
    static const TemporaryFolder folder;
    static const std::string model = [] {
        const Finished finished = rekindle(reading("train", simulated(), ""), {.folder = folder.path()});
        EXPECT_EQ(finished.status, 0) << finished.errors;
        return run_in(folder.path());
    }();
    return model;
}

const std::vector<std::string> without_model{"volume-profile", "features", "train"};
const std::vector<std::string> session_cutters{"volume-profile", "features", "train", "predict"};

/// Runs the commands with the options; each must print all of the texts and exit with the status. predict
/// uses the model of train before it, or, for options that are refused, the usual one.
void expect_said(const std::string& data, const Words& options, const std::vector<std::string>& texts,
                 int status = 0, const std::vector<std::string>& commands = session_cutters) {
    const TemporaryFolder folder;
    for (const std::string& command : commands) {
        const std::string model = status == 0 ? run_in(folder.path()) : usual_model();
        const Finished finished =
            rekindle(joined(reading(command, data, model), options), {.folder = folder.path()});
        EXPECT_EQ(finished.status, status) << command << finished.errors;
        for (const std::string& text : texts)
            EXPECT_TRUE(contains(finished.output + finished.errors, text))
                << command << " does not say: " << text << "\n"
                << finished.errors;
    }
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
    expect_said(simulated(), {"--clock", "exchange"}, {"--clock exchange looks wrong"});
    std::vector<std::string> commands = commands_of("clock");
    std::erase(commands, "import-model"); // it uses the original's rules, including their mistakes
    expect_said(simulated(), {"--clock", "exchange"}, {"Use --clock utc"}, 0, commands);
}

TEST(MarketWarnings, RegularHoursOfAnotherZone) {
    expect_said(simulated(), {"--session", "rth", "--regular-hours", "08:30-15:15"},
                {"Volume does not rise at 08:30 America/New_York", "but at 09:30"});
    expect_said(simulated(), {"--session", "rth", "--zone", "Europe/London"},
                {"--regular-hours: the regular hours of an exchange in Europe/London are not known",
                 "are 14:30-21:00 there"},
                2, without_model);
    expect_said(simulated(), {"--regular-hours", "08:30-15:15"}, {"--session all"}, 2, without_model);
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
    EXPECT_EQ(profile({}), profile({"--zone", "America/Chicago"}));
    EXPECT_NE(profile({}), profile({"--regular-hours", "09:30-15:00"}));
}

TEST(MarketWarnings, UnknownZoneIsRefusedForDatesToo) {
    const TemporaryFolder folder;
    const std::string data = folder.file("spx.csv", daily("", "", market::make_date(2023, 1, 2), 200, 4000));
    for (const std::string& file : {data, simulated()}) {
        expect_said(file, {"--zone", "America/New_Yrok"}, {"--zone: unknown time zone", "America/New_York"},
                    2, commands_of("zone"));
        expect_said(file, {"--day-start", "25:00"}, {"--day-start: "}, 2, commands_of("day-start"));
    }
    EXPECT_EQ(rekindle({"train", "--data", data, "--zone", "Nowhere", "--print-config"}).status, 2);
    expect_said(data, {"--clock", "exchange", "--day-start", "17:00"},
                {"these options have no effect on the sessions: --clock, --day-start"});
    // The start of the day that an instrument has is not the user's option.
    const Finished stock = rekindle({"volume-profile", "--data", data, "--instrument", "US-STOCK"});
    EXPECT_EQ(stock.status, 0);
    EXPECT_FALSE(contains(stock.errors, "no effect")) << stock.errors;
}

/// Daily bars without a volume column.
std::string cut_volume(const std::string& text) {
    std::string result;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        const std::string line = text.substr(begin, end - begin);
        result += line.substr(0, line.rfind(',')) + "\n";
        begin = end + 1;
    }
    return result;
}

TEST(MarketWarnings, NoVolume) {
    const TemporaryFolder folder;
    const std::string data =
        folder.file("spx.csv", cut_volume(daily("", "", market::make_date(2023, 1, 2), 200, 4000)));
    const Words columns{"--columns", "time=1,open=2,high=3,low=4,close=5,volume=none"};
    std::vector<std::string> commands = commands_of("columns");
    std::erase(commands, "backtest"); // it makes no profiles
    expect_said(data, columns, {"No bar has volume", "mean nothing"}, 0, commands);
    const Finished trained =
        rekindle(joined({"train", "--data", data, "--epochs", "1", "--hidden-layers", "4"}, columns),
                 {.folder = folder.path()});
    EXPECT_EQ(trained.status, 0) << trained.errors;
    EXPECT_TRUE(contains(trained.output + trained.errors, "omitted because no bar has volume: vpoc,"));
    EXPECT_FALSE(contains(trained.output + trained.errors, "too few rows to train on"));
    EXPECT_FALSE(contains(trained.errors, "there is only one bar")) << "another reason for the same";
    const Finished profile =
        rekindle(joined({"volume-profile", "--data", data, "--output", folder.path() + "/p.json"}, columns));
    EXPECT_EQ(profile.status, 0);
    EXPECT_TRUE(contains(run_process({"cat", folder.path() + "/p.json"}).output, "No bar has volume"));
}

TEST(MarketWarnings, UnadjustedSplit) {
    const TemporaryFolder folder;
    std::string text = daily("", "", market::make_date(2023, 1, 2), 100, 4000);
    const std::string later = daily("", "", market::make_date(2023, 1, 2) + 100, 100, 1000);
    const std::string data = folder.file("stock.csv", text + later.substr(later.find('\n') + 1));
    expect_said(data, {}, {"looks like a 4:1 split", "2023-04-12"});
    EXPECT_TRUE(contains(rekindle({"inspect", data}).output, "Warning    2023-04-12 opens at"));
    EXPECT_TRUE(contains(rekindle({"inspect", data, "--format", "json"}).output, "\"new_shares\": 4"));
}

TEST(MarketWarnings, PricesWithoutATick) {
    const TemporaryFolder folder;
    std::string text = "Price,Close,High,Low,Open,Volume\nTicker,KO,KO,KO,KO,KO\nDate,,,,,\n";
    for (int i = 0; i < 200; ++i) {
        const double price = 0.98765432109 * (150 + i % 7);
        text += fmt::format("{},{},{},{},{},{}\n", market::format_date(19'800 + i), price + (i * 5) % 3 - 1,
                            price + 2.3, price - 2.1, price, 100 + i % 9);
    }
    const std::string data = folder.file("KO.csv", text);
    expect_said(data, {}, {"none; profiles use bins of 0.05 points"}, 0,
                {"volume-profile", "features", "train", "predict"});
    const Finished inspected = rekindle({"inspect", data});
    EXPECT_TRUE(contains(inspected.output, "Tick       none; profiles use bins of 0.05 points"))
        << inspected.output;
    const std::string json = rekindle({"inspect", data, "--format", "json"}).output;
    EXPECT_TRUE(contains(json, "\"tick_points\": null") && contains(json, "\"profile_bin_points\": 0.05"))
        << json;
    expect_said(data, {"--tick", "none:0.2"}, {"none; profiles use bins of 0.2 points"}, 0,
                {"train", "volume-profile"});
    expect_said(data, {"--tick", "none:x"}, {"none:WIDTH"}, 2, without_model);
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

// Weekly bars: no days are reported as missing, and weekly sessions are not suggested.
TEST(MarketWarnings, WeeklyBarsGetNoAdviceForDays) {
    const TemporaryFolder folder;
    std::string text = "date,open,high,low,close,volume\n";
    for (int week = 0; week < 120; ++week)
        text +=
            fmt::format("{},{},{},{},{},{}\n", market::format_date(market::make_date(2022, 1, 3) + 7 * week),
                        100 + week % 5, 107, 98, 100 + (week + 1) % 5, 50 + week % 11);
    const std::string data = folder.file("weekly.csv", text);
    const Finished inspected = rekindle({"inspect", data});
    EXPECT_TRUE(contains(inspected.output, "120 bars of 7 days")) << inspected.output;
    EXPECT_FALSE(contains(inspected.output, "business day")) << inspected.output;
    const Finished json = rekindle({"inspect", data, "--format", "json"});
    EXPECT_TRUE(contains(json.output, "\"missing_days\": null") ||
                contains(json.output, "\"missing_days\":null"))
        << json.output;
    for (const char* length : {"day", "week"}) {
        const Finished profile =
            rekindle({"volume-profile", "--data", data, "--session-length", length, "--draw", "1"});
        EXPECT_TRUE(contains(profile.errors, "Use finer bars.")) << profile.errors;
        EXPECT_FALSE(contains(profile.errors, "--session-length week")) << profile.errors;
    }
}

TEST(MarketWarnings, OptionsWithoutEffectOnDatesAreSaidInQuietToo) {
    const TemporaryFolder folder;
    const std::string data = folder.file("spx.csv", daily("", "", market::make_date(2023, 1, 2), 200, 4000));
    expect_said(
        data, {"--quiet", "--stamp", "start", "--clock", "exchange", "--stamp-zone", "Asia/Tokyo"},
        {"warning: Each bar is a day or more and belongs to a date, so these options have no effect on "
         "the sessions: --clock, --stamp, --stamp-zone"});
}

TEST(MarketWarnings, WeekendsOfAMarketThatNeverCloses) {
    const TemporaryFolder folder;
    std::string text = "time,open,high,low,close,volume\n";
    for (int hour = 0; hour < 2400; ++hour)
        text += fmt::format("{} {:02}:00:00,{},{},{},{},{}\n", market::format_date(19'800 + hour / 24),
                            hour % 24, 100 + hour % 5, 107, 98, 100 + (hour + 1) % 5, 50 + hour % 11);
    const std::string data = folder.file("coin.csv", text);
    for (const Words& options : {Words{},
                                 {"--session", "rth"},
                                 {"--session", "eth"},
                                 {"--session", "rth", "--clock", "exchange"},
                                 {"--session", "rth", "--clock", "raw"}})
        expect_said(data, options, {"This market trades on weekends: 2"});
}

TEST(MarketWarnings, FolderOfDifferentInstruments) {
    const std::int32_t first = market::make_date(2023, 1, 2);
    const auto described = [](const TemporaryFolder& folder, const std::vector<std::string>& names,
                              const Words& options = {}) {
        const Finished inspected = rekindle(joined({"inspect", folder.path(), "--format", "json"}, options));
        EXPECT_EQ(inspected.status, 0) << inspected.errors;
        const auto json = nlohmann::json::parse(inspected.output, nullptr, false);
        ASSERT_TRUE(json.contains("instruments")) << inspected.output;
        ASSERT_EQ(json["instruments"].size(), names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            EXPECT_EQ(json["instruments"][i]["name"], names[i]);
            EXPECT_EQ(json["instruments"][i]["rows"], 120);
        }
        if (options.empty()) {
            EXPECT_TRUE(contains(inspected.errors,
                                 "these are different instruments: " + names[0] + " and " + names[1] + "."))
                << inspected.errors;
        }
        const Finished page = rekindle(joined({"inspect", folder.path()}, options));
        for (const std::string& name : names)
            EXPECT_TRUE(contains(page.output, name + "\n" + std::string(name.size(), '-') + "\n"))
                << page.output;
    };
    const TemporaryFolder nameless, one_nameless, named;
    nameless.file("btc.csv", daily("", "", first, 120, 42'000));
    nameless.file("es.csv", daily("", "", first + 130, 120, 4700));
    expect_said(nameless.path(), {}, {"btc.csv", "es.csv", "different instruments"}, 2);
    described(nameless, {"BTC", "ES"});
    one_nameless.file("btc.csv", daily("", "", first, 120, 42'000));
    one_nameless.file("ES 03-24.csv", daily("", "", first + 121, 120, 4700));
    expect_said(one_nameless.path(), {}, {"btc.csv", "ES 03-24", "different instruments"}, 2);
    described(one_nameless, {"BTC", "ES"});
    named.file("one.csv", daily(",symbol", ",BTCUSDT", first, 120, 42'000));
    named.file("two.csv", daily(",symbol", ",ESH24", first + 121, 120, 4700));
    expect_said(named.path(), {}, {"\"BTCUSDT\" and \"ESH24\"", "--contract"}, 2);
    described(named, {"BTCUSDT", "ES"});
    described(named, {"BTCUSDT", "ESH24"}, {"--several-instruments", "by-name"});
}

// A bad row of one instrument is an error that names it, and is listed once if rows are skipped.
TEST(MarketWarnings, BadRowsAmongSeveralInstruments) {
    const std::int32_t first = market::make_date(2023, 1, 2);
    const TemporaryFolder folder;
    folder.file("one.csv", daily("", "", first, 120, 42'000));
    folder.file("two.csv", daily("", "", first, 120, 4700) + "2024-01-05,1,2,3,4,5\n");
    const Finished refused = rekindle({"inspect", folder.path()}, {.folder = folder.path()});
    EXPECT_EQ(refused.status, 2);
    EXPECT_TRUE(contains(refused.errors, "TWO: ")) << refused.errors;
    // An error in the options is no reason to look for instruments.
    const Finished hours = rekindle({"inspect", folder.path() + "/one.csv", "--regular-hours", "8-3"});
    EXPECT_EQ(hours.status, 2);
    EXPECT_TRUE(hours.errors.starts_with("error: ")) << hours.errors;
    const Finished skipped =
        rekindle({"inspect", folder.path(), "--bad-rows", "skip"}, {.folder = folder.path()});
    EXPECT_EQ(skipped.status, 0) << skipped.errors;
    const std::string rows = read_file(folder.path() + "/rejected.csv");
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2) << rows;
}

TEST(MarketWarnings, ProfilesOfSeveralInstruments) {
    const std::int32_t first = market::make_date(2023, 1, 2);
    const TemporaryFolder folder;
    const std::string one = folder.file("one.csv", daily(",symbol", ",NQH24", first, 120, 42'000));
    const std::string two = folder.file("two.csv", daily(",symbol", ",ESH24", first, 120, 4700));
    const auto profile = [&](const Words& words, const std::string& file) {
        const Words common{"volume-profile",
                           "--session-length",
                           "week",
                           "--trends",
                           "trends-" + file,
                           "--output",
                           file,
                           "--draw",
                           "1",
                           "--data"};
        const Finished finished = rekindle(joined(common, words), {.folder = folder.path()});
        EXPECT_EQ(finished.status, 0) << finished.errors;
        return finished.output;
    };
    const std::string drawn = profile({one, two, "--several-instruments", "by-root"}, "both.csv");
    EXPECT_TRUE(contains(drawn, "  ESH24, ") && contains(drawn, "  NQH24, ")) << drawn;
    profile({one}, "nq.csv");
    profile({two}, "es.csv");
    for (const std::string prefix : {"", "trends-"}) {
        const auto lines = [&](const std::string& name) {
            const std::string text = read_file(folder.path() + "/" + prefix + name);
            std::vector<std::string> found;
            for (const std::string_view line : split(text, '\n'))
                found.emplace_back(line);
            return found;
        };
        const auto es = lines("es.csv"), nq = lines("nq.csv");
        std::vector<std::string> expected{"instrument," + es.front()};
        for (std::size_t i = 1; i + 1 < es.size(); ++i)
            expected.push_back("ES," + es[i]);
        for (std::size_t i = 1; i + 1 < nq.size(); ++i)
            expected.push_back("NQ," + nq[i]);
        expected.emplace_back();
        EXPECT_EQ(lines("both.csv"), expected);
    }
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
