/// rekindle backtest from the command line, with a right and a wrong value for every option.

#include "process.h"
#include "small_market.h"

#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

/// A folder with predictions and positions.
class Signals {
    TemporaryFolder folder_;

  public:
    Signals() {
        std::string predictions = "known_at,session,instrument,fold,seed,prediction,sigma,outcome,baseline\n";
        std::string positions = "known_at,position,limit,stop,stop_loss,take_profit\n";
        for (int i = 0; i < 300; ++i) {
            const std::string stamp =
                fmt::format("2023-{:02}-{:02}T{:02}:00:00Z", 7 + i / 60, 1 + i / 3 % 20, i % 3 * 6);
            const double value = std::sin(i * i) / 100;
            for (const char* seed : {"1", "mean"})
                predictions += fmt::format("{},,ES,{},{},{},0.01,{},0\n", stamp, i < 150 ? "a" : "b", seed,
                                           *seed == '1' ? -value : value, value / 2);
            if (i % 10 == 0)
                positions += fmt::format("{},{},,,,\n", stamp, i % 4 - 1);
        }
        this->predictions = folder_.file("predictions.csv", predictions);
        this->positions = folder_.file("positions.csv", positions);
        costs = folder_.file("costs.yaml", "format: rekindle-trading-costs/1\nchecked: 2026-01-01\n"
                                           "costs: {OTHER: {commission: 7, source: test}}\n");
    }
    std::string predictions, positions, costs;
};

const Signals& shared_signals() {
    static const Signals signals;
    return signals;
}

/// The contents of backtest.json after a backtest with these options.
std::string figures_of(const Words& options, const Words& signals) {
    const TemporaryFolder folder;
    const Finished finished = rekindle(joined(
        joined({"backtest", "--data", shared_market().bars, "--quiet", "--output", folder.path()}, signals),
        options));
    EXPECT_EQ(finished.status, 0) << fmt::format("{}\n{}", fmt::join(options, " "), finished.errors);
    return finished.status == 0 ? read_file(folder.path() + "/backtest.json") : "";
}

TEST(BacktestCommand, SaysThatValidationRowsChoseTheEpoch) {
    std::string rows = "known_at,fold,prediction\n";
    for (int day = 1; day < 29; ++day)
        rows += fmt::format("2023-08-{:02}T12:00:00Z,{},{}\n", day, day < 21 ? "validation" : "later",
                            day % 3 - 1);
    const TemporaryFolder folder;
    const std::string figures = figures_of({}, {"--predictions", folder.file("p.csv", rows)});
    EXPECT_TRUE(contains(figures, "20 of the 28 predictions are for the validation rows")) << figures;
    EXPECT_FALSE(
        contains(figures_of({}, {"--predictions", shared_signals().predictions}), "validation rows"));
}

TEST(BacktestCommand, PrintsTheVerdictFirstAndWritesItsFiles) {
    const TemporaryFolder folder;
    const Finished finished = rekindle({"backtest", "--data", shared_market().bars, "--predictions",
                                        shared_signals().predictions, "--capital", "10000000"},
                                       {.folder = folder.path()});
    ASSERT_EQ(finished.status, 0) << finished.errors;
    EXPECT_TRUE(finished.output.starts_with("No edge: after costs, the strategy ")) << finished.output;
    EXPECT_TRUE(contains(finished.output, "typical values of 2026-")) << finished.output;
    for (const char* file : {"trades.csv", "equity.csv", "backtest.json", "report.html"})
        EXPECT_TRUE(fs::exists(folder.path() + "/backtest/" + file)) << file;
    const nlohmann::json json = nlohmann::json::parse(read_file(folder.path() + "/backtest/backtest.json"));
    EXPECT_EQ(json.at("format"), "rekindle-backtest/1");
    EXPECT_TRUE(finished.output.starts_with(json.at("verdict").get<std::string>()));
    const std::string page = read_file(folder.path() + "/backtest/report.html");
    EXPECT_TRUE(contains(page, "Rekindle backtest"));
    EXPECT_TRUE(contains(page, "no interval: "));
    // --format json prints the same result on standard output.
    const Finished printed =
        rekindle({"backtest", "--data", shared_market().bars, "--predictions", shared_signals().predictions,
                  "--capital", "10000000", "--format", "json", "--quiet"},
                 {.folder = folder.path()});
    EXPECT_EQ(nlohmann::json::parse(printed.output), json);
    EXPECT_EQ(printed.errors, "");
}

