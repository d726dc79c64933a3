#include "median.h"
#include "row_orders.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/trainer/fit.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double seconds_between_checkpoints = 30;
/// Checkpoints of a population are large: they may take this share of the time.
constexpr double checkpoint_share = 0.05;
/// Long enough that checking the clock or launching work on a GPU costs nothing; short enough that Ctrl-C
/// takes effect immediately.
constexpr double seconds_per_slice = 0.05;
constexpr std::uint64_t first_slice_batches = 64;
/// Network-steps of the first slice of a population, whose speed is not known yet.
constexpr std::uint64_t first_slice_network_steps = 8192;
constexpr std::size_t prediction_block = 4096;                ///< rows
constexpr std::size_t max_predictions = std::size_t{1} << 22; ///< at a time, over all members

/// The state of one call of fit().
class Fitting {
  public:
    Fitting(mlp::Population& population, const mlp::Samples& train, const mlp::Samples& validation,
            const FitOptions& options, CheckpointStore& store, ProgressSink& progress,
            const CancellationToken& cancellation)
        : population_(population), train_set_(population.prepare(train)),
          validation_set_(population.prepare(validation)), train_(train), validation_(validation),
          options_(options), store_(store), progress_(progress), cancellation_(cancellation),
          orders_(train.count, options.threads),
          batches_per_epoch_((train.count + options.batch_size - 1) / options.batch_size),
          group_size_(std::max<std::size_t>(1, options.order_bytes / (sizeof(std::uint32_t) * train.count))),
          slice_batches_(several() ? std::clamp<std::uint64_t>(first_slice_network_steps / population.size(),
                                                               1, first_slice_batches)
                                   : first_slice_batches) {
        state_.config_hash = options.config_hash;
        state_.data_hash = options.data_hash;
        state_.data_summary = options.data_summary;
        state_.members.resize(population.size());
    }

    void resume(const Checkpoint& checkpoint) {
        if (checkpoint.members.size() != population_.size())
            throw Error(fmt::format("the checkpoint holds {}, the run has {}",
                                    counted(checkpoint.members.size(), "network"), population_.size()));
        state_ = checkpoint;
        diverged_before_ = diverged();
        for (std::size_t m = 0; m < state_.members.size(); ++m) {
            population_.restore(m, state_.members[m].engine);
            state_.members[m].engine = {};
        }
    }

    FitResult run() {
        const auto start = Clock::now();
        last_checkpoint_ = start;
        while (!done() && run_epoch()) {
        }
        if (!done() || unsaved_epochs_)
            save();
        FitResult result = take_result();
        progress_.stage_ended("Training", seconds_since(start), summary(result));
        return result;
    }

  private:
    bool several() const { return population_.size() > 1; }
    bool stopped_early(const MemberState& member) const {
        return options_.early_stopping > 0 && member.epochs_without_improvement >= options_.early_stopping;
    }
    bool trains(const MemberState& member) const { return !member.diverged && !stopped_early(member); }
    bool all_stopped() const {
        return std::ranges::none_of(state_.members, [&](const MemberState& m) { return trains(m); });
    }
    bool done() const { return state_.epoch >= options_.epochs || all_stopped(); }

    /// False when the token asked to stop before the epoch was over.
    bool run_epoch() {
        epoch_began_ = Clock::now();
        earlier_ = state_.epoch_seconds;
        for (;;) {
            if (state_.group_end <= state_.group_begin)
                state_.group_end =
                    std::min<std::uint64_t>(population_.size(), state_.group_begin + group_size_);
            if (!run_group())
                return false;
            if (state_.group_end == population_.size())
                break;
            state_.group_begin = state_.group_end;
            state_.batches_in_epoch = 0;
        }
        population_.finish_accumulation();
        end_epoch(earlier_ + seconds_since(epoch_began_));
        if (!several() || checkpoint_of_population_is_due())
            save();
        else
            unsaved_epochs_ = true;
        return true;
    }

