#include "walk_forward/importance.h"
#include "walk_forward/linear_forecasts.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/network.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

namespace rekindle::research {

namespace {

/// Memory limit for the order of rows in an epoch, which takes 4 bytes per row and network.
constexpr std::size_t order_bytes = std::size_t{128} << 20;
/// Training rows × epochs of a group. An interruption loses at most this work, a minute or less.
constexpr double group_work = 2e8;

/// Divides the folds into groups [begin, end) that are processed together.
std::vector<RowRange> groups_of(std::span<const Fold> folds, std::size_t columns,
                                const trainer::TrainConfig& config, std::size_t block_bytes) {
    std::vector<RowRange> groups;
    std::size_t bytes = 0, orders = 0;
    double work = 0;
    const auto seeds = static_cast<std::size_t>(config.population);
    for (std::size_t f = 0; f < folds.size(); ++f) {
        const std::size_t rows = rows_in(folds[f].train);
        bytes += FoldBlock::bytes_of(folds[f], columns);
        orders += rows * seeds * sizeof(std::uint32_t);
        work += static_cast<double>(rows * seeds) * static_cast<double>(config.epochs);
        if (groups.empty() || bytes > block_bytes || orders > order_bytes || work > group_work) {
            groups.push_back({f, f});
            bytes = FoldBlock::bytes_of(folds[f], columns);
            orders = rows * seeds * sizeof(std::uint32_t);
            work = static_cast<double>(rows * seeds) * static_cast<double>(config.epochs);
        }
        groups.back().end = f + 1;
    }
    return groups;
}

/// One call of forecast_folds().
class FoldForecaster {
  public:
    FoldForecaster(const ForecastRows& rows, std::span<const Fold> folds,
                   const std::vector<std::vector<std::size_t>>& path_of, const trainer::TrainConfig& config,
                   const MakePopulation& make_population, ThreadPool& pool, JobStore* store,
                   trainer::ProgressSink& progress, const CancellationToken& cancellation)
        : rows_(rows), folds_(folds), path_of_(path_of), config_(config), make_population_(make_population),
          pool_(pool), store_(store), progress_(progress), cancellation_(cancellation),
          model_(trainer::network_of(config, rows.inputs(), rows.meaning)), importance_(rows.input_names()) {
        for (const Fold& fold : folds)
            total_ += steps_of(rows_in(fold.train)) * static_cast<std::uint64_t>(config.population);
    }

    FoldForecasts run(std::size_t block_bytes);

  private:
    using Results = std::map<std::pair<std::size_t, std::uint64_t>, NetworkResult>; ///< by fold and seed

    std::uint64_t steps_of(std::size_t rows) const {
        const auto batch = static_cast<std::size_t>(config_.batch_size);
        return (rows + batch - 1) / batch * static_cast<std::uint64_t>(config_.epochs);
    }
    std::uint64_t seed_of(std::int64_t network) const {
        return static_cast<std::uint64_t>(config_.seed + network);
    }
    /// False if the token asked to stop.
    bool run_group(RowRange group);
    std::vector<NetworkJob> missing_jobs(RowRange group, const FoldBlock& block, Results& results);
    bool train(const FoldBlock& block, RowRange group, std::vector<NetworkJob> jobs, Results& results);
    void add_fold(std::size_t fold, const FoldRows& fold_rows, const std::vector<double>& linear,
                  const Results& results);

