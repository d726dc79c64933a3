#include "../run_fixture.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/fit.h>
#include <rekindle/trainer/row_orders.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>

namespace rekindle::trainer {
namespace {

constexpr std::size_t fit_inputs = 6;

class FitTest : public ::testing::Test {
  protected:
    void SetUp() override {
        PhiloxStream random(3, RandomPurpose::test);
        for (std::size_t row = 0; row < 300; ++row) {
            float sum = 0;
            for (std::size_t i = 0; i < fit_inputs; ++i) {
                rows_.push_back(static_cast<float>(random.next_normal()));
                sum += rows_.back();
            }
            targets_.push_back(std::tanh(sum));
        }
    }

    mlp::Samples train() const { return {rows_.data(), fit_inputs, targets_.data(), 250}; }
    mlp::Samples validation() const {
        return {rows_.data() + 250 * fit_inputs, fit_inputs, targets_.data() + 250, 50};
    }
    using Networks = std::unique_ptr<mlp::Population>;
    static mlp::TrainingSpec spec(std::uint64_t seed = 42, double learning_rate = 1e-2) {
        mlp::TrainingSpec spec;
        spec.optimizer.learning_rate = learning_rate;
        spec.accumulation_steps = 3;
        spec.ema_decay = 0.9;
        spec.seed = seed;
        return spec;
    }
    static Networks networks(std::vector<mlp::TrainingSpec> members) {
        const std::array<std::size_t, 2> hidden{16, 8};
        Networks result = mlp::cpu_population(mlp::ModelDescription::default_network(fit_inputs, hidden, 0.2),
                                              std::move(members), 2);
        result->initialize();
        return result;
    }
    static Networks network(double learning_rate = 1e-2, std::uint64_t seed = 42) {
        return networks({spec(seed, learning_rate)});
    }
    FitResult run(const Networks& networks, const FitOptions& options, const std::string& name,
                  const std::optional<Checkpoint>& resume = {}) {
        NullProgressSink progress;
        CheckpointStore store(folder_ / name, 2);
        return fit(*networks, train(), validation(), options, store, resume, progress, CancellationToken());
    }
    static std::vector<float> values(const std::vector<mlp::NamedTensor>& tensors) {
        std::vector<float> all;
        for (const auto& tensor : tensors)
            all.insert(all.end(), tensor.values.begin(), tensor.values.end());
        return all;
    }