    /// The rest of the epoch for the members of the group.
    bool run_group() {
        group_.clear();
        std::vector<std::uint64_t> seeds;
        for (std::size_t m = state_.group_begin; m < state_.group_end; ++m)
            if (trains(state_.members[m])) {
                group_.push_back(m);
                seeds.push_back(population_.training(m).seed);
            }
        if (group_.empty())
            return true;
        orders_.make(group_, seeds, state_.epoch);
        while (state_.batches_in_epoch < batches_per_epoch_ && !group_.empty()) {
            if (cancellation_.requested())
                return false;
            run_slice();
            state_.epoch_seconds = earlier_ + seconds_since(epoch_began_);
            if (checkpoint_is_due())
                save();
        }
        return true;
    }

    void run_slice() {
        std::uint64_t batches = std::min(slice_batches_, batches_per_epoch_ - state_.batches_in_epoch);
        if (const auto interval = static_cast<std::uint64_t>(options_.checkpoint_interval); interval > 0)
            batches = std::min(batches, interval - state_.batches_in_epoch % interval);
        const std::size_t first = state_.batches_in_epoch * options_.batch_size;
        const std::size_t count = std::min<std::size_t>(batches * options_.batch_size, train_.count - first);

        const auto start = Clock::now();
        const std::vector<mlp::TrainResult> results = population_.train(
            *train_set_, orders_.slice(first, count, population_.size()), options_.batch_size);
        const double seconds = seconds_since(start);
        stepping_seconds_ += seconds;
        for (const std::size_t m : group_)
            take(m, results[m]);
        std::erase_if(group_, [&](std::size_t m) { return state_.members[m].diverged; });
        state_.batches_in_epoch += batches;
        if (seconds < seconds_per_slice / 2)
            slice_batches_ = std::min<std::uint64_t>(slice_batches_ * 2, std::uint64_t{1} << 24);
        else if (seconds > seconds_per_slice * 2)
            slice_batches_ = std::max<std::uint64_t>(slice_batches_ / 2, 1);
        report();
    }

    void take(std::size_t m, const mlp::TrainResult& result) {
        MemberState& member = state_.members[m];
        if (!result.finite && !several())
            throw Error(
                fmt::format(
                    "the loss or a gradient is no longer finite at step {} (epoch {}, learning rate {:.3g})",
                    population_.steps(m) + 1, state_.epoch + 1, population_.learning_rate(m)))
                .hint("Lower --learning-rate or turn on clipping (--clip-norm 1). The last checkpoint is "
                      "intact.");
        member.diverged = !result.finite;
        member.epoch_loss_sum += result.loss_sum;
        member.epoch_rows += result.rows;
        member.gradient_norm = result.last_gradient_norm;
        network_steps_ += result.steps;
    }

    void report() {
        StageProgress progress;
        progress.stage = "Training";
        const std::uint64_t networks = population_.size();
        const std::uint64_t group = state_.group_end - state_.group_begin;
        progress.done = networks * static_cast<std::uint64_t>(state_.epoch) * batches_per_epoch_ +
                        state_.group_begin * batches_per_epoch_ + group * state_.batches_in_epoch;
        progress.total = networks * static_cast<std::uint64_t>(options_.epochs) * batches_per_epoch_;
        progress.unit = several() ? "network-steps" : "steps";
        progress.networks = networks;
        if (!group_.empty()) {
            progress.loss = median_of(group_, [&](std::size_t m) { return mean_loss(state_.members[m]); });
            progress.learning_rate = population_.learning_rate(group_.front());
        } else {
            progress.loss = progress.learning_rate = not_a_number;
        }
        progress.validation_loss =
            state_.history.empty() ? not_a_number : state_.history.back().validation_loss;
        progress_.advanced(progress);
    }

    static double mean_loss(const MemberState& member) {
        return member.epoch_loss_sum / static_cast<double>(std::max<std::uint64_t>(1, member.epoch_rows));
    }
    template <class Value>
    static double median_of(std::span<const std::size_t> members, Value&& value) {
        std::vector<double> values;
        values.reserve(members.size());
        for (const std::size_t m : members)
            values.push_back(static_cast<double>(value(m)));
        return median(std::move(values));
    }

