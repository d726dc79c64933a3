#include "checkpoint_schedule.h"
#include "epoch_figures.h"
#include "group_trainer.h"
#include "member_progress.h"
#include "training_report.h"
#include "validator.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/fit.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

/// How long the current epoch has taken, in this session and in earlier ones.
class EpochTimer {
  public:
    explicit EpochTimer(double earlier_seconds) : earlier_(earlier_seconds) {}
    double seconds() const { return earlier_ + seconds_since(began_); }

  private:
    Clock::time_point began_ = Clock::now();
    double earlier_;
};

/// Members whose orders of rows fit into the memory for them; at least one.
std::size_t group_size_for(const FitOptions& options, std::size_t rows) {
    return std::max<std::size_t>(1, options.order_bytes / (sizeof(std::uint32_t) * rows));
}

/// The epochs of one call of fit(): which group trains next, when a checkpoint is written, when to stop.
class TrainingLoop {
  public:
    TrainingLoop(mlp::Population& population, const mlp::Samples& train, const mlp::Samples& validation,
                 const FitOptions& options, CheckpointStore& store, ProgressSink& progress,
                 const CancellationToken& cancellation)
        : population_(population), options_(options), store_(store), progress_(progress),
          cancellation_(cancellation), trainer_(population, train, options.batch_size, options.threads),
          validator_(population, validation, options.up_threshold), stopping_(options.early_stopping),
          report_(progress, population, options.epochs, trainer_.batches_per_epoch()),
          group_size_(group_size_for(options, train.count)),
          schedule_(options.checkpoint_interval, population.size() > 1, Clock::now()) {
        state_.config_hash = options.config_hash;
        state_.data_hash = options.data_hash;
        state_.data_summary = options.data_summary;
        state_.members.resize(population.size());
    }

    void resume(const Checkpoint& checkpoint);
    /// Trains until the end of the run, or until the token asks to stop. A checkpoint of the last state
    /// exists then.
    void run();
    /// What run() reached; leaves the loop without the members' histories and weights.
    FitResult take_result();

  private:
    bool done() const { return state_.epoch >= options_.epochs || stopping_.none_trains(state_.members); }
    /// These return false when the token asked to stop before the epoch was over.
    bool run_epoch();
    bool run_group(const EpochTimer& timer);

    void end_epoch(const EpochTimer& timer, double training_seconds);
    /// The members that trained to the end of the epoch. Reports every loss to its schedule and marks members
    /// whose loss is not finite as diverged.
    std::vector<std::size_t> check_losses(std::vector<double> losses);
    /// Adds the epoch to the member's history and keeps its weights when it is its best.
    void add_epoch_of(std::size_t m, MemberEpoch figures);
    /// True when a member became the best of all in this epoch.
    bool update_best_member(std::span<const std::size_t> trained);
    void require_a_finite_network() const;
    void begin_next_epoch();
    void save();

    mlp::Population& population_;
    const FitOptions& options_;
    CheckpointStore& store_;
    ProgressSink& progress_;
    const CancellationToken& cancellation_;
    GroupTrainer trainer_;
    Validator validator_;
    EarlyStopping stopping_;
    TrainingReport report_;
    std::size_t group_size_;
    CheckpointSchedule schedule_;
    Checkpoint state_;
    bool unsaved_epochs_ = false;
};

void TrainingLoop::resume(const Checkpoint& checkpoint) {
    if (checkpoint.members.size() != population_.size())
        throw Error(fmt::format("the checkpoint holds {}, the run has {}",
                                counted(checkpoint.members.size(), "network"), population_.size()));
    state_ = checkpoint;
    report_.resume(state_);
    for (std::size_t m = 0; m < state_.members.size(); ++m) {
        population_.restore(m, state_.members[m].engine);
        state_.members[m].engine = {};
    }
}

void TrainingLoop::run() {
    while (!done() && run_epoch()) {
    }
    if (!done() || unsaved_epochs_)
        save();
}