TEST(BacktestCommand, EveryOptionHasAnEffect) {
    const Words predictions{"--predictions", shared_signals().predictions, "--capital", "10000000"};
    const std::string usual = figures_of({}, predictions);
    for (const Words& option : {Words{"--network", "1"},
                                {"--fold", "b"},
                                {"--threshold", "0.004"},
                                {"--center", "0.002"},
                                {"--direction", "short"},
                                {"--hold", "1"},
                                {"--stop-loss", "0.1"},
                                {"--take-profit", "0.1"},
                                {"--sizing", "fraction"},
                                {"--size", "2"},
                                {"--point-value", "7"},
                                {"--commission", "1.5"},
                                {"--commission-percent", "0.1"},
                                {"--slippage-ticks", "3"},
                                {"--slippage-percent", "0.2"},
                                {"--margin-percent", "1"},
                                {"--costs", shared_signals().costs},
                                {"--trials", "40"},
                                {"--seed", "3"},
                                {"--instrument", "CL"},
                                {"--session-length", "week"}})
        EXPECT_NE(figures_of(option, predictions), usual) << fmt::format("{}", fmt::join(option, " "));
    EXPECT_EQ(figures_of({"--predictions-of", "ES"}, predictions), usual); // there is no other instrument
    const Words fraction{"--sizing", "fraction", "--size", "0.7"};
    EXPECT_NE(figures_of(joined(fraction, {"--rebalance"}), predictions), figures_of(fraction, predictions));
    EXPECT_NE(figures_of(joined(fraction, {"--size-step", "0.1"}), predictions),
              figures_of(fraction, predictions));
    const Words volatility{"--sizing", "volatility", "--size", "0.1"};
    EXPECT_NE(figures_of(joined(volatility, {"--lookback", "40"}), predictions),
              figures_of(volatility, predictions));
    const Words positions{"--positions", shared_signals().positions};
    EXPECT_NE(figures_of({"--capital", "5000000"}, positions),
              figures_of({"--capital", "10000000"}, positions));
}

TEST(BacktestCommand, RefusesWhatMakesNoSense) {
    const Words with{"--data", shared_market().bars, "--predictions", shared_signals().predictions};
    const Words positions{"--data", shared_market().bars, "--positions", shared_signals().positions};
    for (const auto& [arguments, expected] : std::vector<std::pair<Words, std::string>>{
             {{"--data", shared_market().bars}, "a backtest needs either predictions or positions"},
             {joined(with, {"--positions", shared_signals().positions}), "--predictions"},
             {joined(with, {"--network", "9"}), "no prediction has the network \"9\""},
             {joined(with, {"--fold", "c"}), "expected one of a, b"},
             {joined(with, {"--predictions-of", "NQ"}), "expected one of ES"},
             {joined(with, {"--threshold", "-1"}), "--threshold"},
             {joined(with, {"--center", "x"}), "--center"},
             {joined(with, {"--direction", "up"}), "--direction"},
             {joined(with, {"--hold", "-1"}), "--hold"},
             {joined(with, {"--stop-loss", "101"}), "--stop-loss"},
             {joined(with, {"--take-profit", "-1"}), "--take-profit"},
             {joined(with, {"--capital", "0"}), "--capital"},
             {joined(with, {"--sizing", "kelly"}), "--sizing"},
             {joined(with, {"--size", "0"}), "--size"},
             {joined(with, {"--size-step", "0"}), "--size-step"},
             {joined(with, {"--lookback", "1", "--sizing", "volatility"}), "--lookback"},
             {joined(with, {"--lookback", "30"}), "--lookback has no effect"},
             {joined(with, {"--point-value", "0"}), "--point-value"},
             {joined(with, {"--commission", "-1"}), "--commission"},
             {joined(with, {"--slippage-ticks", "-1"}), "--slippage-ticks"},
             {joined(with, {"--margin-percent", "-1"}), "--margin-percent"},
             {joined(with, {"--costs", "missing.yaml"}), "missing.yaml"},
             {joined(with, {"--costs", shared_signals().positions}), "positions.csv"},
             {joined(with, {"--trials", "0"}), "--trials"},
             {joined(with, {"--instrument", "XYZ"}), "the instrument XYZ is not in the list"},
             {joined(with, {"--epochs", "3"}), "--epochs"},
             {joined(positions, {"--threshold", "0.1"}), "--threshold"},
             {joined(positions, {"--hold", "2"}), "--hold"},
             {{"--data", shared_market().bars, "--predictions", "missing.csv"}, "missing.csv"},
             {{"--data", shared_market().bars, "--predictions", "p.parquet"}, "p.parquet: cannot open"},
             {joined(with, {"--several-instruments", "by-root", "--point-value", "50"}),
              "several instruments have no common value of a point"},
             {{"--data", shared_market().bars, "--predictions", shared_market().bars}, "known_at"},
         }) {
        const TemporaryFolder folder;
        const Finished finished = rekindle(joined({"backtest"}, arguments), {.folder = folder.path()});
        EXPECT_EQ(finished.status, 2) << fmt::format("{}\n{}", fmt::join(arguments, " "), finished.errors);
        EXPECT_TRUE(contains(finished.errors, expected)) << expected << "\n" << finished.errors;
        EXPECT_TRUE(fs::is_empty(folder.path())) << finished.errors;
    }
}

TEST(BacktestCommand, SaysWhenBarsAndPredictionsDoNotMeet) {
    const TemporaryFolder folder;
    const std::string late = folder.file("late.csv", "known_at,position\n2031-01-01,1\n");
    const Finished finished = rekindle({"backtest", "--data", shared_market().bars, "--positions", late,
                                        "--output", folder.path() + "/out"});
    EXPECT_EQ(finished.status, 2);
    EXPECT_TRUE(contains(finished.errors, "no bar comes after the first decision in the file"))
        << finished.errors;
}

} // namespace
} // namespace rekindle::cli