    const ForecastRows& rows_;
    std::span<const Fold> folds_;
    const std::vector<std::vector<std::size_t>>& path_of_;
    const trainer::TrainConfig& config_;
    const MakePopulation& make_population_;
    ThreadPool& pool_;
    JobStore* store_;
    trainer::ProgressSink& progress_;
    const CancellationToken& cancellation_;
    mlp::ModelDescription model_;
    ImportanceOfGroups importance_;
    std::uint64_t total_ = 0, done_ = 0; ///< network-steps
    FoldForecasts all_;
};

std::vector<NetworkJob> FoldForecaster::missing_jobs(RowRange group, const FoldBlock& block,
                                                     Results& results) {
    std::vector<NetworkJob> jobs;
    for (std::size_t f = group.begin; f < group.end; ++f) {
        const FoldRows& fold = block.folds()[f - group.begin];
        for (std::int64_t n = 0; n < config_.population; ++n) {
            const std::uint64_t seed = seed_of(n);
            if (auto stored = store_ != nullptr ? store_->find(f, seed) : std::nullopt) {
                results.emplace(std::pair(f, seed), std::move(*stored));
                done_ += steps_of(fold.train.size());
                continue;
            }
            NetworkJob job{f,
                           trainer::training_spec(config_, rows_.meaning, fold.train.size(), pool_.size())};
            job.training.seed = seed;
            jobs.push_back(std::move(job));
        }
    }
    return jobs;
}

bool FoldForecaster::train(const FoldBlock& block, RowRange group, std::vector<NetworkJob> jobs,
                           Results& results) {
    std::vector<mlp::TrainingSpec> members;
    double steps = 0, rows = 0;
    std::vector<NetworkJob> of_block = jobs;
    for (NetworkJob& job : of_block) {
        members.push_back(job.training);
        steps = std::max(steps, static_cast<double>(steps_of(rows_in(folds_[job.fold].train))));
        rows += static_cast<double>(rows_in(folds_[job.fold].train)) * static_cast<double>(config_.epochs);
        job.fold -= group.begin;
    }
    const auto population = make_population_(model_, members, steps);
    const JobSettings settings{config_.epochs, static_cast<std::size_t>(config_.batch_size), pool_.size(),
                               importance_.columns()};
    const auto start = std::chrono::steady_clock::now();
    const auto report = [&](std::uint64_t done, std::uint64_t, double loss) {
        progress_.advanced({.stage = "Training",
                            .done = done_ + done,
                            .total = total_,
                            .unit = "network-steps",
                            .loss = loss,
                            .validation_loss = std::numeric_limits<double>::quiet_NaN(),
                            .learning_rate = std::numeric_limits<double>::quiet_NaN(),
                            .networks = jobs.size()});
    };
    auto trained = train_networks(*population, block, of_block, settings, report, cancellation_);
    all_.training_seconds += seconds_since(start);
    if (!trained)
        return false;
    all_.trained_rows += static_cast<std::uint64_t>(rows);
    for (const NetworkJob& job : jobs)
        done_ += steps_of(rows_in(folds_[job.fold].train));
    if (store_ != nullptr)
        store_->add(jobs, *trained);
    for (std::size_t j = 0; j < jobs.size(); ++j)
        results.emplace(std::pair(jobs[j].fold, jobs[j].training.seed), std::move((*trained)[j]));
    return true;
}

void FoldForecaster::add_fold(std::size_t fold, const FoldRows& fold_rows, const std::vector<double>& linear,
                              const Results& results) {
    const std::size_t width = model_.outputs();
    std::size_t first = 0; // index among the fold's test rows
    for (std::size_t b = 0; b < folds_[fold].test.size(); ++b) {
        const RowRange range = folds_[fold].test[b];
        BlockForecasts block{fold, path_of_[fold][b], range, {}, {}, {}};
        for (const FoldInstrument& instrument : fold_rows.instruments)
            block.references.push_back({instrument.training_mean, instrument.share_up});
        const auto begin = linear.begin() + static_cast<std::ptrdiff_t>(first);
        block.linear.assign(begin, begin + static_cast<std::ptrdiff_t>(range.size()));
        for (std::int64_t n = 0; n < config_.population; ++n) {
            const NetworkResult& result = results.at({fold, seed_of(n)});
            auto& forecasts = block.networks.emplace_back();
            for (std::size_t row = 0; row < range.size() && !result.diverged; ++row)
                forecasts.push_back(trainer::forecast_of(
                    fold_rows.of(rows_, range.begin + row).meaning,
                    std::span(result.outputs).subspan((first + row) * width, width),
                    result.training_errors[rows_.matrix.instrument_of(range.begin + row)]));
        }
        first += range.size();
        all_.blocks.push_back(std::move(block));
    }
    std::size_t usable = 0;
    for (std::int64_t n = 0; n < config_.population; ++n) {
        const NetworkResult& result = results.at({fold, seed_of(n)});
        usable += result.diverged ? 0 : 1;
        importance_.add(fold, result);
    }
    all_.networks += static_cast<std::uint64_t>(config_.population);
    all_.diverged += static_cast<std::uint64_t>(config_.population) - usable;
    if (usable == 0)
        throw Error(fmt::format("no network of fold {} has a finite loss", fold + 1))
            .hint("Lower --learning-rate or turn on clipping (--clip-norm 1).");
}

bool FoldForecaster::run_group(RowRange group) {
    const auto folds = folds_.subspan(group.begin, group.size());
    const FoldBlock block(rows_, folds, pool_);
    Results results;
    std::vector<NetworkJob> jobs = missing_jobs(group, block, results);
    if (!jobs.empty() && !train(block, group, std::move(jobs), results))
        return false;
    std::vector<std::vector<double>> linear(folds.size());
    pool_.for_each(folds.size(), [&](std::size_t f) {
        linear[f] = linear_forecasts(rows_, folds[f], block.folds()[f], block);
    });
    for (std::size_t f = 0; f < folds.size(); ++f)
        add_fold(group.begin + f, block.folds()[f], linear[f], results);
    return true;
}

FoldForecasts FoldForecaster::run(std::size_t block_bytes) {
    for (const RowRange& group : groups_of(folds_, rows_.inputs(), config_, block_bytes))
        if (cancellation_.requested() || !run_group(group)) {
            all_.interrupted = true;
            return std::move(all_);
        }
    all_.importance = importance_.result();
    return std::move(all_);
}

} // namespace

trainer::Forecast BlockForecasts::mean(std::size_t row) const {
    return trainer::mean_forecast(networks, row);
}

FoldForecasts forecast_folds(const ForecastRows& rows, std::span<const Fold> folds,
                             const std::vector<std::vector<std::size_t>>& path_of,
                             const trainer::TrainConfig& config, const MakePopulation& make_population,
                             ThreadPool& pool, JobStore* store, trainer::ProgressSink& progress,
                             const CancellationToken& cancellation, std::size_t block_bytes) {
    return FoldForecaster(rows, folds, path_of, config, make_population, pool, store, progress, cancellation)
        .run(block_bytes);
}

} // namespace rekindle::research