bool TrainingLoop::run_epoch() {
    const EpochTimer timer(state_.epoch_seconds);
    for (;;) {
        if (state_.group_end <= state_.group_begin)
            state_.group_end = std::min<std::uint64_t>(population_.size(), state_.group_begin + group_size_);
        if (!run_group(timer))
            return false;
        if (state_.group_end == population_.size())
            break;
        state_.group_begin = state_.group_end;
        state_.batches_in_epoch = 0;
    }
    population_.finish_accumulation();
    end_epoch(timer, timer.seconds());
    if (schedule_.due_after_epoch(Clock::now()))
        save();
    else
        unsaved_epochs_ = true;
    return true;
}

bool TrainingLoop::run_group(const EpochTimer& timer) {
    trainer_.begin(state_, stopping_);
    while (!trainer_.finished(state_)) {
        if (cancellation_.requested())
            return false;
        trainer_.train_slice(state_, schedule_.batches_to_next(state_.batches_in_epoch));
        report_.slice_ended(state_, trainer_.members());
        state_.epoch_seconds = timer.seconds();
        if (schedule_.due_in_epoch(state_.batches_in_epoch, trainer_.batches_per_epoch(), Clock::now()))
            save();
    }
    return true;
}

void TrainingLoop::end_epoch(const EpochTimer& timer, double training_seconds) {
    std::vector<double> rates(population_.size());
    for (std::size_t m = 0; m < rates.size(); ++m)
        rates[m] = population_.learning_rate(m);
    const std::vector<double> losses = validator_.losses();
    const std::vector<std::size_t> trained = check_losses(losses);
    const std::vector<double> accuracies = validator_.direction_accuracies();
    for (const std::size_t m : trained) {
        const MemberState& member = state_.members[m];
        add_epoch_of(m, {member.epoch_loss_sum / static_cast<double>(member.epoch_rows), losses[m],
                         accuracies[m], rates[m], member.gradient_norm, population_.steps(m)});
    }
    report_.warn_of_divergence(state_);
    require_a_finite_network();
    const bool best = update_best_member(trained);

    EpochMetrics metrics = figures_of_epoch(state_.members, trained, training_seconds);
    metrics.epoch = state_.epoch + 1;
    metrics.epochs = options_.epochs;
    metrics.best = best;
    metrics.seconds = timer.seconds();
    state_.training_seconds += metrics.seconds;
    state_.history.push_back(metrics);
    begin_next_epoch();
    progress_.epoch_ended(metrics);
}

std::vector<std::size_t> TrainingLoop::check_losses(std::vector<double> losses) {
    std::vector<std::size_t> trained;
    for (std::size_t m = 0; m < losses.size(); ++m)
        if (stopping_.trains(state_.members[m]))
            trained.push_back(m);
        else
            losses[m] = std::numeric_limits<double>::quiet_NaN(); // its schedule stays as it was
    population_.report_validation_losses(losses);
    std::erase_if(trained, [&](std::size_t m) {
        state_.members[m].diverged = !std::isfinite(losses[m]);
        return state_.members[m].diverged;
    });
    if (population_.size() == 1 && trained.empty())
        throw Error(fmt::format("the validation loss of epoch {} is not finite", state_.epoch + 1))
            .hint("Lower --learning-rate. The last checkpoint is intact.");
    return trained;
}

void TrainingLoop::add_epoch_of(std::size_t m, MemberEpoch figures) {
    MemberState& member = state_.members[m];
    if (!add_epoch(member, state_.epoch + 1, figures))
        return;
    const auto parameters = population_.evaluation_parameters(m);
    if (state_.parameters.empty())
        state_.parameters = shapes_of(parameters);
    member.best_values = values_of(parameters);
}

bool TrainingLoop::update_best_member(std::span<const std::size_t> trained) {
    const auto leader = new_leader(state_.members, state_.best_member, trained, state_.epoch + 1);
    if (!leader)
        return false;
    state_.best_member = *leader;
    state_.best_optimizer = optimizer_moments(population_, *leader);
    return true;
}

void TrainingLoop::require_a_finite_network() const {
    if (count_diverged(state_.members) == population_.size())
        throw Error(fmt::format("none of {} has a finite loss (epoch {})",
                                counted(static_cast<std::int64_t>(population_.size()), "network"),
                                state_.epoch + 1))
            .hint("Lower --learning-rate or turn on clipping (--clip-norm 1). The last checkpoint is "
                  "intact.");
}

