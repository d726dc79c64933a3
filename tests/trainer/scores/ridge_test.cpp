/// Ridge regression against scikit-learn, and what it means for the verdict.

#include "../run_fixture.h"

#include <rekindle/trainer/ridge.h>
#include <rekindle/trainer/scores.h>

#include <cmath>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

/// A case of scores/make_golden.py.
struct GoldenCase {
    explicit GoldenCase(const Json& json)
        : name(json.at("name")), columns(json.at("columns")), train_rows(json.at("train_rows")),
          inputs(json.at("inputs").get<std::vector<float>>()),
          targets(json.at("targets").get<std::vector<float>>()), expected(json) {}

    RidgeRows train() const {
        return {std::span(inputs).first(train_rows * columns), columns, std::span(targets).first(train_rows)};
    }
    void expect_predictions(const Ridge& ridge, const Json& predictions, double tolerance) const {
        const auto values = ridge.predict(inputs);
        ASSERT_EQ(values.size(), predictions.size()) << name;
        for (std::size_t row = 0; row < values.size(); ++row)
            EXPECT_NEAR(values[row], predictions[row].get<double>(), tolerance) << name << ", row " << row;
    }

    std::string name;
    std::size_t columns, train_rows;
    std::vector<float> inputs, targets;
    Json expected;
};

std::vector<GoldenCase> golden_cases() {
    std::vector<GoldenCase> cases;
    for (const Json& json : Json::parse(read_file(fs::path(REKINDLE_TEST_DATA) / "ridge.json")))
        cases.emplace_back(json);
    return cases;
}

TEST(Ridge, ChoosesThePenaltyOfScikitLearn) {
    for (const GoldenCase& golden : golden_cases()) {
        const Ridge ridge = Ridge::fit(golden.train());
        EXPECT_NEAR(ridge.penalty(), golden.expected.at("penalty").get<double>(), 1e-9 * ridge.penalty())
            << golden.name;
        const Json& errors = golden.expected.at("leave_one_out_errors");
        ASSERT_EQ(ridge.leave_one_out_errors().size(), errors.size());
        for (std::size_t p = 0; p < errors.size(); ++p)
            EXPECT_NEAR(ridge.leave_one_out_errors()[p] / errors[p].get<double>(), 1, 1e-6)
                << golden.name << ", penalty " << p;
        golden.expect_predictions(ridge, golden.expected.at("predictions"), 1e-8);
    }
}

TEST(Ridge, PredictsLikeScikitLearnForAGivenPenalty) {
    for (const GoldenCase& golden : golden_cases())
        for (const auto& [penalty, predictions] : golden.expected.at("fixed_penalty_predictions").items()) {
            const std::array one{std::stod(penalty)};
            golden.expect_predictions(Ridge::fit(golden.train(), one), predictions, 1e-8);
        }
}

TEST(Ridge, HandlesConstantTargetsAndASingleRow) {
    const std::vector<float> inputs{1, 2, 3, 4, 5, 7}, same{2, 2, 2};
    for (const double value : Ridge::fit({inputs, 2, same}).predict(inputs))
        EXPECT_DOUBLE_EQ(value, 2);
    const std::vector<float> row{1, 2}, target{3};
    EXPECT_DOUBLE_EQ(Ridge::fit({row, 2, target}).predict(row)[0], 3);
}

/// Returns r(t) = 0.5 r(t-1) + noise, and features: the last return, and noise.
struct PlantedReturns {
    static constexpr std::size_t rows = 1500, train_rows = 1000, columns = 6;
    std::vector<float> inputs, returns;

    PlantedReturns() {
        PhiloxStream random(3, RandomPurpose::test);
        double last = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            inputs.push_back(static_cast<float>(last));
            for (std::size_t j = 1; j < columns; ++j)
                inputs.push_back(static_cast<float>(random.next_normal()));
            last = 0.5 * last + 0.01 * random.next_normal();
            returns.push_back(static_cast<float>(last));
        }
    }
    RidgeRows train() const {
        return {std::span(inputs).first(train_rows * columns), columns, std::span(returns).first(train_rows)};
    }
    std::vector<double> ridge() const {
        return Ridge::fit(train()).predict(std::span(inputs).subspan(train_rows * columns));
    }
    std::vector<double> actual() const { return {returns.begin() + train_rows, returns.end()}; }
    /// The return before each validation row.
    std::vector<double> previous() const { return {returns.begin() + train_rows - 1, returns.end() - 1}; }
};

