/// What a run says about itself for each kind of target.

#include "../run_fixture.h"

#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/predict.h>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

bool any_starts_with(const std::vector<std::string>& lines, std::string_view beginning) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(beginning); });
}

TEST_F(RunTest, VolatilityHasNoScoresOfDirections) {
    TrainConfig settings = config();
    settings.target = market::TargetKind::volatility;
    settings.target_bars = 3;
    const TrainOutcome outcome = run(settings);
    EXPECT_TRUE(any_starts_with(outcome.score_lines, "squared error reduction (out-of-sample R²)"));
    EXPECT_TRUE(any_starts_with(outcome.score_lines, "squared error reduction vs. the last 3-session vol"));
    EXPECT_FALSE(any_starts_with(outcome.score_lines, "direction hit rate"));
    EXPECT_FALSE(any_starts_with(outcome.score_lines, "squared error reduction vs. zero"));
    NullProgressSink progress;
    const Prediction prediction = predict({outcome.run_folder, {}, {}, {}}, progress, CancellationToken());
    EXPECT_TRUE(any_starts_with(describe(prediction), "Predicted volatility: "));
    EXPECT_FALSE(any_starts_with(describe(prediction), "As a price"));
    EXPECT_GT(prediction.baseline, 0) << "the mean in training";
    EXPECT_NEAR(prediction.value, prediction.baseline, 5 * prediction.baseline);
}

TEST_F(RunTest, BarriersAreScoredLikeDirections) {
    write_lines(bars(), daily_lines(400));
    TrainConfig settings = config();
    settings.target = market::TargetKind::barrier;
    settings.barrier_width = 0.5;
    Messages messages;
    const TrainOutcome outcome = train(settings, {}, messages, CancellationToken());
    EXPECT_TRUE(any_starts_with(outcome.score_lines, "log loss reduction")) << outcome.verdict;
    EXPECT_TRUE(contains(outcome.verdict, "first barrier within the next 5 sessions")) << outcome.verdict;
    EXPECT_TRUE(contains(messages.text, "the price reached neither barrier")) << messages.text;
}

TEST(TargetMeaning, NamesWeeksAndTheDeadBand) {
    TrainConfig config;
    config.session_length = market::SessionLength::week;
    EXPECT_EQ(target_meaning(config).text(), "log return of the next week, close to close");
    EXPECT_EQ(target_meaning(config).previous_text(), "the last week's return");
    config.target = market::TargetKind::bar_return;
    EXPECT_EQ(target_meaning(config).text(), "log return of the next 5 weeks, close to close");
    config.target = market::TargetKind::direction;
    config.dead_band = 0.25;
    EXPECT_EQ(target_meaning(config).text(), "direction of the next week, close to close, beyond ±0.25 %");
    config.features = {"minute"};
    EXPECT_EQ(target_meaning(config).previous_text(), "the last 5-bar direction");
}

/// Volatility is learned around its mean; the inverse gives the outcome back.
TEST(TargetMeaning, NetworkTargetsAndOutcomesAreInverse) {
    TargetMeaning meaning;
    meaning.kind = market::TargetKind::volatility;
    set_scale(meaning, std::vector<float>{0.01f, 0.02f, 0.03f});
    EXPECT_NEAR(meaning.center, 0.02, 1e-8);
    EXPECT_NEAR(meaning.network_target(0.02), 0, 1e-6);
    for (const double value : {0.0, 0.01, 0.05}) {
        EXPECT_NEAR(meaning.outcome(meaning.network_target(value)), value, 1e-12);
        EXPECT_NEAR(meaning.value(meaning.network_target(value)), value, 1e-12);
    }
}

} // namespace
} // namespace rekindle::trainer
