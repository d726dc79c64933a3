/// Whole runs with --population: each network, the files, and the report on the best one.

#include "../run_fixture.h"
#include "report/population_report.h"
#include "scores/population_scores.h"

#include <rekindle/trainer/predict.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

class PopulationRunTest : public RunTest {
  protected:
    static constexpr std::int64_t networks = 4;
    TrainConfig settings() const {
        TrainConfig settings = config();
        settings.population = networks;
        settings.epochs = 4;
        return settings;
    }
    static std::vector<std::vector<std::string>> table(const fs::path& csv) {
        std::vector<std::vector<std::string>> rows;
        std::istringstream lines(read_file(csv));
        for (std::string line; std::getline(lines, line);) {
            std::vector<std::string>& row = rows.emplace_back();
            std::istringstream fields(line);
            for (std::string field; std::getline(fields, field, ',');)
                row.push_back(field);
        }
        return rows;
    }
};

TEST_F(PopulationRunTest, EachNetworkMatchesASoloRunWithItsSeed) {
    const TrainOutcome outcome = run(settings());
    const auto rows = table(outcome.run_folder / "population.csv");
    ASSERT_EQ(rows.size(), 1u + networks);
    const auto stacked = tensors_of(outcome.run_folder / "population.safetensors");
    std::size_t best = 1;
    for (std::size_t k = 0; k < networks; ++k) {
        SCOPED_TRACE(k);
        TrainConfig one = settings();
        one.population = 1;
        one.seed += static_cast<std::int64_t>(k);
        const TrainOutcome alone = run(one);
        const auto& row = rows[k + 1];
        EXPECT_EQ(row[0], std::to_string(k));
        EXPECT_EQ(row[1], std::to_string(one.seed));
        const Json metadata = Json::parse(read_file(alone.run_folder / "best_model_metadata.json"));
        EXPECT_EQ(std::stoll(row[3]), metadata.at("epoch").get<std::int64_t>());
        EXPECT_EQ(std::stod(row[4]), metadata.at("loss").get<double>());
        EXPECT_EQ(std::stod(row[5]), metadata.at("metadata").at("accuracy").get<double>());
        const auto tensors = tensors_of(alone.run_folder / "best_model.safetensors");
        ASSERT_EQ(tensors.size(), stacked.size());
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            EXPECT_EQ(stacked[t].name, tensors[t].name);
            ASSERT_EQ(stacked[t].shape.size(), tensors[t].shape.size() + 1);
            EXPECT_EQ(stacked[t].shape[0], static_cast<std::size_t>(networks));
            const auto mine =
                std::span(stacked[t].values).subspan(k * tensors[t].values.size(), tensors[t].values.size());
            EXPECT_TRUE(std::ranges::equal(mine, tensors[t].values)) << tensors[t].name;
        }
        if (std::stod(row[4]) < std::stod(rows[best][4]))
            best = k + 1;
    }
    TrainConfig winner = settings();
    winner.population = 1;
    winner.seed += static_cast<std::int64_t>(best - 1);
    expect_same_weights(run(winner).run_folder, outcome.run_folder, "the best network");
    const Json details =
        Json::parse(read_file(outcome.run_folder / "best_model_metadata.json")).at("rekindle");
    EXPECT_EQ(details.at("seed"), winner.seed);
    EXPECT_EQ(details.at("population").at("networks"), networks);
    EXPECT_EQ(details.at("population").at("best_member"), best - 1);
}

TEST_F(PopulationRunTest, ReportSaysThatTheBestWasSelected) {
    const TrainOutcome outcome = run(settings());
    EXPECT_EQ(outcome.mean_lines.size(), outcome.score_lines.size());
    const std::string report = read_file(outcome.report);
    for (const char* text : {"4 networks that differ only in their seed", "That choice is optimistic",
                             "lower quartile", "median", "mean of all (fair)"})
        EXPECT_TRUE(contains(report, text)) << text;
    EXPECT_TRUE(contains(outcome.verdict, "best of 4 seeds")) << outcome.verdict;
    EXPECT_FALSE(contains(read_file(run(config()).report), "only in their seed"));
}

TEST_F(PopulationRunTest, ResumesBitForBitWithAnyNumberOfThreads) {
    TrainConfig set = settings();
    set.checkpoint_interval = 3;
    const TrainOutcome whole = run(set);
    set.threads = 3;
    const TrainOutcome stopped = interrupted(set, 3);
    const TrainOutcome rest = resume(stopped.run_folder);
    for (const char* name : {"population.csv", "model.json"})
        EXPECT_EQ(read_file(rest.run_folder / name), read_file(whole.run_folder / name));
    expect_same_tensors(tensors_of(rest.run_folder / "population.safetensors"),
                        tensors_of(whole.run_folder / "population.safetensors"), "population");
    expect_same_weights(rest.run_folder, whole.run_folder, "best network");
    EXPECT_EQ(rest.mean_lines, whole.mean_lines);

    TrainConfig more;
    more.population = 9;
    const std::string error = error_of([&] { resume(stopped.run_folder, more, {"population"}); });
    EXPECT_TRUE(contains(error, "population")) << error;
}

