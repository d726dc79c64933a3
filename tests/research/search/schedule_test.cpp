/// The order of trials.

#include "search/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace rekindle::research {
namespace {

SearchRules halving_rules() {
    SearchRules rules;
    rules.method = SearchMethod::halving;
    rules.reduction = 3;
    rules.min_epochs = 1;
    return rules;
}

/// The score of a trial, which does not depend on its epochs.
double score_of(std::uint64_t number) {
    return std::sin(static_cast<double>(number * 7919 % 1000));
}

/// Runs all trials and returns them in order.
std::vector<PlannedTrial> run_all(const SearchRules& rules, std::int64_t epochs, std::uint64_t trials,
                                  std::size_t most) {
    Schedule schedule(rules, epochs, trials);
    std::vector<PlannedTrial> all;
    for (;;) {
        const auto group = schedule.next(most);
        if (group.empty())
            return all;
        for (const PlannedTrial& trial : group) {
            all.push_back(trial);
            schedule.finish(trial, score_of(trial.number));
        }
    }
}

TEST(SearchSchedule, WithoutHalvingEveryTrialRunsOnce) {
    for (const std::size_t most : {1, 7, 100}) {
        const auto all = run_all({}, 5, 20, most);
        ASSERT_EQ(all.size(), 20U);
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_EQ(all[i].number, i);
            EXPECT_EQ(all[i].epochs, 5);
        }
    }
}

TEST(SearchSchedule, HalvingPromotesTheBestThirdOfEachRung) {
    const auto all = run_all(halving_rules(), 9, 81, 1);
    std::map<std::int64_t, std::set<std::uint64_t>> rungs;
    for (const PlannedTrial& trial : all) {
        EXPECT_TRUE(rungs[trial.rung].insert(trial.number).second) << "run twice on a rung";
        EXPECT_EQ(trial.epochs, std::pow(3, trial.rung));
    }
    ASSERT_EQ(rungs.size(), 3U);
    EXPECT_EQ(rungs[0].size(), 81U);
    // The best third of all is promoted; early promotions can only add to it.
    std::vector<double> scores;
    for (std::uint64_t t = 0; t < 81; ++t)
        scores.push_back(score_of(t));
    std::ranges::sort(scores, std::ranges::greater());
    for (std::uint64_t t = 0; t < 81; ++t)
        if (score_of(t) >= scores[26]) {
            EXPECT_TRUE(rungs[1].contains(t)) << t;
        }
    EXPECT_GE(rungs[1].size(), 27U);
    EXPECT_LE(rungs[1].size(), 40U);
    for (const std::uint64_t number : rungs[2])
        EXPECT_TRUE(rungs[1].contains(number));
    EXPECT_GE(rungs[2].size(), 9U);
}

TEST(SearchSchedule, TrialsThatDivergedAreNeverPromoted) {
    Schedule schedule(halving_rules(), 3, 9);
    std::size_t promoted = 0;
    for (auto group = schedule.next(1); !group.empty(); group = schedule.next(1))
        for (const PlannedTrial& trial : group) {
            promoted += trial.rung > 0 ? 1 : 0;
            schedule.finish(trial, std::numeric_limits<double>::quiet_NaN());
        }
    EXPECT_EQ(promoted, 0U);
}

TEST(SearchSchedule, TheLastRungHasTheEpochsOfTheJob) {
    const Schedule schedule(halving_rules(), 10, 9);
    EXPECT_EQ(schedule.rungs(), 4);
    EXPECT_EQ(schedule.epochs_of(3), 10);
    EXPECT_EQ(Schedule(halving_rules(), 1, 9).rungs(), 1);
}

} // namespace
} // namespace rekindle::research