    void end_epoch(double training_seconds) {
        std::vector<double> rates(population_.size());
        for (std::size_t m = 0; m < rates.size(); ++m)
            rates[m] = population_.learning_rate(m);
        std::vector<double> losses = population_.evaluate(*validation_set_, 0, validation_.count);
        std::vector<std::size_t> trained; // in this epoch and to its end
        for (std::size_t m = 0; m < losses.size(); ++m) {
            losses[m] /= static_cast<double>(validation_.count);
            if (trains(state_.members[m]))
                trained.push_back(m);
            else
                losses[m] = not_a_number; // its schedule stays as it was when it stopped
        }
        population_.report_validation_losses(losses);
        std::erase_if(trained, [&](std::size_t m) {
            state_.members[m].diverged = !std::isfinite(losses[m]);
            return state_.members[m].diverged;
        });
        if (!several() && trained.empty())
            throw Error(fmt::format("the validation loss of epoch {} is not finite", state_.epoch + 1))
                .hint("Lower --learning-rate. The last checkpoint is intact.");
        const std::vector<double> accuracies = direction_accuracies();
        for (const std::size_t m : trained)
            end_epoch_of(m, losses[m], accuracies[m], rates[m]);
        report_divergence();
        const bool best = update_best_member(trained);
        add_metrics(trained, training_seconds, best);
    }

    void end_epoch_of(std::size_t m, double loss, double accuracy, double rate) {
        MemberState& member = state_.members[m];
        if (loss < member.best_validation_loss) {
            member.best_validation_loss = loss;
            member.best_epoch = state_.epoch + 1;
            const auto parameters = population_.evaluation_parameters(m);
            if (state_.parameters.empty())
                state_.parameters = shapes_of(parameters);
            member.best_values = values_of(parameters);
            member.epochs_without_improvement = 0;
        } else {
            ++member.epochs_without_improvement;
        }
        member.history.push_back({member.epoch_loss_sum / static_cast<double>(member.epoch_rows), loss,
                                  accuracy, rate, member.gradient_norm, population_.steps(m)});
    }

    /// True when a member became the best of all in this epoch.
    bool update_best_member(std::span<const std::size_t> trained) {
        bool found = false;
        for (const std::size_t m : trained) {
            const MemberState& member = state_.members[m];
            const MemberState& leader = state_.members[state_.best_member];
            const bool better = member.best_validation_loss < leader.best_validation_loss;
            if (member.best_epoch != state_.epoch + 1 || (!better && m != state_.best_member))
                continue;
            state_.best_member = m;
            found = true;
        }
        if (found)
            state_.best_optimizer = optimizer_moments(population_, state_.best_member);
        return found;
    }

    std::size_t diverged() const {
        return static_cast<std::size_t>(std::ranges::count(state_.members, true, &MemberState::diverged));
    }

    void report_divergence() {
        const std::size_t now = diverged();
        if (now > diverged_before_)
            progress_.warning(
                fmt::format("{} of {} {} diverged (a loss or gradient was not finite) and {} no longer", now,
                            counted(static_cast<std::int64_t>(population_.size()), "network"),
                            now == 1 ? "has" : "have", now == 1 ? "trains" : "train"));
        diverged_before_ = now;
        if (now == population_.size())
            throw Error(fmt::format("none of {} has a finite loss (epoch {})",
                                    counted(static_cast<std::int64_t>(population_.size()), "network"),
                                    state_.epoch + 1))
                .hint("Lower --learning-rate or turn on clipping (--clip-norm 1). The last checkpoint is "
                      "intact.");
    }

