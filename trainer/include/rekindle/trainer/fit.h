#pragma once
/// The epochs of a training run: order of rows, validation, best weights, checkpoints, early stopping.

#include <rekindle/base/cancellation.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/checkpoint.h>
#include <rekindle/trainer/progress.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct FitOptions {
    std::int64_t epochs = 10;
    std::size_t batch_size = 32;
    std::uint64_t seed = 42;              ///< of the order of rows: Philox (seed, shuffle, epoch)
    std::int64_t early_stopping = 0;      ///< epochs without improvement; 0 is off
    std::int64_t checkpoint_interval = 0; ///< batches; 0: at the end of each epoch and every 30 s
    double up_threshold = 0;              ///< a target above it is a rise (0 for returns, 0.5 for labels)
    std::string config_hash{}, data_hash{}, data_summary{}; ///< stored in checkpoints
};

struct FitResult {
    std::vector<EpochMetrics> history;
    std::vector<mlp::NamedTensor> best_parameters; ///< of the epoch with the lowest validation loss
    OptimizerMoments best_optimizer;               ///< at the end of that epoch
    std::int64_t best_epoch = 0;
    double best_validation_loss = 0;
    double training_seconds = 0;   ///< all sessions of a resumed run together
    std::uint64_t checkpoints = 0; ///< written now
    double checkpoint_seconds = 0; ///< spent on them
    bool interrupted = false;      ///< the token asked; a checkpoint of this very state was written
    bool stopped_early = false;
};

/// Trains until the epochs are done, early stopping strikes or the token asks. `resume` goes on where it was
/// made: the weights are then, bit for bit, those of an uninterrupted run. Throws Error when the loss is not
/// finite.
FitResult fit(mlp::Engine& engine, const mlp::Samples& train, const mlp::Samples& validation,
              const FitOptions& options, CheckpointStore& store, const std::optional<Checkpoint>& resume,
              ProgressSink& progress, const CancellationToken& cancellation);

/// The order of rows in an epoch (from 0): a Fisher-Yates shuffle by Philox.
std::vector<std::uint32_t> epoch_order(std::size_t rows, std::uint64_t seed, std::int64_t epoch);

} // namespace rekindle::trainer