void TrainingLoop::begin_next_epoch() {
    ++state_.epoch;
    state_.batches_in_epoch = state_.group_begin = state_.group_end = 0;
    state_.epoch_seconds = 0;
    for (MemberState& member : state_.members) {
        member.epoch_loss_sum = 0;
        member.epoch_rows = 0;
    }
}

void TrainingLoop::save() {
    const auto began = Clock::now();
    for (std::size_t m = 0; m < state_.members.size(); ++m)
        state_.members[m].engine = population_.save(m);
    store_.save(state_);
    for (MemberState& member : state_.members)
        member.engine = {};
    schedule_.written(began, Clock::now());
    unsaved_epochs_ = false;
}

FitResult TrainingLoop::take_result() {
    const std::size_t best = state_.best_member;
    FitResult result;
    result.history = history_of_member(state_, best);
    result.best_member = best;
    result.best_epoch = state_.members[best].best_epoch;
    result.best_validation_loss = state_.members[best].best_validation_loss;
    result.best_optimizer = state_.best_optimizer;
    if (result.best_epoch > 0)
        result.best_parameters = tensors_from(state_.parameters, state_.members[best].best_values);
    result.final_parameters = population_.parameters(best);
    result.final_optimizer = optimizer_moments(population_, best);
    result.epochs = state_.epoch;
    result.batches_in_epoch = state_.batches_in_epoch;
    result.interrupted = !done();
    result.stopped_early = stopping_.none_trains(state_.members);
    for (std::size_t m = 0; m < state_.members.size(); ++m) {
        MemberState& member = state_.members[m];
        result.members.push_back({population_.training(m).seed, member.best_epoch,
                                  member.best_validation_loss, member.diverged, std::move(member.history),
                                  std::move(member.best_values)});
    }
    result.parameters = state_.parameters;
    result.training_seconds = state_.training_seconds;
    result.network_steps = trainer_.network_steps();
    result.stepping_seconds = trainer_.seconds();
    result.checkpoints = schedule_.count();
    result.checkpoint_seconds = schedule_.seconds();
    return result;
}

/// One line about the stage "Training".
std::string summary_of(const FitResult& result, std::int64_t planned_epochs) {
    if (result.interrupted)
        return fmt::format("stopped in epoch {} of {} after batch {}; a checkpoint is saved",
                           result.epochs + 1, planned_epochs, result.batches_in_epoch);
    const bool several = result.members.size() > 1;
    const std::string networks =
        several ? fmt::format("{} networks, {} network-steps/s, ",
                              with_thousands(static_cast<std::int64_t>(result.members.size())),
                              with_thousands(std::llround(static_cast<double>(result.network_steps) /
                                                          std::max(1e-9, result.stepping_seconds))))
                : "";
    const std::string place = several ? fmt::format("epoch {} of seed {}", result.best_epoch,
                                                    result.members[result.best_member].seed)
                                      : fmt::format("epoch {}", result.best_epoch);
    return fmt::format("{}{}{}, best validation loss {:.6g} in {}; {} took {}", networks,
                       counted(result.epochs, "epoch"), result.stopped_early ? " (stopped early)" : "",
                       result.best_validation_loss, place,
                       counted(static_cast<std::int64_t>(result.checkpoints), "checkpoint"),
                       format_duration(result.checkpoint_seconds));
}

} // namespace

FitResult fit(mlp::Population& population, const mlp::Samples& train, const mlp::Samples& validation,
              const FitOptions& options, CheckpointStore& store, const std::optional<Checkpoint>& resume,
              ProgressSink& progress, const CancellationToken& cancellation) {
    TrainingLoop loop(population, train, validation, options, store, progress, cancellation);
    if (resume)
        loop.resume(*resume);
    const auto start = Clock::now();
    loop.run();
    FitResult result = loop.take_result();
    progress.stage_ended("Training", seconds_since(start), summary_of(result, options.epochs));
    return result;
}

} // namespace rekindle::trainer
