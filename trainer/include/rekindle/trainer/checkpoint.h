#pragma once
/// Checkpoints: what a run needs to go on bit for bit. Format: docs/formats/checkpoint.md.

#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/progress.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The optimiser at the end of an epoch: moments per parameter, in order.
struct OptimizerMoments {
    std::uint64_t steps = 0;
    double learning_rate = 0;             ///< of the next step
    std::vector<mlp::NamedTensor> first;  ///< exp_avg, or momentum_buffer; empty without
    std::vector<mlp::NamedTensor> second; ///< exp_avg_sq; empty with SGD
};

OptimizerMoments optimizer_moments(const mlp::Engine& engine);

/// The state between two batches.
struct Checkpoint {
    std::string config_hash;            ///< of the settings that decide the weights; another one is refused
    std::string data_hash;              ///< of the input
    std::string data_summary;           ///< of the input, for people
    std::int64_t epoch = 0;             ///< complete epochs
    std::uint64_t batches_in_epoch = 0; ///< done in the epoch that is under way
    double epoch_loss_sum = 0;          ///< over the rows of those batches
    std::uint64_t epoch_rows = 0;
    double epoch_seconds = 0;    ///< spent in that epoch
    double training_seconds = 0; ///< spent in all epochs
    std::vector<EpochMetrics> history;
    double best_validation_loss = 0;
    std::int64_t best_epoch = 0; ///< 0: none yet
    std::int64_t epochs_without_improvement = 0;
    mlp::EngineState engine;
    std::vector<mlp::NamedTensor> best_parameters;
    OptimizerMoments best_optimizer; ///< at the end of the best epoch
};

/// Writes and finds the checkpoints of one run folder. Not thread-safe.
class CheckpointStore {
  public:
    /// `keep`: how many of the latest stay, at least 1. The folder is made on the first save. What a killed
    /// process left half written is removed.
    CheckpointStore(std::filesystem::path folder, std::int64_t keep);

    /// Temporary file, fsync, rename, fsync of the folder; then removes the oldest. Returns the file.
    std::filesystem::path save(const Checkpoint& checkpoint);
    /// The newest checkpoint that is whole; damaged ones are named in `log` and passed over. None: nothing to
    /// go on from.
    std::optional<Checkpoint> load_newest(LogSink& log) const;

  private:
    std::vector<std::filesystem::path> files_oldest_first() const;
    std::filesystem::path folder_;
    std::int64_t keep_;
};

std::string encode_checkpoint(const Checkpoint& checkpoint);
/// Throws Error naming what is wrong: no checkpoint, another version, damaged.
Checkpoint decode_checkpoint(std::string_view bytes);

} // namespace rekindle::trainer
