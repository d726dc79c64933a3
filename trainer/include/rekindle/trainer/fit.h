#pragma once
/// The epochs of a training run: order of rows, validation, best weights, checkpoints, early stopping.

#include <rekindle/base/cancellation.h>
#include <rekindle/mlp/population.h>
#include <rekindle/trainer/checkpoint.h>
#include <rekindle/trainer/progress.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct FitOptions {
    std::int64_t epochs = 10;
    std::size_t batch_size = 32;
    std::int64_t early_stopping = 0;      ///< epochs without improvement of a network; 0 is off
    std::int64_t checkpoint_interval = 0; ///< batches; 0: see docs/formats/checkpoint.md
    double up_threshold = 0; ///< a target above it is a rise (0 for returns, 0.5 for probabilities)
    std::string config_hash{}, data_hash{}, data_summary{}; ///< stored in checkpoints
    std::size_t threads = 1;                                ///< that shuffle rows
    /// Maximum memory for the orders of rows (4 bytes per row and network). When all networks need more, they
    /// train in groups, one epoch each; the results are bit-identical.
    std::size_t order_bytes = std::size_t{256} << 20;
};

/// The result of one network.
struct MemberResult {
    std::uint64_t seed = 0;
    std::int64_t best_epoch = 0; ///< 0: it diverged in its first epoch
    double best_validation_loss = 0;
    bool diverged = false;
    std::vector<MemberEpoch> history;
    std::vector<float> best_values; ///< parameters of its best epoch, as FitResult::parameters names them
};

/// The unnamed figures are those of the best network: the one with the lowest validation loss.
struct FitResult {
    std::vector<EpochMetrics> history;
    std::vector<mlp::NamedTensor> best_parameters;  ///< of the epoch with its lowest validation loss
    OptimizerMoments best_optimizer;                ///< at the end of that epoch
    std::vector<mlp::NamedTensor> final_parameters; ///< after its last step
    OptimizerMoments final_optimizer;
    std::int64_t best_epoch = 0;
    double best_validation_loss = 0;
    std::size_t best_member = 0;
    std::vector<MemberResult> members;
    std::vector<ParameterShape> parameters; ///< names and shapes of MemberResult::best_values
    std::int64_t epochs = 0;                ///< complete ones, all sessions of a resumed run together
    std::uint64_t batches_in_epoch = 0;     ///< done in the epoch that was interrupted; else 0
    double training_seconds = 0;            ///< all sessions of a resumed run together
    std::uint64_t network_steps = 0;        ///< of all networks, in this session
    double stepping_seconds = 0;            ///< spent on them, without validation and checkpoints
    std::uint64_t checkpoints = 0;          ///< written in this session
    double checkpoint_seconds = 0;          ///< spent on them
    bool interrupted = false;               ///< stopped by the token; a checkpoint of this state was written
    bool stopped_early = false;             ///< every network stopped before the last epoch
};

/// Trains until the epochs are done, early stopping has stopped every network, or the token is set. Each
/// member takes its rows in the order of its own seed and stops independently, so it ends up as if it had
/// trained alone. `resume` continues from that checkpoint: on the CPU, the weights are then bit for bit those
/// of an uninterrupted run. Throws Error when the loss of a single network is not finite; in a population,
/// that network no longer trains, and Error is thrown when none is left.
FitResult fit(mlp::Population& population, const mlp::Samples& train, const mlp::Samples& validation,
              const FitOptions& options, CheckpointStore& store, const std::optional<Checkpoint>& resume,
              ProgressSink& progress, const CancellationToken& cancellation);

} // namespace rekindle::trainer
