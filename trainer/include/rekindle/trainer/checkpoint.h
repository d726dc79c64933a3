#pragma once
/// Checkpoints: what a run needs to resume bit for bit. Format: docs/formats/checkpoint.md.

#include <rekindle/mlp/engine.h>
#include <rekindle/mlp/population.h>
#include <rekindle/trainer/progress.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The optimizer at the end of an epoch: moments per parameter, in order.
struct OptimizerMoments {
    std::uint64_t steps = 0;
    double learning_rate = 0;             ///< of the next step
    std::vector<mlp::NamedTensor> first;  ///< exp_avg, or momentum_buffer; empty without momentum
    std::vector<mlp::NamedTensor> second; ///< exp_avg_sq; empty with SGD
};

OptimizerMoments optimizer_moments(const mlp::Population& population, std::size_t member);

/// A parameter without its values.
struct ParameterShape {
    std::string name;
    std::vector<std::size_t> shape;

    std::size_t elements() const noexcept {
        std::size_t count = 1;
        for (const std::size_t extent : shape)
            count *= extent;
        return count;
    }
};

/// One epoch of one network, in the units of EpochMetrics.
struct MemberEpoch {
    double train_loss = 0, validation_loss = 0, accuracy = 0, learning_rate = 0, gradient_norm = 0;
    std::uint64_t steps = 0;
};

/// One network of a population between two batches.
struct MemberState {
    double epoch_loss_sum = 0; ///< over the rows of the batches done in the current epoch
    std::uint64_t epoch_rows = 0;
    double gradient_norm = 0; ///< of the last step, before clipping; a file of one network has none
    double best_validation_loss = std::numeric_limits<double>::max();
    std::int64_t best_epoch = 0; ///< 0: none yet
    std::int64_t epochs_without_improvement = 0;
    bool diverged =
        false; ///< its loss, a gradient or its validation loss became non-finite: it no longer trains
    std::vector<MemberEpoch> history; ///< its complete epochs
    std::vector<float> best_values; ///< parameters of the best epoch, in the order of Checkpoint::parameters
    mlp::EngineState engine;
};

/// The state between two batches. The members in [group_begin, group_end) have done batches_in_epoch batches
/// of the current epoch, those before them all of it, those after them none of it.
struct Checkpoint {
    std::string config_hash;  ///< of the settings that decide the weights; a different one is refused
    std::string data_hash;    ///< of the input
    std::string data_summary; ///< of the input, for people
    std::int64_t epoch = 0;   ///< complete epochs
    std::uint64_t batches_in_epoch = 0; ///< done in the current epoch
    std::uint64_t group_begin = 0, group_end = 0;
    double epoch_seconds = 0;    ///< spent in that epoch
    double training_seconds = 0; ///< spent in all epochs
    std::vector<EpochMetrics> history;
    std::vector<ParameterShape> parameters; ///< of one member; empty before the first best epoch
    std::vector<MemberState> members;
    std::uint64_t best_member =
        0; ///< the one with the lowest validation loss so far; the first of equal ones
    OptimizerMoments best_optimizer; ///< of the best member at the end of its best epoch
};

/// Splits `values` into tensors of these shapes. Throws Error (internal) when their number differs.
std::vector<mlp::NamedTensor> tensors_from(std::span<const ParameterShape> shapes,
                                           std::span<const float> values);
std::vector<ParameterShape> shapes_of(std::span<const mlp::NamedTensor> tensors);
/// All values, one tensor after the other.
std::vector<float> values_of(std::span<const mlp::NamedTensor> tensors);

/// Writes and finds the checkpoints of one run folder. Not thread-safe.
class CheckpointStore {
  public:
    /// `keep`: how many of the latest are kept, at least 1. The folder is created on the first save.
    /// Half-written files of killed processes are removed.
    CheckpointStore(std::filesystem::path folder, std::int64_t keep);

    /// Temporary file, fsync, rename, fsync of the folder; then removes the oldest. Returns the file.
    std::filesystem::path save(const Checkpoint& checkpoint);
    /// The newest intact checkpoint; damaged ones are named in `log` and skipped. Nothing when there is none
    /// to resume from.
    std::optional<Checkpoint> load_newest(LogSink& log) const;

  private:
    std::vector<std::filesystem::path> files_oldest_first() const;
    std::filesystem::path folder_;
    std::int64_t keep_;
};

/// One member: version 01; more: version 02.
std::string encode_checkpoint(const Checkpoint& checkpoint);
/// Throws Error saying what is wrong: not a checkpoint, an unknown version, damaged.
Checkpoint decode_checkpoint(std::string_view bytes);

} // namespace rekindle::trainer
