/// Backtests of several instruments: each trades as it would alone with its share of the capital and pays its
/// own costs, and the sum is judged.

#include "../../trainer/run_fixture.h"

#include <rekindle/base/text.h>
#include <rekindle/research/backtest_job.h>
#include <rekindle/trainer/predictions.h>

#include <gtest/gtest.h>

#include <cmath>

namespace rekindle::research {
namespace {

using namespace trainer::fixtures;

std::vector<std::string> lines_of(const std::string& contract, std::uint64_t seed) {
    auto lines = daily_lines(90, seed);
    for (std::string& line : lines)
        line += &line == &lines.front() ? ",Symbol" : "," + contract;
    return lines;
}

class SeveralBacktestTest : public RunTest {
  protected:
    SeveralBacktestTest() {
        write_file("bars.csv", {{"ESH0", 1}, {"NQH0", 2}});
        write_file("es.csv", {{"ESH0", 1}});
        write_file("nq.csv", {{"NQH0", 2}});
    }

    void write_file(const std::string& name,
                    const std::vector<std::pair<std::string, int>>& contracts) const {
        std::vector<std::string> lines;
        for (const auto& [contract, seed] : contracts) {
            const auto more = lines_of(contract, static_cast<std::uint64_t>(seed));
            lines.insert(lines.end(), more.begin() + (lines.empty() ? 0 : 1), more.end());
        }
        std::stable_sort(lines.begin() + 1, lines.end(), [](const std::string& a, const std::string& b) {
            return a.substr(0, 10) < b.substr(0, 10);
        });
        write_lines(folder_ / name, lines);
    }