    rekindle::test::TemporaryFolder folder_;
    std::vector<float> rows_, targets_;
};

TEST_F(FitTest, EveryEpochUsesEveryRowOnceInADifferentOrder) {
    auto first = epoch_order(1000, 7, 0);
    const auto second = epoch_order(1000, 7, 1);
    EXPECT_NE(first, second);
    EXPECT_EQ(first, epoch_order(1000, 7, 0));
    std::sort(first.begin(), first.end());
    std::vector<std::uint32_t> all(1000);
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(first, all);
}

TEST_F(FitTest, LearnsAndKeepsTheBestEpoch) {
    const FitResult result = run(network(), {.epochs = 30, .batch_size = 16}, "run");
    ASSERT_EQ(result.history.size(), 30u);
    EXPECT_LT(result.history.back().train_loss, 0.5 * result.history.front().train_loss);
    const auto lowest =
        std::min_element(result.history.begin(), result.history.end(),
                         [](const auto& a, const auto& b) { return a.validation_loss < b.validation_loss; });
    EXPECT_EQ(result.best_epoch, lowest->epoch);
    EXPECT_EQ(result.best_validation_loss, lowest->validation_loss);
    EXPECT_GT(lowest->accuracy, 0.8);
}

TEST_F(FitTest, ResumesBitForBitFromAnyInterruption) {
    const FitOptions options{
        .epochs = 4, .batch_size = 8, .checkpoint_interval = 3, .config_hash = "c", .data_hash = "d"};
    const Networks whole = network();
    const FitResult expected = run(whole, options, "whole");
    for (int stop = 1; stop < 40; stop += 3) {
        const std::string name = "stopped" + std::to_string(stop);
        CheckpointStore store(folder_ / name, 2);
        const Networks first = network();
        CancellationToken token;
        fixtures::StopInTraining progress(token, stop);
        const FitResult part =
            fit(*first, train(), validation(), options, store, std::nullopt, progress, token);
        ASSERT_TRUE(part.interrupted);
        NullLogSink log;
        const Networks second = network();
        const FitResult rest = run(second, options, name, store.load_newest(log));
        EXPECT_EQ(values(second->parameters(0)), values(whole->parameters(0)))
            << "stopped after report " << stop;
        EXPECT_EQ(values(rest.best_parameters), values(expected.best_parameters));
        for (std::size_t i = 0; i < expected.history.size(); ++i) {
            EXPECT_EQ(rest.history[i].train_loss, expected.history[i].train_loss);
            EXPECT_EQ(rest.history[i].validation_loss, expected.history[i].validation_loss);
        }
    }
}

TEST_F(FitTest, CheckpointIntervalDoesNotChangeTheWeights) {
    const Networks rare = network(), often = network();
    run(rare, {.epochs = 3, .batch_size = 8}, "rare");
    const FitResult result = run(often, {.epochs = 3, .batch_size = 8, .checkpoint_interval = 2}, "often");
    EXPECT_EQ(values(rare->parameters(0)), values(often->parameters(0)));
    // 32 batches an epoch: 15 inside it (every second one but the last) and one at its end.
    EXPECT_EQ(result.checkpoints, 3u * 16u);
}

TEST_F(FitTest, StopsEarly) {
    // Too fast to improve for long.
    const FitResult result = run(network(0.3), {.epochs = 500, .batch_size = 16, .early_stopping = 5}, "run");
    EXPECT_TRUE(result.stopped_early);
    EXPECT_EQ(result.history.size(), static_cast<std::size_t>(result.best_epoch) + 5);
}

TEST_F(FitTest, SaysWhereTheLossBecameNonFinite) {
    targets_[100] = std::numeric_limits<float>::infinity();
    try {
        run(network(), {.epochs = 2, .batch_size = 16}, "run");
        FAIL() << "an infinite loss was accepted";
    } catch (const Error& error) {
        EXPECT_NE(error.render().find("no longer finite at step"), std::string::npos) << error.render();
        EXPECT_NE(error.render().find("--learning-rate"), std::string::npos);
    }
}

// ------------------------------------------------------------------------------------------- populations

void expect_same_history(const std::vector<MemberEpoch>& a, const std::vector<MemberEpoch>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t e = 0; e < a.size(); ++e) {
        EXPECT_EQ(a[e].train_loss, b[e].train_loss) << e;
        EXPECT_EQ(a[e].validation_loss, b[e].validation_loss) << e;
        EXPECT_EQ(a[e].accuracy, b[e].accuracy) << e;
        EXPECT_EQ(a[e].learning_rate, b[e].learning_rate) << e;
        EXPECT_EQ(a[e].gradient_norm, b[e].gradient_norm) << e;
        EXPECT_EQ(a[e].steps, b[e].steps) << e;
    }
}

class PopulationFitTest : public FitTest {
  protected:
    static constexpr std::uint64_t seeds = 5;
    /// Fast enough that the plateau schedule acts and some networks stop before others.
    static constexpr double fast = 0.15;
    static Networks population() {
        std::vector<mlp::TrainingSpec> members;
        for (std::uint64_t k = 0; k < seeds; ++k)
            members.push_back(member(42 + k));
        return networks(members);
    }
    static mlp::TrainingSpec member(std::uint64_t seed) {
        mlp::TrainingSpec one = spec(seed, fast);
        one.schedule.plateau_patience = 1;
        return one;
    }
    static FitOptions options() { return {.epochs = 25, .batch_size = 16, .early_stopping = 4}; }
};

TEST_F(PopulationFitTest, EachMemberMatchesItsSoloRun) {
    const Networks all = population();
    const FitResult together = run(all, options(), "all");
    ASSERT_EQ(together.members.size(), seeds);
    std::set<std::size_t> epochs;
    std::size_t best = 0;
    for (std::size_t k = 0; k < seeds; ++k) {
        SCOPED_TRACE(k);
        const Networks one = networks({member(42 + k)});
        const FitResult alone = run(one, options(), "alone" + std::to_string(k));
        const MemberResult& mine = together.members[k];
        EXPECT_EQ(mine.seed, 42 + k);
        EXPECT_EQ(mine.best_epoch, alone.best_epoch);
        EXPECT_EQ(mine.best_validation_loss, alone.best_validation_loss);
        EXPECT_EQ(mine.best_values, values(alone.best_parameters));
        expect_same_history(mine.history, alone.members[0].history);
        EXPECT_EQ(values(all->parameters(k)), values(one->parameters(0)));
        EXPECT_EQ(all->learning_rate(k), one->learning_rate(0));
        epochs.insert(mine.history.size());
        if (mine.best_validation_loss < together.members[best].best_validation_loss)
            best = k;
    }
    EXPECT_GT(epochs.size(), 1u) << "every network stopped in the same epoch: nothing was tested";

    const FitResult winner = run(networks({member(42 + best)}), options(), "winner");
    EXPECT_EQ(together.best_member, best);
    EXPECT_EQ(together.best_epoch, winner.best_epoch);
    EXPECT_EQ(values(together.best_parameters), values(winner.best_parameters));
    EXPECT_EQ(values(together.best_optimizer.first), values(winner.best_optimizer.first));
    EXPECT_EQ(values(together.best_optimizer.second), values(winner.best_optimizer.second));
    EXPECT_EQ(together.best_optimizer.learning_rate, winner.best_optimizer.learning_rate);
    EXPECT_EQ(values(together.final_parameters), values(winner.final_parameters));
    EXPECT_EQ(values(together.final_optimizer.second), values(winner.final_optimizer.second));
    ASSERT_EQ(together.history.size(), winner.history.size());
    for (std::size_t e = 0; e < winner.history.size(); ++e) {
        EXPECT_EQ(together.history[e].validation_loss, winner.history[e].validation_loss);
        EXPECT_EQ(together.history[e].best, winner.history[e].best);
    }
}

TEST_F(PopulationFitTest, GroupsAndThreadsDoNotChangeTheWeights) {
    const FitResult whole = run(population(), options(), "whole");
    FitOptions in_groups = options();
    in_groups.order_bytes = 2 * 250 * sizeof(std::uint32_t); // two networks at a time
    in_groups.threads = 3;
    in_groups.checkpoint_interval = 5;
    const FitResult grouped = run(population(), in_groups, "grouped");
    EXPECT_EQ(grouped.best_member, whole.best_member);
    for (std::size_t k = 0; k < seeds; ++k) {
        EXPECT_EQ(grouped.members[k].best_values, whole.members[k].best_values);
        expect_same_history(grouped.members[k].history, whole.members[k].history);
    }
}

TEST_F(PopulationFitTest, ResumesBitForBitWithADifferentGroupSize) {
    FitOptions first_part = options(), second_part = options();
    first_part.epochs = second_part.epochs = 4;
    first_part.checkpoint_interval = 4;
    first_part.order_bytes = 2 * 250 * sizeof(std::uint32_t);
    const Networks whole = population();
    const FitResult expected = run(whole, second_part, "whole");
    for (int stop = 1; stop < 48; stop += 4) {
        SCOPED_TRACE(stop);
        const std::string name = "stopped" + std::to_string(stop);
        CheckpointStore store(folder_ / name, 2);
        CancellationToken token;
        fixtures::StopInTraining progress(token, stop);
        const FitResult part =
            fit(*population(), train(), validation(), first_part, store, std::nullopt, progress, token);
        ASSERT_TRUE(part.interrupted);
        NullLogSink log;
        const Networks rest = population();
        const FitResult result = run(rest, second_part, name, store.load_newest(log));
        EXPECT_EQ(result.best_member, expected.best_member);
        EXPECT_EQ(values(result.best_optimizer.first), values(expected.best_optimizer.first));
        for (std::size_t k = 0; k < seeds; ++k) {
            EXPECT_EQ(values(rest->parameters(k)), values(whole->parameters(k)));
            EXPECT_EQ(result.members[k].best_values, expected.members[k].best_values);
            expect_same_history(result.members[k].history, expected.members[k].history);
        }
    }
}

TEST_F(PopulationFitTest, DivergingNetworkDoesNotAffectTheOthers) {
    std::vector<mlp::TrainingSpec> members{member(1), member(2), member(3)};
    members[1].optimizer.learning_rate = 1e30;
    const FitResult result = run(networks(members), options(), "run");
    EXPECT_TRUE(result.members[1].diverged);
    EXPECT_NE(result.best_member, 1u);
    const FitResult alone = run(networks({member(3)}), options(), "alone");
    EXPECT_FALSE(result.members[2].diverged);
    EXPECT_EQ(result.members[2].best_values, values(alone.best_parameters));
    for (mlp::TrainingSpec& one : members)
        one.optimizer.learning_rate = 1e30;
    EXPECT_THROW(run(networks(members), options(), "all"), Error);
}

TEST_F(PopulationFitTest, EpochFiguresAreMedians) {
    class Epochs final : public ProgressSink {
      public:
        void log(LogLevel, std::string_view) override {}
        void advanced(const StageProgress& progress) override { networks = progress.networks; }
        void stage_ended(std::string_view, double, std::string_view text) override { summary = text; }
        void epoch_ended(const EpochMetrics& metrics) override { epochs_reported.push_back(metrics); }
        std::vector<EpochMetrics> epochs_reported;
        std::uint64_t networks = 0;
        std::string summary;
    } progress;
    CheckpointStore store(folder_ / "run", 2);
    const FitResult result = fit(*population(), train(), validation(), options(), store, std::nullopt,
                                 progress, CancellationToken());
    EXPECT_EQ(progress.networks, seeds);
    EXPECT_NE(progress.summary.find("network-steps/s"), std::string::npos) << progress.summary;
    std::vector<double> first;
    for (const MemberResult& member : result.members)
        first.push_back(member.history[0].validation_loss);
    std::sort(first.begin(), first.end());
    ASSERT_FALSE(progress.epochs_reported.empty());
    EXPECT_EQ(progress.epochs_reported[0].validation_loss, first[2]);
    EXPECT_EQ(progress.epochs_reported[0].lowest_validation_loss, first[0]);
    EXPECT_EQ(progress.epochs_reported[0].networks, seeds);
}

} // namespace
} // namespace rekindle::trainer
