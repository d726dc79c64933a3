/// Logistic regression against scikit-learn (make_logistic_golden.py).

#include "../run_fixture.h"

#include <rekindle/trainer/logistic.h>

#include <cmath>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

Json golden_file(const char* name) {
    return Json::parse(read_file(fs::path(REKINDLE_TEST_DATA) / name));
}

/// The inputs of ridge.json, with 1 for a target above the median.
struct LogisticCase {
    LogisticCase(const Json& ridge, double median)
        : columns(ridge.at("columns")), train_rows(ridge.at("train_rows")),
          inputs(ridge.at("inputs").get<std::vector<float>>()) {
        for (const double target : ridge.at("targets").get<std::vector<float>>())
            rises.push_back(target > median ? 1.0f : 0.0f);
    }
    RidgeRows train() const {
        return {std::span(inputs).first(train_rows * columns), columns, std::span(rises).first(train_rows)};
    }

    std::size_t columns, train_rows;
    std::vector<float> inputs, rises;
};

LogisticCase case_of(const Json& golden) {
    for (const Json& ridge : golden_file("ridge.json"))
        if (ridge.at("name") == golden.at("name"))
            return {ridge, golden.at("median")};
    throw internal_error("ridge.json lacks the case");
}

TEST(Logistic, PredictsLikeScikitLearn) {
    std::size_t compared = 0;
    for (const Json& golden : golden_file("logistic.json")) {
        const LogisticCase rows = case_of(golden);
        for (const auto& [penalty, predictions] : golden.at("predictions").items()) {
            const std::array one{std::stod(penalty)};
            const auto values = Logistic::fit(rows.train(), one).predict(rows.inputs);
            ASSERT_EQ(values.size(), predictions.size());
            for (std::size_t row = 0; row < values.size(); ++row, ++compared)
                EXPECT_NEAR(values[row], predictions[row].get<double>(), 1e-6) << golden.at("name");
        }
    }
    EXPECT_GT(compared, 100U);
}

TEST(Logistic, LeaveOneOutLossIsCloseToThatOfFitsWithoutEachRow) {
    for (const Json& golden : golden_file("logistic.json")) {
        const LogisticCase rows = case_of(golden);
        const std::array both{0.5, 20.0};
        const auto losses = Logistic::fit(rows.train(), both).leave_one_out_losses();
        for (std::size_t p = 0; p < both.size(); ++p) {
            const double exact = golden.at("leave_one_out_losses").at(both[p] == 0.5 ? "0.5" : "20.0");
            EXPECT_NEAR(losses[p], exact, 0.06 * exact) << golden.at("name") << ", penalty " << both[p];
        }
    }
}

TEST(Logistic, HandlesConstantTargetsAndColumns) {
    const std::vector<float> inputs{1, 2, 3, 2, 5, 2}, rises{1, 1, 1};
    for (const double p : Logistic::fit({inputs, 2, rises}).predict(inputs)) {
        EXPECT_GT(p, 0.9);
        EXPECT_LE(p, 1);
    }
    const std::vector<float> mixed{1, 0, 1};
    for (const double p : Logistic::fit({inputs, 2, mixed}).predict(inputs))
        EXPECT_TRUE(p > 0 && p < 1) << p;
}

/// The verdict compares a probability with logistic regression, not with the share of hits alone.
TEST_F(RunTest, DirectionsAreComparedWithLogisticRegression) {
    write_lines(bars(), daily_lines(300));
    TrainConfig settings = config();
    settings.target = market::TargetKind::direction;
    settings.epochs = 1;
    const TrainOutcome outcome = run(settings);
    const auto line = [&](std::string_view name) {
        return std::ranges::any_of(outcome.score_lines,
                                   [&](const std::string& one) { return one.starts_with(name); });
    };
    EXPECT_TRUE(line("log loss reduction of logistic regression"));
    EXPECT_TRUE(line("log loss reduction vs. logistic regression"));
    EXPECT_TRUE(contains(outcome.verdict, "ogistic regression on the same features"));
}

} // namespace
} // namespace rekindle::trainer