Evaluation evaluate(const PlantedReturns& planted, const std::vector<double>& predicted) {
    const auto ridge = planted.ridge();
    return evaluate_returns(predicted, planted.actual(), planted.previous(), 0.5,
                            {"return", 1, 1, "the last bar's return", ridge});
}

const Score& score_named(const Evaluation& evaluation, const std::string& name) {
    const auto found = std::ranges::find(evaluation.scores, name, &Score::name);
    if (found == evaluation.scores.end())
        throw std::runtime_error("no score " + name);
    return *found;
}

/// The returns times a factor, with noise that does not help.
std::vector<double> scaled_previous(const PlantedReturns& planted, double factor, double noise) {
    PhiloxStream random(8, RandomPurpose::test);
    std::vector<double> result = planted.previous();
    for (double& value : result)
        value = factor * value + noise * random.next_normal();
    return result;
}

TEST(RidgeScores, PlantedReturnsAreFoundAndTheVerdictSaysSo) {
    const PlantedReturns planted;
    const Evaluation result = evaluate(planted, std::vector<double>(planted.actual().size(), 0.0));
    const Score& ridge = score_named(result, "squared error reduction of ridge regression");
    EXPECT_NEAR(ridge.value, 25, 6) << "0.5² of the variance is predictable";
    EXPECT_GT(ridge.interval.low, ridge.baseline);
    EXPECT_LT(score_named(result, "squared error reduction vs. ridge regression").interval.high, 0);
    EXPECT_GT(score_named(result, "direction hit rate of ridge regression").value, 60);
    EXPECT_FALSE(result.has_edge);
    EXPECT_EQ(result.verdict.label, "No edge");
    EXPECT_TRUE(result.verdict.headline().ends_with("; ridge regression on the same features does."))
        << result.verdict.headline();
}

TEST(RidgeScores, VerdictNamesRidgeWhenTheNetworkHasLessOfAnEdge) {
    const PlantedReturns planted;
    const Evaluation result = evaluate(planted, scaled_previous(planted, 0.2, 0.001));
    EXPECT_TRUE(result.has_edge);
    EXPECT_TRUE(result.verdict.headline().ends_with(
        ", but ridge regression on the same features predicts it better still."))
        << result.verdict.headline();
    EXPECT_NE(result.verdict.text().find("Ridge regression on the same features reaches "),
              std::string::npos);
}

TEST(RidgeScores, AnEqualModelIsNotSaidToBeWorse) {
    const PlantedReturns planted;
    const std::string equal = evaluate(planted, scaled_previous(planted, 0.5, 0)).verdict.text();
    EXPECT_NE(equal.find("the difference may be chance"), std::string::npos) << equal;
    EXPECT_EQ(equal.find("predicts it better still"), std::string::npos) << equal;
    std::vector<double> perfect = planted.actual();
    const std::string better = evaluate(planted, perfect).verdict.text();
    EXPECT_NE(better.find("better by more than chance"), std::string::npos) << better;
}

