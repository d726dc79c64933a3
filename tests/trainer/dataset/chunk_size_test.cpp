// --chunk-size decides how much memory a run needs, but never changes the results.
#include "temporary_folder.h"

#include <rekindle/foundation/file.h>
#include <rekindle/market/simulate.h>
#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/safetensors.h>
#include <rekindle/trainer/train.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace rekindle::trainer {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

TrainConfig config_of(const fs::path& bars, bool per_bar) {
    TrainConfig config;
    config.data = {bars.string()};
    config.tick = "0.25";
    config.device = "cpu";
    config.threads = 2;
    config.epochs = 2;
    config.hidden_layers = {8};
    if (per_bar) {
        config.features = {"minute"};
        config.target = market::TargetKind::bar_return;
    }
    return config;
}

Dataset dataset_of(TrainConfig config, std::int64_t chunk, const fs::path& folder) {
    config.chunk_size = chunk;
    ThreadPool pool(2);
    NullProgressSink progress;
    const MarketData data =
        load_market_data(config, folder / "bars.columns", pool, progress, CancellationToken());
    return build_dataset(config, data, pool, progress, workspace_of(config, folder));
}

void expect_same_dataset(const Dataset& a, const Dataset& b) {
    EXPECT_EQ(a.matrix.names, b.matrix.names);
    EXPECT_TRUE(a.matrix.source == b.matrix.source);
    EXPECT_TRUE(a.targets.values == b.targets.values);
    EXPECT_EQ(a.split, b.split);
    EXPECT_EQ(a.scaler, b.scaler);
    EXPECT_EQ(a.meaning.scale, b.meaning.scale);
    EXPECT_TRUE(a.rows->inputs == b.rows->inputs);
    EXPECT_TRUE(a.rows->targets == b.rows->targets);
}

/// Weights of the best and of the last epoch after training into `output`.
std::vector<float> trained_weights(TrainConfig config, std::int64_t chunk, const fs::path& output) {
    config.chunk_size = chunk;
    config.output = output.string();
    NullProgressSink progress;
    const TrainOutcome outcome = train(config, {}, progress, CancellationToken());
    std::vector<float> weights;
    for (const char* name : {"best_model.safetensors", "model_final.safetensors"})
        for (const auto& tensor : read_safetensors(outcome.run_folder / name).tensors)
            weights.insert(weights.end(), tensor.values.begin(), tensor.values.end());
    return weights;
}

fs::path simulated(const TemporaryFolder& folder, std::int64_t bars) {
    market::simulate_file({.bars = bars, .seed = 9}, folder / "bars.csv");
    return folder / "bars.csv";
}

TEST(ChunkSize, DoesNotChangeInputsOfBars) {
    const TemporaryFolder folder;
    const TrainConfig config = config_of(simulated(folder, 4000), true);
    const Dataset expected = dataset_of(config, 0, folder.path());
    ASSERT_EQ(expected.matrix.columns(), 19u);
    for (const std::int64_t chunk : {1, 7, 1000})
        expect_same_dataset(dataset_of(config, chunk, folder.path()), expected);
}

TEST(ChunkSize, DoesNotChangeInputsOfSessions) {
    const TemporaryFolder folder;
    const TrainConfig config = config_of(simulated(folder, 120'000), false);
    const Dataset expected = dataset_of(config, 0, folder.path());
    ASSERT_GT(expected.rows->inputs.size(), 0u);
    for (const std::int64_t chunk : {7, 1000})
        expect_same_dataset(dataset_of(config, chunk, folder.path()), expected);
}

TEST(ChunkSize, DoesNotChangeWeights) {
    const TemporaryFolder folder;
    const TrainConfig config = config_of(simulated(folder, 4000), true);
    const std::vector<float> expected = trained_weights(config, 0, folder / "all");
    ASSERT_FALSE(expected.empty());
    for (const std::int64_t chunk : {1, 7, 1000})
        EXPECT_EQ(trained_weights(config, chunk, folder / std::to_string(chunk)), expected) << chunk;
    // Another seed does change them.
    TrainConfig other = config;
    other.seed = 43;
    EXPECT_NE(trained_weights(other, 7, folder / "other"), expected);
}

} // namespace
} // namespace rekindle::trainer
