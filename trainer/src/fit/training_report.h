#pragma once
/// Reports progress to the user while the networks train.

#include <rekindle/mlp/population.h>
#include <rekindle/trainer/checkpoint.h>
#include <rekindle/trainer/progress.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rekindle::trainer {

/// Reports the stage "Training" to a ProgressSink. Holds references to both. Not thread-safe.
class TrainingReport {
  public:
    TrainingReport(ProgressSink& sink, const mlp::Population& population, std::int64_t epochs,
                   std::uint64_t batches_per_epoch)
        : sink_(sink), population_(population), epochs_(epochs), batches_per_epoch_(batches_per_epoch) {}

    /// Networks that had diverged before this session are not reported again.
    void resume(const Checkpoint& state);
    /// Steps done, and the medians of the members that `training` names.
    void slice_ended(const Checkpoint& state, std::span<const std::size_t> training);
    /// Warns when more networks have diverged than at the last call, naming how many in all.
    void warn_of_divergence(const Checkpoint& state);

  private:
    ProgressSink& sink_;
    const mlp::Population& population_;
    std::int64_t epochs_;
    std::uint64_t batches_per_epoch_;
    std::size_t diverged_ = 0;
};

} // namespace rekindle::trainer
