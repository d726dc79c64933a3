#include "group_trainer.h"

#include <rekindle/base/clock.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace rekindle::trainer {

GroupTrainer::GroupTrainer(mlp::Population& population, const mlp::Samples& samples, std::size_t batch_size,
                           std::size_t threads)
    : population_(population), samples_(population.prepare(samples)), rows_(samples.count),
      batch_size_(batch_size), batches_per_epoch_((samples.count + batch_size - 1) / batch_size),
      orders_(samples.count, threads), slice_(population.size()) {}

void GroupTrainer::begin(const Checkpoint& state, const EarlyStopping& stopping) {
    members_.clear();
    std::vector<std::uint64_t> seeds;
    for (std::size_t m = state.group_begin; m < state.group_end; ++m)
        if (stopping.trains(state.members[m])) {
            members_.push_back(m);
            seeds.push_back(population_.training(m).seed);
        }
    if (!members_.empty())
        orders_.make(members_, seeds, state.epoch);
}

bool GroupTrainer::finished(const Checkpoint& state) const noexcept {
    return members_.empty() || state.batches_in_epoch >= batches_per_epoch_;
}

void GroupTrainer::train_slice(Checkpoint& state, std::uint64_t max_batches) {
    const std::uint64_t batches =
        std::min({slice_.batches(), batches_per_epoch_ - state.batches_in_epoch, max_batches});
    const std::size_t first = state.batches_in_epoch * batch_size_;
    const std::size_t count = std::min<std::size_t>(batches * batch_size_, rows_ - first);

    const auto start = std::chrono::steady_clock::now();
    const std::vector<mlp::TrainResult> results =
        population_.train(*samples_, orders_.slice(first, count, population_.size()), batch_size_);
    const double seconds = seconds_since(start);
    seconds_ += seconds;
    for (const std::size_t m : members_)
        add_result(state, m, results[m]);
    std::erase_if(members_, [&](std::size_t m) { return state.members[m].diverged; });
    state.batches_in_epoch += batches;
    slice_.took(seconds);
}

void GroupTrainer::add_result(Checkpoint& state, std::size_t m, const mlp::TrainResult& result) {
    if (!result.finite && population_.size() == 1)
        throw Error(
            fmt::format(
                "the loss or a gradient is no longer finite at step {} (epoch {}, learning rate {:.3g})",
                population_.steps(m) + 1, state.epoch + 1, population_.learning_rate(m)))
            .hint("Lower --learning-rate or turn on clipping (--clip-norm 1). The last checkpoint is "
                  "intact.");
    MemberState& member = state.members[m];
    member.diverged = !result.finite;
    member.epoch_loss_sum += result.loss_sum;
    member.epoch_rows += result.rows;
    member.gradient_norm = result.last_gradient_norm;
    network_steps_ += result.steps;
}

} // namespace rekindle::trainer
