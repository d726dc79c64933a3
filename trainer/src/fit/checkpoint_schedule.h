#pragma once
/// When checkpoints are written: docs/formats/checkpoint.md.

#include <chrono>
#include <cstdint>

namespace rekindle::trainer {

/// Decides when the next checkpoint is due. The caller supplies the time and writes the files. Not
/// thread-safe.
class CheckpointSchedule {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// `interval`: batches between checkpoints within an epoch; 0: they are written by time. `population`:
    /// several networks train, so checkpoints are large and may take only a share of the time.
    CheckpointSchedule(std::int64_t interval, bool population, TimePoint start) noexcept
        : interval_(interval > 0 ? static_cast<std::uint64_t>(interval) : 0), population_(population),
          last_(start) {}

    /// Batches after which due_in_epoch() has to be called again: at least 1, up to the next multiple of the
    /// interval. The largest integer without an interval.
    std::uint64_t batches_to_next(std::uint64_t batches_in_epoch) const noexcept;
    /// After `batches_in_epoch` of `batches_per_epoch` batches; the end of an epoch is due_after_epoch().
    bool due_in_epoch(std::uint64_t batches_in_epoch, std::uint64_t batches_per_epoch,
                      TimePoint now) const noexcept;
    bool due_after_epoch(TimePoint now) const noexcept;
    /// A checkpoint was written between these times.
    void written(TimePoint began, TimePoint ended) noexcept;

    std::uint64_t count() const noexcept { return count_; }    ///< checkpoints written
    double seconds() const noexcept { return total_seconds_; } ///< spent on them

  private:
    bool within_share(TimePoint now) const noexcept;

    std::uint64_t interval_;
    bool population_;
    TimePoint last_;
    double last_seconds_ = 0, total_seconds_ = 0;
    std::uint64_t count_ = 0;
};

} // namespace rekindle::trainer