    /// Alternating predictions for ES and NQ, a day apart.
    static trainer::PredictionTable predictions() {
        trainer::PredictionTable table;
        PhiloxStream random(7, RandomPurpose::test);
        for (std::int32_t day = 18'280; day < 18'350; day += 3)
            for (const char* instrument : {"ES", "NQ"}) {
                table.known_at.push_back(std::int64_t{day} * 86'400 + 22 * 3600);
                table.session.push_back(day);
                table.instrument.add(instrument);
                table.fold.add("1");
                table.seed.add("42");
                table.prediction.push_back(0.01 * random.next_normal());
                for (auto* column : {&table.sigma, &table.outcome, &table.baseline})
                    column->push_back(std::nan(""));
            }
        return table;
    }

    BacktestJob job(const std::string& bars, bool several) const {
        BacktestJob job;
        job.bars = config();
        job.bars.data = {(folder_ / bars).string()};
        job.bars.clock = market::Clock::utc;
        job.bars.session = market::SessionHours::all;
        if (several)
            job.bars.several_instruments = trainer::SeveralInstruments::by_root;
        job.predictions = folder_ / "predictions.csv";
        job.output = folder_ / "backtest";
        job.options.capital = 1'000'000;
        return job;
    }
    static BacktestOutcome run(const BacktestJob& job) {
        ThreadPool pool(1);
        trainer::NullProgressSink progress;
        return run_backtest_job(job, {}, pool, progress, CancellationToken());
    }
};

TEST_F(SeveralBacktestTest, EachTradesAsItWouldAloneAndPaysItsOwnCosts) {
    trainer::write_predictions_csv(folder_ / "predictions.csv", predictions());
    const BacktestOutcome both = run(job("bars.csv", true));
    ASSERT_EQ(both.instruments.size(), 2u);
    double profit = 0, before_costs = 0;
    std::size_t trades = 0;
    std::map<std::int32_t, double> equity;
    for (const auto& [name, file] : {std::pair("ES", "es.csv"), std::pair("NQ", "nq.csv")}) {
        BacktestJob alone = job(file, false);
        alone.filter.instrument = name;
        alone.options.capital = 500'000;
        alone.output = folder_ / "alone";
        alone.bars.instrument = name;
        const BacktestOutcome own = run(alone);
        const TradedInstrument& part = both.instruments[std::string(name) == "ES" ? 0 : 1];
        EXPECT_EQ(part.name, name);
        EXPECT_TRUE(part.costs_text.starts_with(std::string(name) + ": ")) << part.costs_text;
        EXPECT_EQ(part.costs.point_value, std::string(name) == "ES" ? 50 : 20);
        EXPECT_EQ(part.costs_text, own.instruments[0].costs_text);
        const auto &trades_of_part = part.judged.result.trades, &trades_alone = own.judged.result.trades;
        ASSERT_EQ(trades_of_part.size(), trades_alone.size());
        ASSERT_GT(trades_alone.size(), 5u);
        for (std::size_t i = 0; i < trades_alone.size(); ++i)
            EXPECT_EQ(trades_of_part[i].profit, trades_alone[i].profit);
        profit += own.judged.evaluation.strategy.profit;
        before_costs += own.judged.evaluation.profit_before_costs;
        trades += trades_alone.size();
        for (std::size_t i = 0; i < own.judged.periods.dates.size(); ++i)
            equity[own.judged.periods.dates[i]] += own.judged.periods.equity[i];
    }
    const Performance& sum = both.judged.evaluation.strategy;
    EXPECT_NEAR(sum.profit, profit, 1e-6);
    EXPECT_NEAR(both.judged.evaluation.profit_before_costs, before_costs, 1e-6);
    EXPECT_EQ(sum.capital, 1'000'000);
    EXPECT_EQ(sum.trades, trades);
    EXPECT_EQ(both.currency, "USD");
    ASSERT_EQ(both.judged.periods.dates.size(), equity.size());
    double before = 1'000'000;
    std::size_t i = 0;
    for (const auto& [date, money] : equity) {
        EXPECT_NEAR(both.judged.periods.equity[i], money, 1e-6);
        EXPECT_NEAR(both.judged.periods.strategy[i++], money / before - 1, 1e-12);
        before = money;
    }
    std::int64_t latest = 0;
    for (const PlacedTrade& placed : trades_of(both)) {
        EXPECT_GE(placed.exit().end, latest);
        latest = placed.exit().end;
    }
    EXPECT_TRUE(contains(read_file(folder_ / "backtest/trades.csv"), "NQ,2020-"));
    EXPECT_TRUE(contains(read_file(folder_ / "backtest/report.html"), "Costs of NQ"));
    EXPECT_EQ(Json::parse(read_file(folder_ / "backtest/backtest.json")).at("instruments").size(), 2u);
}

TEST_F(SeveralBacktestTest, ReadsPredictionsFromEveryFormat) {
    const trainer::PredictionTable table = predictions();
    trainer::write_predictions_csv(folder_ / "predictions.csv", table);
    trainer::write_predictions_parquet(folder_ / "predictions.parquet", table);
    std::string semicolons = read_file(folder_ / "predictions.csv");
    std::ranges::replace(semicolons, ',', ';');
    std::ranges::replace(semicolons, '.', ',');
    write_file_atomically(folder_ / "predictions-de.csv", semicolons);
    const auto expected = read_predictions(folder_ / "predictions.csv");
    for (const char* name : {"predictions.parquet", "predictions-de.csv"}) {
        const auto rows = read_predictions(folder_ / name);
        ASSERT_EQ(rows.size(), expected.size()) << name;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            EXPECT_EQ(rows[i].known_at, expected[i].known_at);
            EXPECT_EQ(rows[i].instrument, expected[i].instrument);
            EXPECT_EQ(rows[i].prediction, expected[i].prediction);
            EXPECT_TRUE(std::isnan(rows[i].outcome));
        }
    }
    BacktestJob of_parquet = job("bars.csv", true);
    of_parquet.predictions = folder_ / "predictions.parquet";
    EXPECT_EQ(run(of_parquet).judged.periods.equity, run(job("bars.csv", true)).judged.periods.equity);
}

TEST_F(SeveralBacktestTest, TradesPositionsOfEachInstrument) {
    write_lines(folder_ / "positions.csv", {"known_at,instrument,position", "2020-01-20T22:00:00Z,ES,1",
                                            "2020-01-20T22:00:00Z,NQ,-1", "2020-02-20T22:00:00Z,ES,0"});
    BacktestJob of_positions = job("bars.csv", true);
    of_positions.predictions = "";
    of_positions.positions = folder_ / "positions.csv";
    const BacktestOutcome outcome = run(of_positions);
    const auto trades = trades_of(outcome);
    ASSERT_EQ(trades.size(), 2u);
    EXPECT_EQ(trades[0].instrument.name, "ES");
    EXPECT_EQ(trades[0].trade.quantity, 1);
    EXPECT_EQ(trades[1].trade.quantity, -1);
    of_positions.bars.several_instruments = trainer::SeveralInstruments::no;
    of_positions.bars.data = {(folder_ / "es.csv").string()};
    EXPECT_TRUE(contains(error_of([&] { run(of_positions); }), "of several instruments"));
}

TEST_F(SeveralBacktestTest, RefusesWhatCannotBeAdded) {
    trainer::PredictionTable table = predictions();
    trainer::write_predictions_csv(folder_ / "predictions.csv", table);
    for (std::string& name : table.instrument.words)
        if (name == "NQ")
            name = "FGBL";
    trainer::write_predictions_csv(folder_ / "bund.csv", table);
    write_file("bund-bars.csv", {{"ESH0", 1}, {"FGBLH0", 2}});
    BacktestJob mixed = job("bund-bars.csv", true);
    mixed.predictions = folder_ / "bund.csv";
    EXPECT_TRUE(contains(error_of([&] { run(mixed); }), "USD and EUR cannot be added"));
    mixed.bars.contract = "FGBL";
    const BacktestOutcome bund = run(mixed);
    EXPECT_EQ(bund.currency, "EUR");
    ASSERT_FALSE(bund.notes.empty());
    EXPECT_TRUE(contains(bund.notes.front(), "there are no bars of ES"));
    mixed.predictions = folder_ / "predictions.csv";
    mixed.bars.contract = "FGBL";
    EXPECT_TRUE(contains(error_of([&] { run(mixed); }), "no decision belongs to an instrument"));
    BacktestJob own_value = job("bars.csv", true);
    own_value.point_value = 50;
    EXPECT_TRUE(contains(error_of([&] { run(own_value); }), "no common value of a point"));
}

} // namespace
} // namespace rekindle::research
