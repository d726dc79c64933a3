/// When training pauses, when checkpoints are due, and which network is best: without training anything.

#include "fit/checkpoint_schedule.h"
#include "fit/epoch_figures.h"
#include "fit/member_progress.h"

#include <rekindle/trainer/slice_length.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace rekindle::trainer {
namespace {

using namespace std::chrono_literals;

constexpr CheckpointSchedule::TimePoint began{};

// ------------------------------------------------------------------------------------------- SliceLength

TEST(SliceLength, StartsWithFewNetworkSteps) {
    EXPECT_EQ(SliceLength(1).batches(), 64u);
    EXPECT_EQ(SliceLength(2).batches(), 64u);
    EXPECT_EQ(SliceLength(1024).batches(), 8u);
    EXPECT_EQ(SliceLength(100'000).batches(), 1u);
}

TEST(SliceLength, FollowsTheSpeedWithinItsLimits) {
    SliceLength slice(1);
    slice.took(0.05);
    EXPECT_EQ(slice.batches(), 64u);
    slice.took(0.024);
    EXPECT_EQ(slice.batches(), 128u);
    slice.took(0.101);
    slice.took(0.101);
    EXPECT_EQ(slice.batches(), 32u);
    for (int i = 0; i < 40; ++i)
        slice.took(1);
    EXPECT_EQ(slice.batches(), 1u);
    for (int i = 0; i < 40; ++i)
        slice.took(0);
    EXPECT_EQ(slice.batches(), std::uint64_t{1} << 24);
}

// ------------------------------------------------------------------------------------ CheckpointSchedule

TEST(CheckpointSchedule, IntervalCountsBatches) {
    const CheckpointSchedule schedule(4, false, began);
    EXPECT_EQ(schedule.batches_to_next(0), 4u);
    EXPECT_EQ(schedule.batches_to_next(3), 1u);
    EXPECT_EQ(schedule.batches_to_next(4), 4u);
    EXPECT_TRUE(schedule.due_in_epoch(8, 12, began));
    EXPECT_FALSE(schedule.due_in_epoch(9, 12, began + 1h)) << "the time does not matter";
    EXPECT_FALSE(schedule.due_in_epoch(12, 12, began)) << "the end of the epoch is another question";
    EXPECT_TRUE(schedule.due_after_epoch(began));
}

TEST(CheckpointSchedule, OneNetworkSavesEveryEpochAndEvery30Seconds) {
    CheckpointSchedule schedule(0, false, began);
    EXPECT_EQ(schedule.batches_to_next(7), std::numeric_limits<std::uint64_t>::max());
    EXPECT_FALSE(schedule.due_in_epoch(7, 12, began + 30s));
    EXPECT_TRUE(schedule.due_in_epoch(7, 12, began + 31s));
    schedule.written(began + 31s, began + 41s);
    EXPECT_FALSE(schedule.due_in_epoch(8, 12, began + 71s));
    EXPECT_TRUE(schedule.due_in_epoch(8, 12, began + 72s)) << "slow checkpoints do not delay the next one";
    EXPECT_TRUE(schedule.due_after_epoch(began + 41s));
}

TEST(CheckpointSchedule, PopulationSpendsAShareOfItsTime) {
    CheckpointSchedule schedule(0, true, began);
    EXPECT_TRUE(schedule.due_after_epoch(began)) << "the first epoch is always saved";
    schedule.written(began, began + 4s); // 5 % of 80 s
    EXPECT_FALSE(schedule.due_after_epoch(began + 83s));
    EXPECT_TRUE(schedule.due_after_epoch(began + 85s));
    EXPECT_FALSE(schedule.due_in_epoch(1, 2, began + 83s));
    EXPECT_TRUE(schedule.due_in_epoch(1, 2, began + 85s));
}

TEST(CheckpointSchedule, AddsUpWhatItSpent) {
    CheckpointSchedule schedule(0, false, began);
    schedule.written(began, began + 2s);
    schedule.written(began + 5s, began + 6s);
    EXPECT_EQ(schedule.count(), 2u);
    EXPECT_EQ(schedule.seconds(), 3);
}

// -------------------------------------------------------------------------------------- member_progress.h

MemberEpoch with_loss(double loss) {
    return {.validation_loss = loss};
}

TEST(MemberProgress, BestEpochIsTheFirstWithTheLowestLoss) {
    MemberState member;
    EXPECT_TRUE(add_epoch(member, 1, with_loss(0.5)));
    EXPECT_FALSE(add_epoch(member, 2, with_loss(0.5)));
    EXPECT_FALSE(add_epoch(member, 3, with_loss(0.6)));
    EXPECT_EQ(member.best_epoch, 1);
    EXPECT_EQ(member.epochs_without_improvement, 2);
    EXPECT_TRUE(add_epoch(member, 4, with_loss(0.4)));
    EXPECT_EQ(member.best_epoch, 4);
    EXPECT_EQ(member.best_validation_loss, 0.4);
    EXPECT_EQ(member.epochs_without_improvement, 0);
    EXPECT_EQ(member.history.size(), 4u);
}

TEST(MemberProgress, PatienceAndDivergenceStopANetwork) {
    std::vector<MemberState> members(2);
    members[0].epochs_without_improvement = 3;
    members[1].diverged = true;
    EXPECT_TRUE(EarlyStopping(4).trains(members[0]));
    EXPECT_FALSE(EarlyStopping(3).trains(members[0]));
    EXPECT_TRUE(EarlyStopping(0).trains(members[0])) << "0 is off";
    EXPECT_FALSE(EarlyStopping(0).trains(members[1]));
    EXPECT_TRUE(EarlyStopping(3).none_trains(members));
    EXPECT_FALSE(EarlyStopping(4).none_trains(members));
    EXPECT_EQ(count_diverged(members), 1u);
}

TEST(MemberProgress, LeaderIsTheFirstOfTheBest) {
    std::vector<MemberState> members(3);
    add_epoch(members[0], 1, with_loss(0.5));
    add_epoch(members[1], 1, with_loss(0.4));
    add_epoch(members[2], 1, with_loss(0.4));
    const std::vector<std::size_t> all{0, 1, 2};
    EXPECT_EQ(new_leader(members, 0, all, 1), 1u);
    // Nobody improves.
    for (MemberState& member : members)
        add_epoch(member, 2, with_loss(0.9));
    EXPECT_EQ(new_leader(members, 1, all, 2), std::nullopt);
    // The leader improves, another improves but stays behind.
    add_epoch(members[0], 3, with_loss(0.45));
    add_epoch(members[1], 3, with_loss(0.3));
    EXPECT_EQ(new_leader(members, 1, std::vector<std::size_t>{0, 1}, 3), 1u);
    EXPECT_EQ(new_leader(members, 1, std::vector<std::size_t>{0}, 3), std::nullopt);
}

// ---------------------------------------------------------------------------------------- epoch_figures.h

TEST(EpochFigures, AreMediansOfTheMembersThatTrained) {
    std::vector<MemberState> members(4);
    for (std::size_t m = 0; m < members.size(); ++m) {
        const auto figure = static_cast<double>(m + 1);
        add_epoch(members[m], 1, {figure, 10 * figure, figure / 10, 0.1, figure, 5 * (m + 1)});
        members[m].epoch_rows = 100;
    }
    const EpochMetrics figures = figures_of_epoch(members, std::vector<std::size_t>{0, 1, 3}, 2);
    EXPECT_EQ(figures.train_loss, 2);
    EXPECT_EQ(figures.validation_loss, 20);
    EXPECT_EQ(figures.lowest_validation_loss, 10);
    EXPECT_EQ(figures.accuracy, 0.2);
    EXPECT_EQ(figures.gradient_norm, 2);
    EXPECT_EQ(figures.steps, 20u);
    EXPECT_EQ(figures.networks, 3u);
    EXPECT_EQ(figures.rows_per_second, 150);
}

TEST(EpochFigures, HistoryOfAMemberKeepsTheTimesOfTheRun) {
    Checkpoint state;
    state.members.resize(2);
    for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
        EpochMetrics& metrics = state.history.emplace_back();
        metrics.epoch = epoch;
        metrics.seconds = static_cast<double>(epoch) / 4;
        metrics.best = false;
    }
    for (const double loss : {0.5, 0.6, 0.4})
        state.members[1].history.push_back({.train_loss = loss / 2, .validation_loss = loss, .steps = 7});
    const std::vector<EpochMetrics> history = history_of_member(state, 1);
    ASSERT_EQ(history.size(), 3u);
    EXPECT_EQ(history[1].epoch, 2);
    EXPECT_EQ(history[1].seconds, 0.5);
    EXPECT_EQ(history[1].train_loss, 0.3);
    EXPECT_EQ(history[1].steps, 7u);
    EXPECT_TRUE(history[0].best);
    EXPECT_FALSE(history[1].best);
    EXPECT_TRUE(history[2].best);
    EXPECT_TRUE(history_of_member(state, 0).empty());
}

TEST(EpochFigures, RunningLossIsAMeanOverRows) {
    MemberState member;
    EXPECT_EQ(running_loss(member), 0);
    member.epoch_loss_sum = 6;
    member.epoch_rows = 4;
    EXPECT_EQ(running_loss(member), 1.5);
    EXPECT_TRUE(std::isnan(median_over({}, [](std::size_t) { return 1; })));
}

} // namespace
} // namespace rekindle::trainer
