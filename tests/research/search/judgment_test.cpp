/// The judgment of the best of many trials, on series whose skill is known.

#include "search/judgment.h"

#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace rekindle::research {
namespace {

/// A trial whose timing returns have this mean and a std of 1.
Trial trial_of(std::uint64_t number, double mean, std::size_t rows, std::uint64_t seed) {
    PhiloxStream random(seed, RandomPurpose::test, static_cast<std::uint32_t>(number));
    Trial trial;
    trial.number = number;
    double sum = 0, squares = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        const double value = mean + random.next_normal();
        trial.timing.push_back(static_cast<float>(value));
        sum += value;
        squares += value * value;
    }
    const auto count = static_cast<double>(rows);
    trial.timing_ratio = sum / count / std::sqrt((squares - sum * sum / count) / (count - 1));
    trial.loss_saved = trial.timing_ratio;
    return trial;
}

std::vector<Trial> without_skill(std::size_t count, std::size_t rows, std::uint64_t seed) {
    std::vector<Trial> trials;
    for (std::size_t t = 0; t < count; ++t)
        trials.push_back(trial_of(t, 0, rows, seed));
    return trials;
}

SearchJudgment judge_all(const std::vector<Trial>& trials, const std::vector<std::int64_t>& instants) {
    const std::vector<std::span<const std::int64_t>> rows(trials.size(), instants);
    ThreadPool pool(2);
    return judge(trials, *best_of(trials, Objective::loss), rows, 1, 1, pool);
}

std::vector<std::int64_t> hours(std::size_t count) {
    std::vector<std::int64_t> instants(count);
    std::iota(instants.begin(), instants.end(), 0);
    return instants;
}

TEST(SearchJudgment, OneSkilledSettingAmongManyIsFound) {
    std::vector<Trial> trials = without_skill(50, 500, 3);
    trials.push_back(trial_of(50, 0.35, 500, 3));
    const SearchJudgment judgment = judge_all(trials, hours(500));
    EXPECT_EQ(best_of(trials, Objective::loss), 50U);
    EXPECT_LE(*judgment.chosen_p, 0.01);
    EXPECT_LE(*judgment.superior_p, 0.01);
    EXPECT_GE(*judgment.deflated_sharpe, 0.95);
    EXPECT_LE(*judgment.overfitting, 0.05);
    EXPECT_TRUE(has_edge(judgment));
    EXPECT_EQ(verdict_of(judgment).label, "Edge");
}

/// The best of 200 has a t-value near 3; alone it would be called significant.
TEST(SearchJudgment, TheBestOfManyWithoutSkillIsLuck) {
    int edges = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const std::vector<Trial> trials = without_skill(200, 300, seed);
        const SearchJudgment judgment = judge_all(trials, hours(300));
        const Trial& best = trials[*best_of(trials, Objective::loss)];
        EXPECT_GT(best.timing_ratio * std::sqrt(300.0), 1.96);
        edges += has_edge(judgment) ? 1 : 0;
    }
    EXPECT_LE(edges, 4); // 5 % of 20 are expected; more than 4 happen once in 400
}

TEST(SearchJudgment, TrialsWithOtherRowsAreComparedOnCommonOnes) {
    std::vector<Trial> trials{trial_of(0, 0, 200, 5), trial_of(1, 0, 200, 5)};
    const std::vector<std::int64_t> all = hours(200);
    std::vector<std::int64_t> later;
    for (std::size_t row = 50; row < 200; ++row)
        later.push_back(static_cast<std::int64_t>(row));
    trials[1].timing.erase(trials[1].timing.begin(), trials[1].timing.begin() + 50);
    const std::vector<std::span<const std::int64_t>> rows{all, later};
    ThreadPool pool(1);
    EXPECT_EQ(judge(trials, 0, rows, 1, 1, pool).rows, 150U);
}

TEST(SearchJudgment, TooFewRowsGiveAReason) {
    const std::vector<Trial> trials = without_skill(5, 20, 1);
    const SearchJudgment judgment = judge_all(trials, hours(20));
    EXPECT_FALSE(judgment.chosen_p);
    EXPECT_FALSE(has_edge(judgment));
    EXPECT_EQ(verdict_of(judgment).label, "Too little to tell");
    ASSERT_FALSE(judgment.reasons.empty());
}

TEST(SearchJudgment, OnlyTrialsOnTheHighestRungAreChosen) {
    std::vector<Trial> trials = without_skill(3, 50, 1);
    trials[0].loss_saved = 9;
    trials[1].loss_saved = 1;
    trials[1].rung = 1;
    trials[2].diverged = true;
    EXPECT_EQ(best_of(trials, Objective::loss), 1U);
    Trial first = trials[1];
    first.rung = 0;
    const auto last = last_trials({first, trials[1], trials[0]});
    ASSERT_EQ(last.size(), 2U);
    EXPECT_EQ(last[1].rung, 1);
}

} // namespace
} // namespace rekindle::research
