#include "job_config.h"
#include "on_device.h"
#include "search/quiet_progress.h"
#include "search/search_job.h"
#include "search/trial_store.h"
#include "search/trial_trainer.h"
#include "walk_forward/linear_forecasts.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace rekindle::research {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;
using Steady = std::chrono::steady_clock;

StoredSearch continued(const SearchOptions& options, StoredSearch search) {
    search.config = resumed_config(options.config, options.given, search.config, "search");
    for (const std::string& rule : options.given_rules)
        if (rule != "trials")
            refuse_on_resume(rule, "search");
    if (options.given_rules.contains("trials")) {
        if (options.rules.trials < search.rules.trials)
            throw usage_error(fmt::format("the search has {} and cannot go back to {}",
                                          counted(search.rules.trials, "trial"), options.rules.trials))
                .at("--trials")
                .expected(fmt::format("{} or more", search.rules.trials));
        search.rules.trials = options.rules.trials;
        search.rules.trials_given = true;
    }
    return search;
}

Objective objective_of(const SearchRules& rules, const std::vector<Dimension>& dimensions) {
    const bool targets_vary = std::ranges::any_of(dimensions, [](const Dimension& dimension) {
        return dimension.key.starts_with("target") || dimension.key == "dead_band" ||
               dimension.key.starts_with("barrier");
    });
    if (rules.objective == Objective::loss && targets_vary)
        throw usage_error("losses of different targets cannot be compared")
            .at("--objective")
            .expected("timing, because the target varies");
    if (rules.objective != Objective::automatic)
        return rules.objective;
    return targets_vary ? Objective::timing : Objective::loss;
}

/// The linear model's forecast for each scored row.
std::vector<double> scored_linear_forecasts(const TrialData& data, ThreadPool& pool) {
    std::vector<double> forecasts(data.scored.row.size());
    pool.for_each(data.plan.folds.size(), [&](std::size_t f) {
        const std::vector<double> of_fold =
            linear_forecasts(data.rows, data.plan.folds[f], data.block.folds()[f], data.block);
        for (std::size_t i = data.scored.of_fold[f].begin; i < data.scored.of_fold[f].end; ++i)
            forecasts[i] = of_fold[data.scored.offset[i]];
    });
    return forecasts;
}

/// One call of search().
class SearchJob {
  public:
    SearchJob(SearchOptions options, trainer::ProgressSink& progress, const CancellationToken& cancellation,
              const trainer::BarReader& read_bars)
        : options_(std::move(options)), progress_(progress, LogLevel::warning), quiet_(progress_),
          cancellation_(cancellation), read_bars_(read_bars) {}

    SearchOutcome run();

  private:
    trainer::RunFolder open_folder();
    void check_data(const trainer::RunFolder& folder);
    /// False if the token asked to stop.
    bool run_trials(TrialStore& store, TrialDataCache& cache);
    void run_missing(const std::vector<PlannedTrial>& plan, TrialStore& store, TrialDataCache& cache,
                     std::optional<TrialTrainer>& trial_trainer);
    void keep(std::span<const Trial> trials, TrialStore& store);
    void report_progress();
    void take(Trial trial);
    double score_of(const Trial& trial) const {
        return objective_ == Objective::timing ? trial.timing_ratio : trial.loss_saved;
    }
    void report_best(const Trial& trial);
    SearchResult result(TrialDataCache& cache, const std::vector<Trial>& last);

    SearchOptions options_;
    trainer::RecordedProgress progress_;
    QuietProgress quiet_;
    const CancellationToken& cancellation_;
    const trainer::BarReader& read_bars_;
    StoredSearch search_;
    Objective objective_ = Objective::loss;
    std::optional<SearchPoints> points_;
    std::optional<ThreadPool> pool_;
    std::vector<trainer::MarketData> markets_;
    std::vector<Trial> trials_; ///< in the order of the schedule, on every rung
    /// Finished trials that the schedule has not received yet, by number and rung.
    std::map<std::pair<std::uint64_t, std::int64_t>, Trial> waiting_;
    std::uint64_t trained_ = 0; ///< trials of this call
    double best_ = -std::numeric_limits<double>::infinity();
    std::size_t folds_ = 0;
};

