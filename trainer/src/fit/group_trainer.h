#pragma once
/// Trains a group of networks through an epoch, slice by slice.

#include "member_progress.h"

#include <rekindle/mlp/population.h>
#include <rekindle/trainer/checkpoint.h>
#include <rekindle/trainer/row_orders.h>
#include <rekindle/trainer/slice_length.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// The group is the range [group_begin, group_end) of a Checkpoint's members. Holds a reference to the
/// population. Not thread-safe.
class GroupTrainer {
  public:
    /// Prepares the rows for the population. `threads`: the number of threads that shuffle.
    GroupTrainer(mlp::Population& population, const mlp::Samples& samples, std::size_t batch_size,
                 std::size_t threads);

    std::uint64_t batches_per_epoch() const noexcept { return batches_per_epoch_; }
    /// The members of the group that train, in order.
    std::span<const std::size_t> members() const noexcept { return members_; }

    /// Chooses the group's members that train and shuffles their rows for the current epoch.
    void begin(const Checkpoint& state, const EarlyStopping& stopping);
    /// The group has no batch left, or no member.
    bool finished(const Checkpoint& state) const noexcept;
    /// Trains the next batches of the epoch, at most `max_batches`, and adds what they did to `state`. A
    /// member of several whose loss or gradient is not finite is marked as diverged and leaves the group.
    /// Throws Error when that happens to a single network.
    void train_slice(Checkpoint& state, std::uint64_t max_batches);

    std::uint64_t network_steps() const noexcept { return network_steps_; } ///< of all members, so far
    double seconds() const noexcept { return seconds_; }                    ///< spent on them

  private:
    void add_result(Checkpoint& state, std::size_t m, const mlp::TrainResult& result);

    mlp::Population& population_;
    std::unique_ptr<mlp::SampleSet> samples_;
    std::size_t rows_, batch_size_;
    std::uint64_t batches_per_epoch_;
    GroupOrders orders_;
    SliceLength slice_;
    std::vector<std::size_t> members_;
    std::uint64_t network_steps_ = 0;
    double seconds_ = 0;
};

} // namespace rekindle::trainer
