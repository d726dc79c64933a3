#include <rekindle/base/philox.h>
#include <rekindle/trainer/scores.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

namespace rekindle::trainer {
namespace {

struct Rows {
    std::vector<double> predicted, actual, yesterday;
};

/// Returns of 1 % standard deviation; the prediction holds `signal` of the outcome.
Rows returns_with_signal(std::size_t rows, double signal, std::uint64_t seed) {
    PhiloxStream random(seed, RandomPurpose::test);
    Rows result;
    double last = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        const double outcome = 0.01 * random.next_normal();
        result.predicted.push_back(signal * outcome + 0.002 * (1 - signal) * random.next_normal());
        result.actual.push_back(outcome);
        result.yesterday.push_back(last);
        last = outcome;
    }
    return result;
}

TEST(Scores, CallNoiseNoEdge) {
    int edges = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Rows rows = returns_with_signal(300, 0, seed);
        edges +=
            evaluate_returns(rows.predicted, rows.actual, rows.yesterday, 0.5, {"return", 1, seed}).has_edge;
    }
    EXPECT_LE(edges, 2); // a one-sided 2.5 % error rate
}

TEST(Scores, FindAnEdgeThatIsThere) {
    const Rows rows = returns_with_signal(300, 0.5, 7);
    const Evaluation result =
        evaluate_returns(rows.predicted, rows.actual, rows.yesterday, 0.5, {"return", 1, 7});
    EXPECT_TRUE(result.has_edge);
    double model = 0, zero = 0;
    for (std::size_t i = 0; i < rows.actual.size(); ++i) {
        model += std::pow(rows.actual[i] - rows.predicted[i], 2);
        zero += std::pow(rows.actual[i], 2);
    }
    EXPECT_NEAR(result.scores[0].value, 100 * (1 - model / zero), 1e-9);
    EXPECT_TRUE(result.scores[0].interval.contains(result.scores[0].value));
}

TEST(Scores, RefuseToJudgeFewRows) {
    const Rows rows = returns_with_signal(29, 1, 1);
    const Evaluation result =
        evaluate_returns(rows.predicted, rows.actual, rows.yesterday, 0.5, {"return", 1, 1});
    EXPECT_FALSE(result.has_edge);
    EXPECT_NE(result.verdict.find("Too little to tell: 29"), std::string::npos);
}

TEST(Scores, ProbabilitiesStandBesideTheMajority) {
    std::vector<double> probability, actual, yesterday;
    for (int i = 0; i < 200; ++i) {
        actual.push_back(i % 5 != 0);
        probability.push_back(0.9);
        yesterday.push_back(i % 2);
    }
    const Evaluation result =
        evaluate_probabilities(probability, actual, yesterday, 0.8, {"direction", 1, 3});
    EXPECT_DOUBLE_EQ(result.scores[1].value, 80);
    EXPECT_DOUBLE_EQ(result.scores[1].baseline, 80);
    EXPECT_DOUBLE_EQ(result.scores[3].value, 0);
    EXPECT_LT(result.scores[0].value, 0) << "overconfident, so worse than the base rate";
    EXPECT_FALSE(result.has_edge);
}

TEST(Scores, LongerOverlapWidensTheInterval) {
    std::vector<double> predicted, actual, yesterday;
    PhiloxStream random(5, RandomPurpose::test);
    double level = 0;
    for (int i = 0; i < 2000; ++i) { // neighbouring rows share nearly all of their outcome
        level = 0.99 * level + 0.01 * random.next_normal();
        actual.push_back(level);
        predicted.push_back(0.3 * level + 0.01);
        yesterday.push_back(0);
    }
    const auto width = [&](std::int64_t overlap) {
        const Score score =
            evaluate_returns(predicted, actual, yesterday, 0.5, {"return", overlap, 1}).scores[0];
        return score.interval.high - score.interval.low;
    };
    EXPECT_GT(width(200), 1.5 * width(1));
}

TEST(Scores, RoundTripThroughJson) {
    const Rows rows = returns_with_signal(100, 0.2, 4);
    const Evaluation result =
        evaluate_returns(rows.predicted, rows.actual, rows.yesterday, 0.4, {"return", 1, 4});
    nlohmann::ordered_json json, again;
    to_json(json, result);
    Evaluation read;
    from_json(nlohmann::ordered_json::parse(json.dump()), read);
    to_json(again, read);
    EXPECT_EQ(json.dump(), again.dump());
}

} // namespace
} // namespace rekindle::trainer
