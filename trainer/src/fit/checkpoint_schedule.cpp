#include "checkpoint_schedule.h"

#include <limits>

namespace rekindle::trainer {

namespace {

constexpr double seconds_between_checkpoints = 30;
/// The share of the time that checkpoints of a population may take.
constexpr double checkpoint_share = 0.05;

double seconds_between(CheckpointSchedule::TimePoint begin, CheckpointSchedule::TimePoint end) {
    return std::chrono::duration<double>(end - begin).count();
}

} // namespace

std::uint64_t CheckpointSchedule::batches_to_next(std::uint64_t batches_in_epoch) const noexcept {
    return interval_ > 0 ? interval_ - batches_in_epoch % interval_
                         : std::numeric_limits<std::uint64_t>::max();
}

bool CheckpointSchedule::within_share(TimePoint now) const noexcept {
    return seconds_between(last_, now) * checkpoint_share >= last_seconds_;
}

bool CheckpointSchedule::due_in_epoch(std::uint64_t batches_in_epoch, std::uint64_t batches_per_epoch,
                                      TimePoint now) const noexcept {
    if (interval_ > 0)
        return batches_in_epoch % interval_ == 0 && batches_in_epoch < batches_per_epoch;
    return seconds_between(last_, now) > seconds_between_checkpoints && due_after_epoch(now);
}

bool CheckpointSchedule::due_after_epoch(TimePoint now) const noexcept {
    return !population_ || within_share(now);
}

void CheckpointSchedule::written(TimePoint began, TimePoint ended) noexcept {
    last_ = ended;
    last_seconds_ = seconds_between(began, ended);
    total_seconds_ += last_seconds_;
    ++count_;
}

} // namespace rekindle::trainer
