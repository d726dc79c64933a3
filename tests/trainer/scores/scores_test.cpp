#include <rekindle/base/philox.h>
#include <rekindle/trainer/scores.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace rekindle::trainer {
namespace {

struct Rows {
    std::vector<double> predicted, actual, yesterday;
};

/// Returns with a std of 1 %; the prediction contains the share `signal` of the outcome.
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

TEST(Scores, FindNoEdgeInNoise) {
    int edges = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Rows rows = returns_with_signal(300, 0, seed);
        edges +=
            evaluate_returns(rows.predicted, rows.actual, rows.yesterday, 0.5, {"return", 1, seed}).has_edge;
    }
    EXPECT_LE(edges, 2); // a one-sided 2.5 % error rate
}

TEST(Scores, FindARealEdge) {
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
    EXPECT_TRUE(result.verdict.text().starts_with("Too few rows to tell: 29"));
    EXPECT_TRUE(result.verdict.headline().starts_with("29 validation rows, but"));
}

TEST(Scores, ProbabilitiesAreComparedWithTheMajority) {
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
    for (int i = 0; i < 2000; ++i) { // neighboring rows share nearly all of their outcome
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

TEST(Scores, FlatOutcomeIsNeitherHitNorMiss) {
    //                                    hit, miss, flat, flat, hit, says nothing
    const std::vector<double> predicted{0.01, 0.01, 0.01, -0.01, -0.01, 0};
    const std::vector<double> actual{0.02, -0.02, 0, 0, -0.01, 0.01};
    const std::vector<double> yesterday(actual.size(), 0);
    const Evaluation result = evaluate_returns(predicted, actual, yesterday, 0.6, {"return", 1, 1});
    const Score& rate = result.scores.at(3);
    EXPECT_EQ(rate.name, "direction hit rate");
    EXPECT_DOUBLE_EQ(rate.value, 100 * 2.5 / 4);
    EXPECT_DOUBLE_EQ(rate.baseline, 50) << "two rises and two falls";
    EXPECT_EQ(rate.baseline_name, "always up, the training majority");
}

TEST(Scores, FlatRowsChangeNeitherTheHitRateNorItsBaseline) {
    Rows rows = returns_with_signal(200, 0.3, 9);
    const auto rate = [&] {
        return evaluate_returns(rows.predicted, rows.actual, rows.yesterday, 0.4, {"return", 1, 1})
            .scores.at(3);
    };
    const Score before = rate();
    for (int i = 0; i < 300; ++i) {
        rows.predicted.push_back(i % 2 == 0 ? 0.01 : -0.01);
        rows.actual.push_back(0);
        rows.yesterday.push_back(0);
    }
    EXPECT_DOUBLE_EQ(rate().value, before.value);
    EXPECT_DOUBLE_EQ(rate().baseline, before.baseline);
}

TEST(Scores, NoHitRateWithoutMoves) {
    const std::vector<double> zeros(40, 0), predicted(40, 0.01);
    const Evaluation result = evaluate_returns(predicted, zeros, zeros, 0.5, {"return", 1, 1});
    for (const Score& score : result.scores)
        EXPECT_NE(score.name, "direction hit rate");
}

/// Values of all kinds that data and diverged networks produce.
double extreme(PhiloxStream& random) {
    constexpr std::array values{0.0, 1e-300, -1e-300, 1e-12, -1e-12, 1e-3,  -1e-3,
                                1.0, -1.0,   1e6,     -1e6,  1e150,  -1e150};
    const std::uint32_t choice = random.next_below(20);
    return choice < values.size() ? values[choice] : 0.01 * random.next_normal();
}

void expect_values_in_intervals(const Evaluation& evaluation, const std::string& what) {
    for (const Score& score : evaluation.scores) {
        if (std::isnan(score.value))
            continue;
        EXPECT_TRUE(score.interval.contains(score.value))
            << what << ": " << score.name << " " << score.value << " in " << score.interval.low << " to "
            << score.interval.high;
    }
}

TEST(Scores, EveryValueLiesInItsInterval) {
    PhiloxStream random(11, RandomPurpose::test);
    for (int trial = 0; trial < 300; ++trial) {
        const std::size_t rows = 1 + random.next_below(trial % 3 == 0 ? 5 : 150);
        const bool calm = trial % 2 == 0;
        Rows data;
        std::vector<double> labels, shares;
        for (std::size_t i = 0; i < rows; ++i) {
            for (auto* column : {&data.predicted, &data.actual, &data.yesterday})
                column->push_back(calm ? 0.01 * random.next_normal() : extreme(random));
            labels.push_back(random.next_below(calm ? 2 : 50) == 0 ? 1 : 0);
            constexpr std::array sure{0.0, 1.0, 0.5, 1e-300, 1 - 1e-16};
            const std::uint32_t choice = random.next_below(10);
            shares.push_back(choice < sure.size() ? sure[choice] : 0.1 * random.next_below(11));
        }
        const std::string what = "trial " + std::to_string(trial) + ", " + std::to_string(rows) + " rows";
        const EvaluationContext context{"target", 1 + static_cast<std::int64_t>(random.next_below(12)),
                                        static_cast<std::uint64_t>(trial)};
        const double share_up = 0.1 * random.next_below(11);
        const Evaluation returns =
            evaluate_returns(data.predicted, data.actual, data.yesterday, share_up, context);
        const Evaluation probabilities = evaluate_probabilities(shares, labels, labels, share_up, context);
        expect_values_in_intervals(returns, what);
        expect_values_in_intervals(probabilities, what);
        for (int i = 0; i < 20; ++i) {
            const double value = extreme(random);
            const Interval of_return = prediction_interval(returns, false, value);
            EXPECT_TRUE(of_return.contains(value)) << what << ": " << value;
            const double probability = i % 2 == 0 ? shares[static_cast<std::size_t>(i) % rows] : 0.05 * i;
            const Interval of_share = prediction_interval(probabilities, true, probability);
            EXPECT_TRUE(of_share.contains(probability)) << what << ": " << probability;
            EXPECT_GE(of_share.low, 0);
            EXPECT_LE(of_share.high, 1);
        }
    }
}

/// An outlier must not cost the rows after it their digits.
TEST(Scores, OneHugeRowKeepsTheIntervalOfTheOthersExact) {
    std::vector<double> predicted(500, 0), actual, yesterday(500, 0);
    for (std::size_t i = 0; i < predicted.size(); ++i)
        actual.push_back(0.01 * (i % 2 == 0 ? 1 : -1));
    actual[3] = 1e9;
    const Score error = evaluate_returns(predicted, actual, yesterday, 0.5, {"return", 1, 1}).scores[2];
    // About a third of the samples do not contain the row, so their mean error is exactly that of the others,
    // 1 %.
    EXPECT_NEAR(error.interval.low, 1, 1e-9);
}

TEST(Scores, OverconfidentProbabilityLiesInItsInterval) {
    std::vector<double> probability, actual, yesterday;
    for (int i = 0; i < 200; ++i) {
        probability.push_back(0.95);
        actual.push_back(i % 2);
        yesterday.push_back(0);
    }
    const Evaluation result =
        evaluate_probabilities(probability, actual, yesterday, 0.5, {"direction", 1, 3});
    const Interval interval = prediction_interval(result, true, 0.95);
    EXPECT_EQ(interval.high, 0.95);
    EXPECT_LT(interval.low, 0.5) << "it also contains the actual outcomes";
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