trainer::RunFolder SearchJob::open_folder() {
    const bool resuming = !options_.config.resume_from_checkpoint.empty();
    if (!resuming)
        search_ = {new_config(options_.config, options_.given, progress_), options_.rules, ""};
    trainer::RunFolder folder =
        resuming ? trainer::RunFolder::open(options_.config.resume_from_checkpoint, search_run)
                 : trainer::RunFolder::prepare(options_.config.output, search_run);
    folder.lock();
    if (resuming)
        search_ =
            continued(options_, parse_search(read_file(folder.config_path()), folder.config_path().string()));
    return folder;
}

void SearchJob::check_data(const trainer::RunFolder& folder) {
    const std::string hash = hash_of_bars(markets_);
    if (!search_.data_hash.empty() && search_.data_hash != hash)
        throw usage_error("the bars are not those that this search was started with")
            .at(folder.path().string())
            .hint("Give the same files with --data, or start a new search.");
    search_.data_hash = hash;
}

void SearchJob::take(Trial trial) {
    if (!trial.diverged && score_of(trial) > best_)
        report_best(trial);
    trials_.push_back(std::move(trial));
}

void SearchJob::report_best(const Trial& trial) {
    best_ = score_of(trial);
    progress_.info(fmt::format("trial {}: {}, the best so far: {}", trial.number + 1,
                               objective_ == Objective::timing
                                   ? fmt::format("timing ratio {:.3f} per row", trial.timing_ratio)
                                   : fmt::format("loss reduction {:.3g} %", trial.loss_saved),
                               settings_text(trial.settings)));
}

void SearchJob::report_progress() {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const bool halving = search_.rules.method == SearchMethod::halving;
    progress_.advanced({.stage = "Searching",
                        .done = trials_.size() + waiting_.size(),
                        .total = halving ? 0 : trials_of(search_.rules, *points_),
                        .unit = "trials",
                        .loss = none,
                        .validation_loss = none,
                        .learning_rate = none});
}

void SearchJob::keep(std::span<const Trial> trials, TrialStore& store) {
    if (trials.empty())
        return;
    store.add(trials);
    trained_ += trials.size();
    for (const Trial& trial : trials)
        waiting_.insert_or_assign({trial.number, trial.rung}, trial);
    report_progress();
}

void SearchJob::run_missing(const std::vector<PlannedTrial>& plan, TrialStore& store, TrialDataCache& cache,
                            std::optional<TrialTrainer>& trial_trainer) {
    std::vector<PlannedTrial> missing;
    for (const PlannedTrial& trial : plan)
        if (!waiting_.contains({trial.number, trial.rung}))
            missing.push_back(trial);
    if (missing.empty() || cancellation_.requested())
        return;
    report_progress();
    if (!trial_trainer) {
        options_.remote->run(text_of(search_), missing,
                             [&](std::span<const Trial> trials) { keep(trials, store); });
        return;
    }
    const auto ready = ready_trials(search_, *points_, missing, cache);
    keep(on_device([&] {
             return trial_trainer->run(
                 ready, [&](std::uint64_t) { report_progress(); }, cancellation_);
         }),
         store);
}

bool SearchJob::run_trials(TrialStore& store, TrialDataCache& cache) {
    const auto start = Steady::now();
    const std::uint64_t count = trials_of(search_.rules, *points_);
    Schedule schedule(search_.rules, search_.config.epochs, count);
    std::optional<TrialTrainer> trial_trainer;
    if (options_.remote == nullptr)
        trial_trainer.emplace(search_.config, count, *pool_, progress_);
    for (Trial& trial : store.trials())
        waiting_.try_emplace({trial.number, trial.rung}, std::move(trial));
    if (!waiting_.empty())
        progress_.info(
            fmt::format("{} already finished", counted(waiting_.size(), "trial is", "trials are")));
    for (;;) {
        constexpr std::size_t remote_group = 4096;
        const std::vector<PlannedTrial> group =
            schedule.next(trial_trainer ? trial_trainer->group_size() : remote_group);
        if (group.empty())
            break;
        run_missing(group, store, cache, trial_trainer);
        const auto finished = [&](const PlannedTrial& trial) {
            return waiting_.contains({trial.number, trial.rung});
        };
        if (!std::ranges::all_of(group, finished))
            return false;
        for (const PlannedTrial& trial : group) {
            auto found = waiting_.extract({trial.number, trial.rung});
            Trial& result = found.mapped();
            schedule.finish(trial,
                            result.diverged ? std::numeric_limits<double>::quiet_NaN() : score_of(result));
            take(std::move(result));
        }
    }
    const double seconds = seconds_since(start);
    progress_.stage_ended("Searching", seconds,
                          fmt::format("{} of {} in this call, {:.3g} trials/s", counted(trained_, "trial"),
                                      with_thousands(static_cast<std::int64_t>(trials_.size())),
                                      static_cast<double>(trained_) / std::max(1e-9, seconds)));
    return true;
}

