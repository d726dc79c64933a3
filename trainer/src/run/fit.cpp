#include <rekindle/base/error.h>
#include <rekindle/base/philox.h>
#include <rekindle/base/text.h>
#include <rekindle/trainer/fit.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double seconds_between_checkpoints = 30;
/// Long enough that looking at the clock costs nothing, short enough that Ctrl-C is answered at once.
constexpr double seconds_per_slice = 0.05;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The state of one call of fit().
class Fitting {
  public:
    Fitting(mlp::Engine& engine, const mlp::Samples& train, const mlp::Samples& validation,
            const FitOptions& options, CheckpointStore& store, ProgressSink& progress,
            const CancellationToken& cancellation)
        : engine_(engine), train_(train), validation_(validation), options_(options), store_(store),
          progress_(progress), cancellation_(cancellation),
          batches_per_epoch_((train.count + options.batch_size - 1) / options.batch_size) {
        state_.config_hash = options.config_hash;
        state_.data_hash = options.data_hash;
        state_.data_summary = options.data_summary;
        state_.best_validation_loss = std::numeric_limits<double>::max();
    }

    void resume(const Checkpoint& checkpoint) {
        state_ = checkpoint;
        engine_.restore(checkpoint.engine);
    }

    FitResult run() {
        const auto start = Clock::now();
        last_checkpoint_ = start;
        while (!done() && run_epoch()) {
        }
        if (!done())
            save();
        FitResult result{state_.history,    state_.best_parameters,      state_.best_optimizer,
                         state_.best_epoch, state_.best_validation_loss, state_.training_seconds,
                         checkpoints_,      checkpoint_seconds_,         !done(),
                         stopped_early()};
        progress_.stage_ended("Training", seconds_since(start), summary(result));
        return result;
    }

  private:
    bool stopped_early() const {
        return options_.early_stopping > 0 && state_.epochs_without_improvement >= options_.early_stopping;
    }
    bool done() const { return state_.epoch >= options_.epochs || stopped_early(); }

    /// False when the token asked to stop before the epoch was over.
    bool run_epoch() {
        const auto start = Clock::now();
        const double earlier = state_.epoch_seconds;
        const auto order = epoch_order(train_.count, options_.seed, state_.epoch);
        while (state_.batches_in_epoch < batches_per_epoch_) {
            if (cancellation_.requested())
                return false;
            run_slice(order);
            state_.epoch_seconds = earlier + seconds_since(start);
            if (checkpoint_is_due())
                save();
        }
        engine_.finish_accumulation();
        const double training_seconds = earlier + seconds_since(start);
        end_epoch(start, earlier, training_seconds);
        save();
        return true;
    }

    void run_slice(std::span<const std::uint32_t> order) {
        std::uint64_t batches = std::min(slice_batches_, batches_per_epoch_ - state_.batches_in_epoch);
        if (const auto interval = static_cast<std::uint64_t>(options_.checkpoint_interval); interval > 0)
            batches = std::min(batches, interval - state_.batches_in_epoch % interval);
        const std::size_t first = state_.batches_in_epoch * options_.batch_size;
        const std::size_t count = std::min<std::size_t>(batches * options_.batch_size, order.size() - first);

        const auto start = Clock::now();
        const mlp::TrainResult result =
            engine_.train(train_, order.subspan(first, count), options_.batch_size);
        const double seconds = seconds_since(start);
        if (!result.finite)
            throw Error(
                fmt::format(
                    "the loss or a gradient is no longer finite at step {} (epoch {}, learning rate {:.3g})",
                    engine_.steps() + 1, state_.epoch + 1, engine_.learning_rate()))
                .hint("Lower --learning-rate or turn clipping on (--clip-norm 1). The last checkpoint is "
                      "whole.");
        state_.epoch_loss_sum += result.loss_sum;
        state_.epoch_rows += result.rows;
        state_.batches_in_epoch += batches;
        gradient_norm_ = result.last_gradient_norm;
        if (seconds < seconds_per_slice / 2)
            slice_batches_ = std::min<std::uint64_t>(slice_batches_ * 2, std::uint64_t{1} << 24);
        else if (seconds > seconds_per_slice * 2)
            slice_batches_ = std::max<std::uint64_t>(slice_batches_ / 2, 1);
        report();
    }

    void report() {
        StageProgress progress;
        progress.stage = "Training";
        progress.done =
            static_cast<std::uint64_t>(state_.epoch) * batches_per_epoch_ + state_.batches_in_epoch;
        progress.total = static_cast<std::uint64_t>(options_.epochs) * batches_per_epoch_;
        progress.unit = "steps";
        progress.loss =
            state_.epoch_loss_sum / static_cast<double>(std::max<std::uint64_t>(1, state_.epoch_rows));
        progress.validation_loss =
            state_.history.empty() ? not_a_number : state_.history.back().validation_loss;
        progress.learning_rate = engine_.learning_rate();
        progress_.advanced(progress);
    }