TEST(RidgeScores, DirectionsAreComparedByAccuracy) {
    const PlantedReturns planted;
    std::vector<float> rises;
    for (const float value : planted.returns)
        rises.push_back(value > 0 ? 1.0f : 0.0f);
    const auto train = planted.train();
    const auto ridge = Ridge::fit({train.inputs, train.columns, std::span(rises).first(planted.train_rows)})
                           .predict(std::span(planted.inputs).subspan(planted.train_rows * planted.columns));
    const std::vector<double> actual(rises.begin() + planted.train_rows, rises.end());
    const std::vector<double> guess(actual.size(), 0.5), previous(actual.size(), 1.0);
    const Evaluation result = evaluate_probabilities(guess, actual, previous, 0.5,
                                                     {"direction", 1, 1, "the last direction", ridge});
    double hits = 0;
    for (std::size_t i = 0; i < actual.size(); ++i)
        hits += (ridge[i] > 0.5) == (actual[i] > 0.5);
    EXPECT_NEAR(score_named(result, "accuracy of ridge regression").value,
                100 * hits / static_cast<double>(actual.size()), 1e-9);
    EXPECT_GT(hits / static_cast<double>(actual.size()), 0.6);
    EXPECT_LT(score_named(result, "accuracy minus that of ridge regression").interval.high, 0);
    EXPECT_TRUE(result.verdict.headline().ends_with("; ridge regression on the same features does."))
        << result.verdict.headline();
}

// ---------------------------------------------------------------------------------------- whole runs

class RidgeRunTest : public RunTest {
  protected:
    /// Daily bars whose returns follow r(t) = 0.5 r(t-1) + noise.
    static std::vector<std::string> planted_lines(int sessions) {
        PhiloxStream random(4, RandomPurpose::test);
        std::vector<std::string> lines{"Date,Open,High,Low,Close,Volume"};
        std::chrono::sys_days day = std::chrono::year(2015) / 1 / 5;
        double close = 400, last = 0;
        for (; static_cast<int>(lines.size()) <= sessions; day += std::chrono::days(1)) {
            if (std::chrono::weekday(day).iso_encoding() > 5)
                continue;
            const double open = close;
            last = 0.5 * last + 0.01 * random.next_normal();
            close *= std::exp(last);
            const std::chrono::year_month_day date(day);
            char line[128];
            std::snprintf(line, sizeof line, "%04d-%02u-%02u,%.2f,%.2f,%.2f,%.2f,%u", int(date.year()),
                          unsigned(date.month()), unsigned(date.day()), open, 1.004 * std::max(open, close),
                          0.996 * std::min(open, close), close, 100000 + random.next_below(50000));
            lines.emplace_back(line);
        }
        return lines;
    }
};

/// The program's own features carry the planted return, and every table shows what ridge makes of them.
TEST_F(RidgeRunTest, PlantedSeriesIsFoundFromTheProgramsFeatures) {
    write_lines(bars(), planted_lines(1200));
    TrainConfig settings = config();
    settings.epochs = 1;
    const TrainOutcome outcome = run(settings);
    const Json details =
        Json::parse(read_file(outcome.run_folder / "best_model_metadata.json")).at("rekindle");
    double of_ridge = 0;
    for (const Json& score : details.at("evaluation").at("scores"))
        if (score.at("name") == "squared error reduction of ridge regression")
            of_ridge = score.at("value");
    EXPECT_NEAR(of_ridge, 25, 12);
    EXPECT_TRUE(contains(outcome.verdict, "idge regression on the same features")) << outcome.verdict;
    EXPECT_TRUE(std::ranges::any_of(outcome.score_lines, [](const std::string& line) {
        return line.starts_with("squared error reduction of ridge regression");
    }));
    EXPECT_TRUE(contains(read_file(outcome.report), "squared error reduction of ridge regression"));
}

TEST_F(RidgeRunTest, EveryTargetNamesItsPreviousOutcome) {
    const auto scores = [&](market::TargetKind target, std::int64_t ahead) {
        TrainConfig settings = config();
        settings.epochs = 1;
        settings.target = target;
        settings.target_bars = ahead;
        std::string text;
        for (const std::string& line : run(settings).score_lines)
            text += line + "\n";
        return text;
    };
    using Kind = market::TargetKind;
    EXPECT_TRUE(contains(scores(Kind::next_return, 5), "vs. the last session's return"));
    EXPECT_TRUE(contains(scores(Kind::direction, 5), "(the last session's direction)"));
    EXPECT_TRUE(contains(scores(Kind::bar_return, 5), "vs. the last 5-session return"));
    EXPECT_TRUE(contains(scores(Kind::bar_return, 1), "vs. the last session's return"));
}

} // namespace
} // namespace rekindle::trainer
