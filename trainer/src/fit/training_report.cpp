#include "training_report.h"

#include "epoch_figures.h"
#include "member_progress.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <limits>

namespace rekindle::trainer {

void TrainingReport::resume(const Checkpoint& state) {
    diverged_ = count_diverged(state.members);
}

void TrainingReport::slice_ended(const Checkpoint& state, std::span<const std::size_t> training) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const std::uint64_t networks = population_.size();
    const std::uint64_t group = state.group_end - state.group_begin;
    StageProgress progress;
    progress.stage = "Training";
    progress.done = networks * static_cast<std::uint64_t>(state.epoch) * batches_per_epoch_ +
                    state.group_begin * batches_per_epoch_ + group * state.batches_in_epoch;
    progress.total = networks * static_cast<std::uint64_t>(epochs_) * batches_per_epoch_;
    progress.unit = networks > 1 ? "network-steps" : "steps";
    progress.networks = networks;
    progress.loss = median_over(training, [&](std::size_t m) { return running_loss(state.members[m]); });
    progress.learning_rate = training.empty() ? none : population_.learning_rate(training.front());
    progress.validation_loss = state.history.empty() ? none : state.history.back().validation_loss;
    sink_.advanced(progress);
}

void TrainingReport::warn_of_divergence(const Checkpoint& state) {
    const std::size_t now = count_diverged(state.members);
    if (now > diverged_)
        sink_.warning(fmt::format("{} of {} {} diverged (a loss or gradient was not finite) and {} no longer",
                                  now, counted(static_cast<std::int64_t>(population_.size()), "network"),
                                  now == 1 ? "has" : "have", now == 1 ? "trains" : "train"));
    diverged_ = now;
}

} // namespace rekindle::trainer