    void end_epoch(Clock::time_point start, double earlier, double training_seconds) {
        EpochMetrics metrics;
        metrics.learning_rate = engine_.learning_rate();
        metrics.validation_loss = engine_.evaluate(validation_) / static_cast<double>(validation_.count);
        metrics.accuracy = direction_accuracy();
        engine_.report_validation_loss(metrics.validation_loss);
        if (!std::isfinite(metrics.validation_loss))
            throw Error(fmt::format("the validation loss of epoch {} is not finite", state_.epoch + 1))
                .hint("Lower --learning-rate. The last checkpoint is whole.");
        metrics.best = metrics.validation_loss < state_.best_validation_loss;
        if (metrics.best) {
            state_.best_validation_loss = metrics.validation_loss;
            state_.best_epoch = state_.epoch + 1;
            state_.best_parameters = engine_.evaluation_parameters();
            state_.best_optimizer = optimizer_moments(engine_);
            state_.epochs_without_improvement = 0;
        } else {
            ++state_.epochs_without_improvement;
        }
        metrics.epoch = state_.epoch + 1;
        metrics.epochs = options_.epochs;
        metrics.train_loss = state_.epoch_loss_sum / static_cast<double>(state_.epoch_rows);
        metrics.gradient_norm = gradient_norm_;
        metrics.steps = engine_.steps();
        metrics.seconds = earlier + seconds_since(start);
        metrics.rows_per_second = static_cast<double>(state_.epoch_rows) / std::max(1e-9, training_seconds);
        state_.training_seconds += metrics.seconds;
        state_.history.push_back(metrics);
        ++state_.epoch;
        state_.batches_in_epoch = 0;
        state_.epoch_loss_sum = 0;
        state_.epoch_rows = 0;
        state_.epoch_seconds = 0;
        progress_.epoch_ended(metrics);
    }

    double direction_accuracy() const {
        constexpr std::size_t block = 4096;
        const std::size_t outputs = engine_.model().outputs();
        std::vector<float> predicted(block * outputs);
        std::size_t right = 0;
        for (std::size_t first = 0; first < validation_.count; first += block) {
            const std::size_t rows = std::min(block, validation_.count - first);
            engine_.predict(validation_.inputs + first * validation_.stride, validation_.stride, rows,
                            std::span(predicted).first(rows * outputs));
            for (std::size_t r = 0; r < rows; ++r)
                right +=
                    (predicted[r * outputs] > 0) == (validation_.targets[first + r] > options_.up_threshold);
        }
        return static_cast<double>(right) / static_cast<double>(validation_.count);
    }

    bool checkpoint_is_due() const {
        if (options_.checkpoint_interval > 0)
            return state_.batches_in_epoch % static_cast<std::uint64_t>(options_.checkpoint_interval) == 0 &&
                   state_.batches_in_epoch < batches_per_epoch_;
        return seconds_since(last_checkpoint_) > seconds_between_checkpoints;
    }

    void save() {
        const auto start = Clock::now();
        state_.engine = engine_.save();
        store_.save(state_);
        last_checkpoint_ = Clock::now();
        checkpoint_seconds_ += seconds_since(start);
        ++checkpoints_;
    }

    std::string summary(const FitResult& result) const {
        if (result.interrupted)
            return fmt::format("stopped in epoch {} of {} after batch {}; the state is saved",
                               state_.epoch + 1, options_.epochs, state_.batches_in_epoch);
        return fmt::format("{} epochs{}, best validation loss {:.6g} in epoch {}; {} checkpoints took {}",
                           state_.epoch, result.stopped_early ? " (stopped early)" : "",
                           result.best_validation_loss, result.best_epoch, result.checkpoints,
                           format_duration(result.checkpoint_seconds));
    }

    mlp::Engine& engine_;
    const mlp::Samples& train_;
    const mlp::Samples& validation_;
    const FitOptions& options_;
    CheckpointStore& store_;
    ProgressSink& progress_;
    const CancellationToken& cancellation_;
    std::uint64_t batches_per_epoch_;
    std::uint64_t slice_batches_ = 64;
    Checkpoint state_;
    double gradient_norm_ = 0;
    Clock::time_point last_checkpoint_{};
    std::uint64_t checkpoints_ = 0;
    double checkpoint_seconds_ = 0;
};

} // namespace

std::vector<std::uint32_t> epoch_order(std::size_t rows, std::uint64_t seed, std::int64_t epoch) {
    std::vector<std::uint32_t> order(rows);
    std::iota(order.begin(), order.end(), 0u);
    PhiloxStream random(seed, RandomPurpose::shuffle, static_cast<std::uint32_t>(epoch));
    for (std::size_t i = rows; i > 1; --i)
        std::swap(order[i - 1], order[random.next_below(static_cast<std::uint32_t>(i))]);
    return order;
}

FitResult fit(mlp::Engine& engine, const mlp::Samples& train, const mlp::Samples& validation,
              const FitOptions& options, CheckpointStore& store, const std::optional<Checkpoint>& resume,
              ProgressSink& progress, const CancellationToken& cancellation) {
    Fitting fitting(engine, train, validation, options, store, progress, cancellation);
    if (resume)
        fitting.resume(*resume);
    return fitting.run();
}

} // namespace rekindle::trainer
