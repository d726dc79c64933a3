#include <rekindle/base/error.h>
#include <rekindle/base/philox.h>
#include <rekindle/trainer/fit.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <unistd.h>

namespace rekindle::trainer {
namespace {

constexpr std::size_t inputs = 6;

/// Asks to stop after so many reports of progress.
class StopAfter final : public ProgressSink {
  public:
    StopAfter(CancellationToken& token, int reports) : token_(token), left_(reports) {}
    void log(LogLevel, std::string_view) override {}
    void advanced(const StageProgress&) override {
        if (--left_ == 0)
            token_.request();
    }
    void stage_ended(std::string_view, double, std::string_view) override {}
    void epoch_ended(const EpochMetrics&) override {}

  private:
    CancellationToken& token_;
    int left_;
};

class FitTest : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() /
                  ("rekindle-fit-" + std::to_string(::getpid()) + "-" +
                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
        PhiloxStream random(3, RandomPurpose::test);
        for (std::size_t row = 0; row < 300; ++row) {
            float sum = 0;
            for (std::size_t i = 0; i < inputs; ++i) {
                rows_.push_back(static_cast<float>(random.next_normal()));
                sum += rows_.back();
            }
            targets_.push_back(std::tanh(sum));
        }
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    mlp::Samples train() const { return {rows_.data(), inputs, targets_.data(), 250}; }
    mlp::Samples validation() const {
        return {rows_.data() + 250 * inputs, inputs, targets_.data() + 250, 50};
    }
    mlp::Engine engine(double learning_rate = 1e-2) const {
        mlp::TrainingSpec spec;
        spec.optimizer.learning_rate = learning_rate;
        spec.accumulation_steps = 3;
        spec.ema_decay = 0.9;
        const std::array<std::size_t, 2> hidden{16, 8};
        mlp::Engine result(mlp::ModelDescription::default_network(inputs, hidden, 0.2), spec);
        result.initialise();
        return result;
    }
    FitResult run(mlp::Engine& engine, const FitOptions& options, const std::string& name,
                  const std::optional<Checkpoint>& resume = {}) {
        NullProgressSink progress;
        CheckpointStore store(folder_ / name, 2);
        return fit(engine, train(), validation(), options, store, resume, progress, CancellationToken());
    }
    static std::vector<float> values(const std::vector<mlp::NamedTensor>& tensors) {
        std::vector<float> all;
        for (const auto& tensor : tensors)
            all.insert(all.end(), tensor.values.begin(), tensor.values.end());
        return all;
    }

    std::filesystem::path folder_;
    std::vector<float> rows_, targets_;
};

TEST_F(FitTest, EveryEpochSeesEveryRowOnceInAnotherOrder) {
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
    mlp::Engine network = engine();
    const FitResult result = run(network, {.epochs = 30, .batch_size = 16}, "run");
    ASSERT_EQ(result.history.size(), 30u);
    EXPECT_LT(result.history.back().train_loss, 0.5 * result.history.front().train_loss);
    const auto lowest =
        std::min_element(result.history.begin(), result.history.end(),
                         [](const auto& a, const auto& b) { return a.validation_loss < b.validation_loss; });
    EXPECT_EQ(result.best_epoch, lowest->epoch);
    EXPECT_EQ(result.best_validation_loss, lowest->validation_loss);
    EXPECT_GT(lowest->accuracy, 0.8);
}

TEST_F(FitTest, GoesOnBitForBitFromAnyInterruption) {
    const FitOptions options{
        .epochs = 4, .batch_size = 8, .checkpoint_interval = 3, .config_hash = "c", .data_hash = "d"};
    mlp::Engine whole = engine();
    const FitResult expected = run(whole, options, "whole");
    for (int stop = 1; stop < 40; stop += 3) {
        const std::string name = "stopped" + std::to_string(stop);
        CheckpointStore store(folder_ / name, 2);
        mlp::Engine first = engine();
        CancellationToken token;
        StopAfter progress(token, stop);
        const FitResult part =
            fit(first, train(), validation(), options, store, std::nullopt, progress, token);
        ASSERT_TRUE(part.interrupted);
        NullLogSink log;
        mlp::Engine second = engine();
        const FitResult rest = run(second, options, name, store.load_newest(log));
        EXPECT_EQ(values(second.parameters()), values(whole.parameters())) << "stopped after report " << stop;
        EXPECT_EQ(values(rest.best_parameters), values(expected.best_parameters));
        for (std::size_t i = 0; i < expected.history.size(); ++i) {
            EXPECT_EQ(rest.history[i].train_loss, expected.history[i].train_loss);
            EXPECT_EQ(rest.history[i].validation_loss, expected.history[i].validation_loss);
        }
    }
}

TEST_F(FitTest, TheCheckpointIntervalChangesNoBit) {
    mlp::Engine rare = engine(), often = engine();
    run(rare, {.epochs = 3, .batch_size = 8}, "rare");
    const FitResult result = run(often, {.epochs = 3, .batch_size = 8, .checkpoint_interval = 2}, "often");
    EXPECT_EQ(values(rare.parameters()), values(often.parameters()));
    // 32 batches an epoch: 15 inside it (every second one but the last) and one at its end.
    EXPECT_EQ(result.checkpoints, 3u * 16u);
}

TEST_F(FitTest, StopsEarly) {
    mlp::Engine network = engine(0.3); // too fast to improve for long
    const FitResult result = run(network, {.epochs = 500, .batch_size = 16, .early_stopping = 5}, "run");
    EXPECT_TRUE(result.stopped_early);
    EXPECT_EQ(result.history.size(), static_cast<std::size_t>(result.best_epoch) + 5);
}

TEST_F(FitTest, SaysWhereTheLossCeasedToBeFinite) {
    targets_[100] = std::numeric_limits<float>::infinity();
    mlp::Engine network = engine();
    try {
        run(network, {.epochs = 2, .batch_size = 16}, "run");
        FAIL() << "an infinite loss was accepted";
    } catch (const Error& error) {
        EXPECT_NE(error.render().find("no longer finite at step"), std::string::npos) << error.render();
        EXPECT_NE(error.render().find("--learning-rate"), std::string::npos);
    }
}

} // namespace
} // namespace rekindle::trainer