SearchResult SearchJob::result(TrialDataCache& cache, const std::vector<Trial>& last) {
    SearchResult result{search_, objective_, last, best_of(last, objective_), {}, {}, markets_, 0, 0, {}};
    if (!result.best)
        throw Error("every trial diverged: no loss was finite")
            .hint("Lower --learning-rate, or turn on clipping (--clip-norm 1).");
    std::vector<std::span<const std::int64_t>> instants;
    for (const Trial& trial : last)
        instants.push_back(cache.instants(trial.settings));
    const auto data = cache.get(last[*result.best].settings);
    const auto start = Steady::now();
    result.meaning = data->rows.meaning;
    result.folds = data->plan.folds.size();
    result.judgment = judge(last, *result.best, instants, data->rows.meaning.horizon,
                            static_cast<std::uint64_t>(search_.config.seed), *pool_);
    result.judgment.linear_loss_saved =
        loss_saved(data->rows, data->scored, data->block, scored_linear_forecasts(*data, *pool_));
    result.notes = progress_.notes;
    progress_.stage_ended(
        "Judging", seconds_since(start),
        fmt::format("{} on {}", counted(last.size(), "setting"), counted(result.judgment.rows, "row")));
    return result;
}

SearchOutcome SearchJob::run() {
    const auto start = Steady::now();
    trainer::RunFolder folder = open_folder();
    const trainer::TrainConfig& config = search_.config;
    if (config.compat == trainer::Compat::original)
        throw usage_error("a search cannot run in the mode of the original system").at("--compat");
    if (search_.rules.folds.combinatorial())
        throw usage_error("a search walks forward; it does not use combinatorial folds").at("--blocks");
    std::vector<Dimension> dimensions = dimensions_of(search_.rules);
    objective_ = objective_of(search_.rules, dimensions);
    points_.emplace(std::move(dimensions), search_.rules.method, static_cast<std::uint64_t>(config.seed));
    pool_.emplace(static_cast<std::size_t>(config.threads));
    markets_ = trainer::load_markets(config, folder.path() / "bars.columns", *pool_, progress_, cancellation_,
                                     trainer::LastSession::when_complete, read_bars_);
    check_data(folder);
    TrialDataCache cache(search_, markets_, *pool_, quiet_);
    cache.get(settings_of(points_->dimensions(), points_->at(0))); // throws if there are too few rows
    write_file_atomically(folder.config_path(), text_of(search_));
    if (options_.config.resume_from_checkpoint.empty())
        folder.publish();
    progress_.info(fmt::format("{} of {}; the results go into {}",
                               counted(trials_of(search_.rules, *points_), "setting"),
                               counted(points_->dimensions().size(), "dimension"), folder.path().string()));

    SearchOutcome outcome;
    outcome.folder = folder.path();
    TrialStore store(folder.path() / "search.sqlite");
    outcome.interrupted = !run_trials(store, cache);
    outcome.trials = trials_.size() + waiting_.size();
    if (!outcome.interrupted) {
        std::vector<Trial> last = last_trials(trials_);
        SearchResult found = result(cache, last);
        found.seconds = seconds_since(start);
        finish(folder.path(), found, outcome);
        outcome.settings = std::move(last);
    }
    outcome.seconds = seconds_since(start);
    return outcome;
}

} // namespace

SearchOutcome search(SearchOptions options, trainer::ProgressSink& progress,
                     const CancellationToken& cancellation, const trainer::BarReader& read_bars) {
    return SearchJob(std::move(options), progress, cancellation, read_bars).run();
}

} // namespace rekindle::research
