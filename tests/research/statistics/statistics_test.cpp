/// The statistics against other packages (make_golden.py), published examples, and simulations.

#include <rekindle/base/philox.h>
#include <rekindle/foundation/file.h>
#include <rekindle/research/bootstrap.h>
#include <rekindle/research/multiple_testing.h>
#include <rekindle/research/overfitting.h>
#include <rekindle/research/sharpe.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>

namespace rekindle::research {
namespace {

using Json = nlohmann::json;

const Json& golden() {
    static const Json json =
        Json::parse(read_file(std::filesystem::path(REKINDLE_TEST_DATA) / "statistics.json"));
    return json;
}

ThreadPool& threads() {
    static ThreadPool pool(2);
    return pool;
}

double mean(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> normal_returns(std::size_t count, std::uint32_t series, double average = 0) {
    PhiloxStream random(1, RandomPurpose::test, series);
    std::vector<double> values(count);
    for (double& value : values)
        value = average + random.next_normal();
    return values;
}

TEST(Sharpe, EqualsHoldout) {
    const std::array benchmarks{0.0, 0.05, -0.1};
    const std::array<std::pair<std::size_t, double>, 4> trials{
        {{1, 0.01}, {2, 0.002}, {10, 0.002}, {1000, 0.0005}}};
    for (const Json& one : golden().at("series")) {
        SCOPED_TRACE(one.at("name"));
        const auto returns = one.at("returns").get<std::vector<double>>();
        const SharpeEstimate estimate = estimate_sharpe(returns).value();
        EXPECT_NEAR(estimate.ratio, one.at("ratio"), 1e-12);
        EXPECT_NEAR(estimate.skewness, one.at("skewness"), 1e-10);
        EXPECT_NEAR(estimate.kurtosis, one.at("kurtosis"), 1e-9);
        for (std::size_t i = 0; i < benchmarks.size(); ++i)
            EXPECT_NEAR(probabilistic_sharpe_ratio(estimate, benchmarks[i]), one.at("probabilistic")[i],
                        1e-12);
        for (std::size_t i = 0; i < trials.size(); ++i)
            EXPECT_NEAR(deflated_sharpe_ratio(estimate, trials[i].first, trials[i].second),
                        one.at("deflated")[i], 1e-12);
        const Expected<double> length = minimum_track_record_length(estimate);
        ASSERT_EQ(length.has_value(), one.contains("minimum_length"));
        if (length) {
            EXPECT_NEAR(*length, one.at("minimum_length"), 1e-9 * *length);
        }
    }
}

TEST(Sharpe, DeflatesThePublishedExample) {
    // Bailey and López de Prado (2014): annual ratio 2.5 over five years of 250 days, skewness -3, kurtosis
    // 10, 100 trials whose annual ratios have the variance 1/2.
    const SharpeEstimate estimate{
        .periods = 1250, .ratio = 2.5 / std::sqrt(250), .skewness = -3, .kurtosis = 10};
    EXPECT_NEAR(expected_maximum_sharpe(100, 0.5 / 250), 0.1132, 5e-5);
    EXPECT_NEAR(deflated_sharpe_ratio(estimate, 100, 0.5 / 250), 0.9004, 5e-5);
    EXPECT_NEAR(deflated_sharpe_ratio(estimate, 46, 0.5 / 250), 0.9505, 5e-5);
}

TEST(Sharpe, ExpectsHigherRatiosFromMoreTrials) {
    for (const Json& one : golden().at("expected_maximum"))
        EXPECT_NEAR(expected_maximum_sharpe(one[0].get<std::size_t>(), 1), one[1],
                    1e-4 * one[1].get<double>());
    double sum = 0; // the mean of the largest of 100 estimates of series without skill
    constexpr std::uint32_t repetitions = 100;
    for (std::uint32_t r = 0; r < repetitions; ++r) {
        double best = -1;
        for (std::uint32_t trial = 0; trial < 100; ++trial)
            best = std::max(best, estimate_sharpe(normal_returns(250, 1000 + 100 * r + trial)).value().ratio);
        sum += best / repetitions;
    }
    EXPECT_NEAR(sum, expected_maximum_sharpe(100, sharpe_variance_without_skill(250)), 0.006);
}

TEST(Sharpe, IsRefusedWhereItSaysNothing) {
    EXPECT_FALSE(estimate_sharpe(std::vector<double>{0.1}));
    EXPECT_FALSE(estimate_sharpe(std::vector<double>(50, 0.1)));
    EXPECT_FALSE(estimate_sharpe(std::vector<double>(50, 0.0)));
    EXPECT_THROW(estimate_sharpe(std::vector<double>{0.1, std::nan("")}), Error);
    const auto losing = estimate_sharpe(normal_returns(100, 1, -0.5)).value();
    EXPECT_FALSE(minimum_track_record_length(losing));
}

TEST(Sharpe, AggregatesAutocorrelatedReturnsLikeHoldout) {
    for (const Json& one : golden().at("series")) {
        SCOPED_TRACE(one.at("name"));
        const auto returns = one.at("returns").get<std::vector<double>>();
        const auto correlations = autocorrelations(returns, 11);
        for (std::size_t lag = 0; lag < correlations.size(); ++lag)
            EXPECT_NEAR(correlations[lag], one.at("autocorrelations")[lag], 1e-10);
        EXPECT_NEAR(sharpe_aggregation_factor(12, correlations).value(), one.at("factor_of_12"), 1e-10);
    }
    EXPECT_DOUBLE_EQ(sharpe_aggregation_factor(12, {}).value(), std::sqrt(12.0));
    EXPECT_FALSE(sharpe_aggregation_factor(12, std::vector<double>{-0.9}));
    // Lo (2002), equation 22: an autoregression of order one with the coefficient 0.2.
    std::vector<double> powers(11);
    for (std::size_t lag = 1; lag <= powers.size(); ++lag)
        powers[lag - 1] = std::pow(0.2, lag);
    const double published =
        std::sqrt(12.0) / std::sqrt(1 + 2 * 0.2 / 0.8 * (1 - (1 - std::pow(0.2, 12)) / (12 * 0.8)));
    EXPECT_NEAR(sharpe_aggregation_factor(12, powers).value(), published, 1e-12);
}

TEST(Bootstrap, ChoosesTheBlockLengthOfHoldout) {
    std::size_t equal_to_arch = 0;
    for (const Json& one : golden().at("series")) {
        const auto returns = one.at("returns").get<std::vector<double>>();
        const double length = optimal_block_length(returns).value();
        EXPECT_NEAR(length, one.at("block_length"), 1e-9) << one.at("name");
        equal_to_arch += std::abs(length - one.at("block_length_of_arch").get<double>()) < 1e-9 ? 1 : 0;
    }
    // In the others, arch differs: it estimates autocorrelations from fewer rows and includes the lag that
    // ends the search.
    EXPECT_EQ(equal_to_arch, 3u);
    EXPECT_FALSE(optimal_block_length(std::vector<double>(100, 1.0)));
    EXPECT_FALSE(optimal_block_length(normal_returns(15, 2)));
}

TEST(Bootstrap, ResamplesInBlocksOfTheGivenLength) {
    constexpr std::size_t rows = 1000;
    std::vector<std::size_t> drawn(rows);
    double ends = 0;
    constexpr std::uint32_t replicates = 400;
    for (std::uint32_t replicate = 0; replicate < replicates; ++replicate) {
        const auto sample = stationary_resample(rows, 8, 5, replicate);
        for (std::size_t i = 0; i < rows; ++i) {
            ++drawn[sample[i]];
            ends += i > 0 && sample[i] != (sample[i - 1] + 1) % rows ? 1 : 0;
        }
    }
    EXPECT_NEAR(ends / (replicates * rows), 1.0 / 8, 0.003);
    for (const std::size_t count : drawn) // all rows are equally likely, but blocks inflate the variance
        EXPECT_NEAR(static_cast<double>(count), replicates, 8 * std::sqrt(replicates));
    EXPECT_EQ(stationary_resample(rows, 8, 5, 3), stationary_resample(rows, 8, 5, 3));
    EXPECT_NE(stationary_resample(rows, 8, 5, 3), stationary_resample(rows, 8, 6, 3));
}

TEST(Bootstrap, GivesTheIntervalOfArch) {
    for (const Json& one : golden().at("series")) {
        const auto returns = one.at("returns").get<std::vector<double>>();
        const Json& expected = one.at("mean_interval");
        const BootstrapInterval own =
            bootstrap_interval(returns, mean,
                               {.block_length = expected.at("block_length"), .replicates = 20000})
                .value();
        const double width =
            expected.at("interval")[1].get<double>() - expected.at("interval")[0].get<double>();
        // Both have a Monte Carlo error of about 0.7 % of the width.
        EXPECT_NEAR(own.interval.low, expected.at("interval")[0], 0.03 * width) << one.at("name");
        EXPECT_NEAR(own.interval.high, expected.at("interval")[1], 0.03 * width) << one.at("name");
    }
}

TEST(Bootstrap, GivesNoIntervalForTooFewPeriods) {
    EXPECT_FALSE(bootstrap_interval(normal_returns(29, 3), mean));
    EXPECT_TRUE(bootstrap_interval(normal_returns(60, 3), mean, {.block_length = 6}));
    EXPECT_FALSE(bootstrap_interval(normal_returns(60, 3), mean, {.block_length = 6.1}));
    EXPECT_FALSE(bootstrap_interval(std::vector<double>(60, 1.0), mean));
    EXPECT_FALSE(
        bootstrap_interval(normal_returns(60, 3), [](auto) { return std::nan(""); }, {.block_length = 2}));
}

TEST(Bootstrap, CoversTheMeanOfAnAutoregression) {
    constexpr int series = 300;
    int covered = 0;
    for (std::uint32_t i = 0; i < series; ++i) {
        std::vector<double> values = normal_returns(400, 5000 + i);
        for (std::size_t k = 1; k < values.size(); ++k)
            values[k] += 0.5 * values[k - 1];
        covered +=
            bootstrap_interval(values, mean, {.replicates = 400, .seed = i}).value().interval.contains(0);
    }
    EXPECT_GE(covered,
              series * 87 / 100); // 95 % nominally; percentile intervals of dependent data are a little short
    EXPECT_LE(covered, series * 98 / 100);
}

TEST(Overfitting, EqualsHoldout) {
    for (const Json& one : golden().at("panels")) {
        SCOPED_TRACE(one.at("name"));
        const auto returns = one.at("returns").get<std::vector<double>>();
        const Overfitting own = probability_of_overfitting({returns, one.at("strategies").get<std::size_t>()},
                                                           one.at("blocks"), threads())
                                    .value();
        EXPECT_EQ(own.splits, one.at("splits"));
        EXPECT_NEAR(own.probability, one.at("overfitting"), 1e-12);
        EXPECT_NEAR(own.probability_of_loss, one.at("loss"), 1e-12);
        for (std::size_t i = 0; i < one.at("first_logits").size(); ++i)
            EXPECT_NEAR(own.logits[i], one.at("first_logits")[i], 1e-9) << i;
        EXPECT_NEAR(std::accumulate(own.logits.begin(), own.logits.end(), 0.0), one.at("logit_sum"), 1e-6);
        EXPECT_NEAR(std::accumulate(own.chosen.begin(), own.chosen.end(), 0.0), one.at("inside_sum"), 1e-8);
        EXPECT_NEAR(std::accumulate(own.outside.begin(), own.outside.end(), 0.0), one.at("outside_sum"),
                    1e-8);
    }
}

TEST(Overfitting, AcceptsStrategiesWithoutATrade) {
    std::vector<double> returns;
    for (const double value : normal_returns(200, 9, 0.5))
        returns.insert(returns.end(), {value, 0.0, -value});
    const Overfitting own = probability_of_overfitting({returns, 3}, 10, threads()).value();
    EXPECT_EQ(own.probability, 0);
    EXPECT_FALSE(probability_of_overfitting({std::span(returns).first(9), 3}, 2, threads()));
    EXPECT_FALSE(probability_of_overfitting({std::span(returns).first(200), 1}, 10, threads()));
    EXPECT_THROW(probability_of_overfitting({returns, 3}, 7, threads()), Error);
    EXPECT_THROW(probability_of_overfitting({returns, 3}, 22, threads()), Error);
}

TEST(SuperiorAbility, EqualsHoldout) {
    for (const Json& one : golden().at("panels")) {
        SCOPED_TRACE(one.at("name"));
        const auto returns = one.at("returns").get<std::vector<double>>();
        const Panel panel{returns, one.at("strategies").get<std::size_t>()};
        const BootstrapOptions options{.block_length = 4, .replicates = 20000, .seed = 11};
        const StrategyTests tests = test_strategies(panel, options, threads()).value();
        const SuperiorAbility& own = tests.superior;
        EXPECT_EQ(own.best, one.at("best"));
        EXPECT_NEAR(own.statistic, one.at("statistic"), 0.04); // the standard error comes from the replicates
        EXPECT_NEAR(own.lower, one.at("p_values")[0], 0.012);
        EXPECT_NEAR(own.p_value, one.at("p_values")[1], 0.012);
        EXPECT_NEAR(own.upper, one.at("p_values")[2], 0.012);
        for (std::size_t s = 0; s < tests.stepdown.size(); ++s)
            EXPECT_NEAR(tests.stepdown[s], one.at("stepdown")[s], 0.012) << s;
    }
}

TEST(SuperiorAbility, RarelyFindsSkillWhereThereIsNone) {
    constexpr std::uint32_t panels = 200;
    std::size_t any = 0, stepdown = 0;
    for (std::uint32_t i = 0; i < panels; ++i) {
        const auto returns = normal_returns(120 * 20, 20000 + i);
        const BootstrapOptions options{.replicates = 300, .seed = i};
        const StrategyTests tests = test_strategies({returns, 20}, options, threads()).value();
        any += tests.superior.p_value <= 0.05 ? 1 : 0;
        stepdown += std::ranges::min(tests.stepdown) <= 0.05 ? 1 : 0;
    }
    EXPECT_LE(any, panels * 10 / 100);
    EXPECT_LE(stepdown, panels * 10 / 100);
}

TEST(SuperiorAbility, LeavesOutStrategiesWithoutADifference) {
    std::vector<double> returns;
    for (const double value : normal_returns(200, 12, 0.4))
        returns.insert(returns.end(), {0.0, value});
    const StrategyTests tests = test_strategies({returns, 2}, {}, threads()).value();
    EXPECT_EQ(tests.stepdown[0], 1);
    EXPECT_LT(tests.stepdown[1], 0.01);
    EXPECT_EQ(tests.superior.best, 1u);
    EXPECT_FALSE(test_strategies({std::vector<double>(300, 0.0), 3}, {}, threads()));
    EXPECT_FALSE(test_strategies({std::span(returns).first(40), 2}, {}, threads()));
}

TEST(SuperiorAbility, DoesNotDependOnTheThreads) {
    const auto returns = normal_returns(100 * 37, 5);
    const BootstrapOptions options{.replicates = 100, .seed = 3};
    ThreadPool one(1), three(3);
    const StrategyTests own = test_strategies({returns, 37}, options, one).value();
    const StrategyTests other = test_strategies({returns, 37}, options, three).value();
    EXPECT_EQ(own.superior.p_value, other.superior.p_value);
    EXPECT_EQ(own.superior.statistic, other.superior.statistic);
    EXPECT_EQ(own.stepdown, other.stepdown);
    EXPECT_EQ(probability_of_overfitting({returns, 37}, 8, one).value().logits,
              probability_of_overfitting({returns, 37}, 8, three).value().logits);
}

/// The means of 37 strategies, which the function sums 16 at a time, and of each strategy alone.
TEST(SuperiorAbility, BootstrapMeansAreThoseOfTheDrawnRows) {
    constexpr std::size_t strategies = 37, periods = 60;
    const auto returns = normal_returns(periods * strategies, 6);
    const BootstrapOptions options{.replicates = 20, .seed = 4};
    const auto means = bootstrap_means({returns, strategies}, 3, options, threads());
    for (std::uint32_t r = 0; r < 20; ++r)
        for (std::size_t s = 0; s < strategies; ++s) {
            double sum = 0;
            for (const std::uint32_t row : stationary_resample(periods, 3, options.seed, r))
                sum += returns[row * strategies + s];
            EXPECT_NEAR(means[r * strategies + s], sum / periods, 1e-12);
        }
}

} // namespace
} // namespace rekindle::research