    void add_metrics(std::span<const std::size_t> trained, double training_seconds, bool best) {
        const auto last = [&](double MemberEpoch::*figure) {
            return median_of(trained,
                             [&](std::size_t m) { return state_.members[m].history.back().*figure; });
        };
        EpochMetrics metrics;
        metrics.epoch = state_.epoch + 1;
        metrics.epochs = options_.epochs;
        metrics.train_loss = last(&MemberEpoch::train_loss);
        metrics.validation_loss = last(&MemberEpoch::validation_loss);
        metrics.accuracy = last(&MemberEpoch::accuracy);
        metrics.learning_rate = last(&MemberEpoch::learning_rate);
        metrics.gradient_norm = last(&MemberEpoch::gradient_norm);
        metrics.networks = trained.size();
        metrics.lowest_validation_loss = std::numeric_limits<double>::max();
        std::uint64_t rows = 0;
        for (const std::size_t m : trained) {
            const MemberState& member = state_.members[m];
            metrics.steps = std::max(metrics.steps, member.history.back().steps);
            metrics.lowest_validation_loss =
                std::min(metrics.lowest_validation_loss, member.history.back().validation_loss);
            rows += member.epoch_rows;
        }
        metrics.best = best;
        metrics.seconds = earlier_ + seconds_since(epoch_began_);
        metrics.rows_per_second = static_cast<double>(rows) / std::max(1e-9, training_seconds);
        state_.training_seconds += metrics.seconds;
        state_.history.push_back(metrics);
        ++state_.epoch;
        state_.batches_in_epoch = state_.group_begin = state_.group_end = 0;
        state_.epoch_seconds = 0;
        for (MemberState& member : state_.members) {
            member.epoch_loss_sum = 0;
            member.epoch_rows = 0;
        }
        progress_.epoch_ended(metrics);
    }

    /// Share of the validation rows with a direction (not flat) that each member predicts correctly; NaN when
    /// no row has one.
    std::vector<double> direction_accuracies() {
        const std::size_t outputs = population_.model().outputs();
        const std::size_t block = std::min(prediction_block, validation_.count);
        const std::size_t together =
            std::clamp<std::size_t>(max_predictions / (block * outputs), 1, population_.size());
        std::vector<std::size_t> right(population_.size());
        outputs_.resize(together * block * outputs);
        for (std::size_t member = 0; member < right.size(); member += together) {
            const std::size_t members = std::min(together, right.size() - member);
            for (std::size_t first = 0; first < validation_.count; first += block) {
                const std::size_t rows = std::min(block, validation_.count - first);
                population_.predict_members(member, members, *validation_set_, first, rows,
                                            std::span(outputs_).first(members * rows * outputs));
                for (std::size_t i = 0; i < members * rows; ++i) {
                    const double label = validation_.targets[first + i % rows];
                    right[member + i / rows] +=
                        label != options_.up_threshold &&
                        (outputs_[i * outputs] > 0) == (label > options_.up_threshold);
                }
            }
        }
        const auto flat = std::count_if(validation_.targets, validation_.targets + validation_.count,
                                        [&](float label) { return label == options_.up_threshold; });
        const auto moved = static_cast<double>(validation_.count) - static_cast<double>(flat);
        std::vector<double> shares;
        for (const std::size_t rows : right)
            shares.push_back(static_cast<double>(rows) / moved);
        return shares;
    }

    bool checkpoint_of_population_is_due() const {
        return seconds_since(last_checkpoint_) * checkpoint_share >= last_checkpoint_seconds_;
    }
    bool checkpoint_is_due() const {
        if (options_.checkpoint_interval > 0)
            return state_.batches_in_epoch % static_cast<std::uint64_t>(options_.checkpoint_interval) == 0 &&
                   state_.batches_in_epoch < batches_per_epoch_;
        return seconds_since(last_checkpoint_) > seconds_between_checkpoints &&
               (!several() || checkpoint_of_population_is_due());
    }

    void save() {
        const auto start = Clock::now();
        for (std::size_t m = 0; m < state_.members.size(); ++m)
            state_.members[m].engine = population_.save(m);
        store_.save(state_);
        for (MemberState& member : state_.members)
            member.engine = {};
        last_checkpoint_ = Clock::now();
        last_checkpoint_seconds_ = seconds_since(start);
        checkpoint_seconds_ += last_checkpoint_seconds_;
        ++checkpoints_;
        unsaved_epochs_ = false;
    }

    /// The epochs of the best member, with the times of all members' epochs.
    std::vector<EpochMetrics> history_of_best() const {
        std::vector<EpochMetrics> history;
        double lowest = std::numeric_limits<double>::max();
        const auto& own = state_.members[state_.best_member].history;
        for (std::size_t e = 0; e < own.size(); ++e) {
            EpochMetrics metrics = state_.history[e];
            metrics.train_loss = own[e].train_loss;
            metrics.validation_loss = own[e].validation_loss;
            metrics.accuracy = own[e].accuracy;
            metrics.learning_rate = own[e].learning_rate;
            metrics.gradient_norm = own[e].gradient_norm;
            metrics.steps = own[e].steps;
            metrics.best = own[e].validation_loss < lowest;
            lowest = std::min(lowest, own[e].validation_loss);
            history.push_back(metrics);
        }
        return history;
    }

