#include "search/trial_trainer.h"

#include <rekindle/base/clock.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

namespace rekindle::research {

namespace {

using Json = nlohmann::ordered_json;
using Steady = std::chrono::steady_clock;

/// Settings that all networks of a population share, besides the network's layers; see mlp::Population.
constexpr std::array<std::string_view, 7> shared_keys{"loss",
                                                      "huber_delta",
                                                      "optimizer",
                                                      "schedule",
                                                      "batch_size",
                                                      "gradient_accumulation_steps",
                                                      "use_mixed_precision"};
/// Settings on which the network depends.
constexpr std::array<std::string_view, 4> network_keys{"model", "hidden_layers", "activation",
                                                       "dropout_rate"};
constexpr std::size_t most_members = 16'384;

std::size_t seeds_of(const trainer::TrainConfig& config) {
    return static_cast<std::size_t>(config.population);
}

/// The networks of a trial, ordered by fold and then by seed.
std::vector<NetworkJob> jobs_of(const ReadyTrial& trial, std::size_t threads) {
    std::vector<NetworkJob> jobs;
    const auto folds = trial.data->block.folds();
    const std::vector<double> rates = trial.network.dropout_rates();
    for (std::size_t f = 0; f < folds.size(); ++f)
        for (std::size_t s = 0; s < seeds_of(trial.config); ++s) {
            NetworkJob job{f, trainer::training_spec(trial.config, trial.data->rows.meaning,
                                                     folds[f].train.size(), threads)};
            job.training.seed = static_cast<std::uint64_t>(trial.config.seed) + s;
            job.training.dropout_rates = rates;
            jobs.push_back(std::move(job));
        }
    return jobs;
}

std::vector<mlp::TrainingSpec> members_of(std::span<const NetworkJob> jobs) {
    std::vector<mlp::TrainingSpec> members;
    members.reserve(jobs.size());
    for (const NetworkJob& job : jobs)
        members.push_back(job.training);
    return members;
}

/// With its dropout layers even if their rate is 0, because trials that differ only in the rate train as one
/// population.
mlp::ModelDescription network_of(const trainer::TrainConfig& config, const ForecastRows& rows) {
    if (!config.model.empty() || config.dropout_rate > 0)
        return trainer::network_of(config, rows.inputs(), rows.meaning);
    trainer::TrainConfig any_rate = config;
    any_rate.dropout_rate = 0.1;
    const auto network = trainer::network_of(any_rate, rows.inputs(), rows.meaning);
    return network.with_dropout_rates(std::vector<double>(network.dropout_rates().size(), 0));
}

/// A trial's score needs no sigma, so no network predicts its training rows.
JobSettings job_settings(const ReadyTrial& trial, std::size_t threads) {
    return {.epochs = trial.config.epochs,
            .batch_size = static_cast<std::size_t>(trial.config.batch_size),
            .threads = threads,
            .training_errors = false};
}

/// The number of steps of the network with the most rows.
double longest_steps(const ReadyTrial& trial) {
    std::size_t rows = 0;
    for (const FoldRows& fold : trial.data->block.folds())
        rows = std::max(rows, fold.train.size());
    const auto batch = static_cast<std::size_t>(trial.config.batch_size);
    return static_cast<double>((rows + batch - 1) / batch) * static_cast<double>(trial.config.epochs);
}

/// The number of trials that a slow GPU trains in a few seconds. The first group also compiles
/// pipelines, so its time does not determine the size of the next one.
std::size_t first_group(const ReadyTrial& trial) {
    constexpr double multiply_adds = 5e10;
    const double of_trial = 3 * static_cast<double>(trainer::parameter_count(trial.network)) *
                            longest_steps(trial) * static_cast<double>(trial.config.batch_size) *
                            static_cast<double>(jobs_of(trial, 1).size());
    return static_cast<std::size_t>(multiply_adds / std::max(1.0, of_trial));
}

Trial scored_trial(const ReadyTrial& ready, std::span<const NetworkResult> results, double seconds) {
    Trial trial;
    trial.number = ready.plan.number;
    trial.rung = ready.plan.rung;
    trial.epochs = ready.config.epochs;
    trial.settings = ready.settings;
    trial.seconds = seconds;
    score_trial(ready.data->rows, ready.data->scored, ready.data->block, seeds_of(ready.config), results,
                trial);
    return trial;
}

/// Trials of one search with the same key train as one population.
std::string population_key(const ReadyTrial& trial) {
    const std::vector<double> no_rates(trial.network.dropout_rates().size(), 0);
    return fmt::format("{} {} {} {} {} {}", chosen_values(trial.settings, shared_keys), trial.config.epochs,
                       trial.config.clip_norm > 0, trial.config.ema > 0,
                       static_cast<const void*>(trial.data.get()),
                       nlohmann::json(trial.network.with_dropout_rates(no_rates)).dump());
}

} // namespace

std::vector<ReadyTrial> ready_trials(const StoredSearch& search, const SearchPoints& points,
                                     std::span<const PlannedTrial> plan, TrialDataCache& data) {
    std::vector<ReadyTrial> ready;
    std::map<std::pair<std::string, const TrialData*>, mlp::ModelDescription> networks;
    const bool halving = search.rules.method == SearchMethod::halving;
    for (const PlannedTrial& trial : plan) {
        Json settings = settings_of(points.dimensions(), points.at(trial.number));
        trainer::TrainConfig config =
            config_of(search, settings, halving ? std::optional(trial.epochs) : std::nullopt);
        auto rows = data.get(settings);
        auto& network = networks[{chosen_values(settings, network_keys), rows.get()}];
        if (network.layers.empty())
            network = network_of(config, rows->rows);
        ready.push_back({trial, std::move(settings), std::move(config), std::move(rows), network});
    }
    return ready;
}

TrialTrainer::TrialTrainer(const trainer::TrainConfig& config, std::uint64_t total, ThreadPool& pool,
                           trainer::ProgressSink& progress)
    : config_(config), total_(total), pool_(pool), progress_(progress), group_(pool.size()) {
    trainer::TrainConfig spread = config;
    spread.population = std::max<std::int64_t>(2, config.population); // trials can be spread over devices
    devices_.emplace(spread, progress);
    if (config.device != "auto")
        cpu_ = config.device == "cpu";
}

bool TrialTrainer::on_cpu(const ReadyTrial& first) {
    if (!cpu_) {
        std::vector<mlp::TrainingSpec> members;
        const auto jobs = members_of(jobs_of(first, pool_.size()));
        while (members.size() < most_members && members.size() < total_ * jobs.size())
            members.insert(members.end(), jobs.begin(), jobs.end());
        const auto prepared =
            devices_->prepare({first.network, members, static_cast<std::size_t>(first.config.batch_size),
                               first.config.epochs, longest_steps(first), pool_.size()},
                              progress_);
        cpu_ = prepared.use.device.starts_with("cpu");
        devices_->keep_choice();
    }
    return *cpu_;
}

std::vector<Trial> TrialTrainer::run(std::span<const ReadyTrial> trials,
                                     const std::function<void(std::uint64_t)>& report,
                                     const CancellationToken& cancellation) {
    const auto start = Steady::now();
    const bool cpu = on_cpu(trials.front());
    std::vector<Trial> finished =
        cpu ? run_on_cpu(trials, report, cancellation) : run_on_devices(trials, report, cancellation);
    const std::size_t networks = cpu ? 1 : jobs_of(trials.front(), 1).size();
    const std::size_t most_trials = std::max(pool_.size(), most_members / networks);
    if (!cpu && !std::exchange(started_, true)) {
        group_ = std::clamp(first_group(trials.front()), pool_.size(), most_trials);
        return finished;
    }
    // Part of the time on a GPU does not depend on the number of trials, so its groups take longer.
    const double long_enough = cpu ? 0.5 : 5;
    constexpr double most_growth = 4;
    const double growth = std::clamp(long_enough / std::max(1e-6, seconds_since(start)), 0.25, most_growth);
    group_ = std::clamp(static_cast<std::size_t>(static_cast<double>(trials.size()) * growth), pool_.size(),
                        most_trials);
    return finished;
}

std::vector<Trial> TrialTrainer::run_on_cpu(std::span<const ReadyTrial> trials,
                                            const std::function<void(std::uint64_t)>& report,
                                            const CancellationToken& cancellation) {
    std::vector<Trial> finished(trials.size());
    std::atomic<std::uint64_t> steps{0};
    std::atomic<bool> stopped{false};
    const auto caller = std::this_thread::get_id();
    pool_.for_each(trials.size(), [&](std::size_t t) {
        const ReadyTrial& trial = trials[t];
        const auto start = Steady::now();
        const std::vector<NetworkJob> jobs = jobs_of(trial, 1);
        const auto population = mlp::cpu_population(trial.network, members_of(jobs), 1);
        std::uint64_t reported = 0;
        const auto advance = [&](std::uint64_t done, std::uint64_t, double) {
            steps += done - std::exchange(reported, done);
            if (std::this_thread::get_id() == caller)
                report(steps);
        };
        const auto results = train_networks(*population, trial.data->block, jobs, job_settings(trial, 1),
                                            advance, cancellation);
        if (results)
            finished[t] = scored_trial(trial, *results, seconds_since(start));
        else
            stopped = true;
    });
    return stopped ? std::vector<Trial>() : finished;
}

std::vector<Trial> TrialTrainer::run_on_devices(std::span<const ReadyTrial> trials,
                                                const std::function<void(std::uint64_t)>& report,
                                                const CancellationToken& cancellation) {
    std::map<std::string, std::vector<std::size_t>> populations;
    for (std::size_t t = 0; t < trials.size(); ++t)
        populations[population_key(trials[t])].push_back(t);
    std::vector<Trial> finished(trials.size());
    std::uint64_t before = 0;
    for (const auto& [key, members] : populations) {
        const ReadyTrial& first = trials[members.front()];
        const auto start = Steady::now();
        // Sorted by fold, so that consecutive networks predict the same rows.
        std::vector<NetworkJob> jobs;
        std::vector<std::size_t> member_of; // per job: its place in `members`
        for (std::size_t m = 0; m < members.size(); ++m)
            for (NetworkJob& job : jobs_of(trials[members[m]], pool_.size())) {
                jobs.push_back(std::move(job));
                member_of.push_back(m);
            }
        std::vector<std::size_t> order(jobs.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t j) { return jobs[j].fold; });
        std::vector<NetworkJob> sorted;
        for (const std::size_t j : order)
            sorted.push_back(std::move(jobs[j]));
        jobs = std::move(sorted);
        const auto prepared = devices_->prepare({first.network, members_of(jobs),
                                                 static_cast<std::size_t>(first.config.batch_size),
                                                 first.config.epochs, longest_steps(first), pool_.size()},
                                                progress_);
        std::uint64_t done = 0;
        const auto advance = [&](std::uint64_t steps, std::uint64_t, double) {
            report(before + (done = steps));
        };
        auto results = train_networks(*prepared.population, first.data->block, jobs,
                                      job_settings(first, pool_.size()), advance, cancellation);
        if (!results)
            return {};
        before += done;
        const double seconds = seconds_since(start) / static_cast<double>(members.size());
        std::vector<std::vector<NetworkResult>> by_member(members.size());
        for (std::size_t j = 0; j < jobs.size(); ++j)
            by_member[member_of[order[j]]].push_back(std::move((*results)[j]));
        for (std::size_t m = 0; m < members.size(); ++m)
            finished[members[m]] = scored_trial(trials[members[m]], by_member[m], seconds);
    }
    return finished;
}

} // namespace rekindle::research