TEST_F(PopulationRunTest, PredictionIsTheMeanOfTheNetworks) {
    const TrainOutcome outcome = run(settings());
    NullProgressSink progress;
    const auto prediction_of = [&](const fs::path& model) {
        return predict({model, {}, {}, {}}, progress, CancellationToken());
    };
    const Prediction mean = prediction_of(outcome.run_folder);
    ASSERT_EQ(mean.networks, static_cast<std::size_t>(settings().population));
    std::vector<double> values;
    for (std::int64_t n = 0; n < settings().population; ++n) {
        TrainConfig one = settings();
        one.population = 1;
        one.seed += n;
        values.push_back(prediction_of(run(one).run_folder).value);
    }
    double sum = 0, squares = 0;
    for (const double value : values)
        sum += value;
    const auto count = static_cast<double>(values.size());
    for (const double value : values)
        squares += (value - sum / count) * (value - sum / count);
    EXPECT_NEAR(mean.value, sum / count, 1e-12);
    EXPECT_NEAR(mean.spread, std::sqrt(squares / count), 1e-12);
    const auto lines = describe(mean);
    EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) {
        return line.starts_with("Mean of ") && line.find("standard deviation") != std::string::npos;
    }));
    const Prediction best = prediction_of(outcome.run_folder / "best_model.safetensors");
    EXPECT_EQ(best.networks, 1U);
    EXPECT_TRUE(std::ranges::find(values, best.value) != values.end()) << "one of the networks";
}

TEST(Quartiles, MatchNumPy) {
    const Quartiles q = quartiles_of({4, 1, 3, 2});
    EXPECT_EQ(q.lowest, 1);
    EXPECT_EQ(q.lower, 1.75);
    EXPECT_EQ(q.median, 2.5);
    EXPECT_EQ(q.upper, 3.25);
    EXPECT_EQ(q.highest, 4);
    EXPECT_EQ(quartiles_of({5}).lower, 5);
}

// Losses may be negative. The network with the lowest loss has the lowest accuracy here.
TEST(PopulationReport, BestIsTheLowestLossAndTheHighestAccuracy) {
    FitResult fit;
    for (const auto& [loss, accuracy] : {std::pair{0.5, 0.6}, {-1.5, 0.4}, {2.0, 0.45}, {0.25, 0.75}}) {
        MemberResult& member = fit.members.emplace_back();
        member.best_epoch = 1;
        member.best_validation_loss = loss;
        member.history.push_back({.accuracy = accuracy});
    }
    fit.best_member = 1;
    const TrainConfig config;
    const MarketData data{{market::BarBuffer::into_table({}, {}), {}, {}}, {}, {}, {}, {}, {}, {}};
    const Dataset set;
    const mlp::ModelDescription model;
    const mlp::OptimizerSpec optimizer;
    const DeviceUse device;
    const Evaluation evaluation;
    const std::optional<ForecastRecord> forecasts;
    const std::optional<PopulationScores> scores = score_population(fit, evaluation);
    const std::vector<double> predicted;
    const std::vector<std::string> notes;
    const TrainedRun run{config,     {&data, 1}, set, model, optimizer, device, fit, scores,
                         evaluation, forecasts,  {},  {},    predicted, notes,  {}};
    const ReportSection section = population_section(run, "MSE");
    std::vector<double> best;
    for (const Chart& chart : section.charts)
        for (const Rule& rule : chart.rules)
            if (rule.label == "best")
                best.push_back(rule.value);
    EXPECT_EQ(best, (std::vector<double>{-1.5, 75})) << "of the losses, of the accuracies in percent";
    const ReportTable& losses = section.tables.at(0);
    ASSERT_EQ(losses.columns.at(0), "best");
    EXPECT_EQ(losses.rows.at(0).at(0), "-1.5");
    EXPECT_EQ(losses.rows.at(0).at(4), "2");
}

TEST(PopulationVerdict, EdgeOfTheBestAloneDoesNotCount) {
    PopulationScores scores;
    scores.networks = 64;
    Evaluation best;
    best.has_edge = true;
    best.verdict = {"An edge", "x", "y."};
    const Evaluation alone = adjusted_for_selection(best, scores);
    EXPECT_FALSE(alone.has_edge);
    EXPECT_EQ(alone.verdict.label, "No edge");
    EXPECT_TRUE(alone.verdict.finding.starts_with("only the best of 64 seeds")) << alone.verdict.finding;
    EXPECT_TRUE(alone.verdict.text().ends_with("The best alone: An edge: x. y.")) << alone.verdict.text();
    scores.mean.has_edge = true;
    const Evaluation both = adjusted_for_selection(best, scores);
    EXPECT_TRUE(both.has_edge);
    EXPECT_TRUE(both.verdict.text().starts_with("An edge: x. y. This is the best of 64 seeds"))
        << both.verdict.text();
}

} // namespace
} // namespace rekindle::trainer