    FitResult take_result() {
        const std::size_t best = state_.best_member;
        FitResult result;
        result.history = history_of_best();
        result.best_member = best;
        result.best_epoch = state_.members[best].best_epoch;
        result.best_validation_loss = state_.members[best].best_validation_loss;
        result.best_optimizer = state_.best_optimizer;
        if (result.best_epoch > 0)
            result.best_parameters = tensors_from(state_.parameters, state_.members[best].best_values);
        result.final_parameters = population_.parameters(best);
        result.final_optimizer = optimizer_moments(population_, best);
        result.interrupted = !done();
        result.stopped_early = all_stopped();
        for (std::size_t m = 0; m < state_.members.size(); ++m) {
            MemberState& member = state_.members[m];
            result.members.push_back({population_.training(m).seed, member.best_epoch,
                                      member.best_validation_loss, member.diverged, std::move(member.history),
                                      std::move(member.best_values)});
        }
        result.parameters = state_.parameters;
        result.training_seconds = state_.training_seconds;
        result.network_steps = network_steps_;
        result.stepping_seconds = stepping_seconds_;
        result.checkpoints = checkpoints_;
        result.checkpoint_seconds = checkpoint_seconds_;
        return result;
    }

    std::string summary(const FitResult& result) const {
        if (result.interrupted)
            return fmt::format("stopped in epoch {} of {} after batch {}; a checkpoint is saved",
                               state_.epoch + 1, options_.epochs, state_.batches_in_epoch);
        const std::string networks =
            several() ? fmt::format("{} networks, {} network-steps/s, ",
                                    with_thousands(static_cast<std::int64_t>(population_.size())),
                                    with_thousands(std::llround(static_cast<double>(network_steps_) /
                                                                std::max(1e-9, stepping_seconds_))))
                      : "";
        const std::string place = several() ? fmt::format("epoch {} of seed {}", result.best_epoch,
                                                          population_.training(result.best_member).seed)
                                            : fmt::format("epoch {}", result.best_epoch);
        return fmt::format("{}{}{}, best validation loss {:.6g} in {}; {} took {}", networks,
                           counted(state_.epoch, "epoch"), result.stopped_early ? " (stopped early)" : "",
                           result.best_validation_loss, place,
                           counted(static_cast<std::int64_t>(result.checkpoints), "checkpoint"),
                           format_duration(result.checkpoint_seconds));
    }

    mlp::Population& population_;
    std::unique_ptr<mlp::SampleSet> train_set_, validation_set_;
    const mlp::Samples& train_;
    const mlp::Samples& validation_;
    const FitOptions& options_;
    CheckpointStore& store_;
    ProgressSink& progress_;
    const CancellationToken& cancellation_;
    GroupOrders orders_;
    std::vector<std::size_t> group_; ///< members of the group that train
    std::vector<float> outputs_;
    std::uint64_t batches_per_epoch_;
    std::size_t group_size_;
    std::uint64_t slice_batches_;
    Checkpoint state_;
    Clock::time_point epoch_began_{};
    double earlier_ = 0; ///< seconds that earlier sessions spent on the current epoch
    std::size_t diverged_before_ = 0;
    std::uint64_t network_steps_ = 0;
    double stepping_seconds_ = 0;
    Clock::time_point last_checkpoint_{};
    double last_checkpoint_seconds_ = 0;
    std::uint64_t checkpoints_ = 0;
    double checkpoint_seconds_ = 0;
    bool unsaved_epochs_ = false;
};

} // namespace

FitResult fit(mlp::Population& population, const mlp::Samples& train, const mlp::Samples& validation,
              const FitOptions& options, CheckpointStore& store, const std::optional<Checkpoint>& resume,
              ProgressSink& progress, const CancellationToken& cancellation) {
    Fitting fitting(population, train, validation, options, store, progress, cancellation);
    if (resume)
        fitting.resume(*resume);
    return fitting.run();
}

} // namespace rekindle::trainer
