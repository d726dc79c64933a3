#include "job_config.h"
#include "on_device.h"
#include "walk_forward/job_report.h"
#include "walk_forward/run_store.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/hash.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/device.h>
#include <rekindle/trainer/instrument.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <limits>

namespace rekindle::research {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;
using Steady = std::chrono::steady_clock;

constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();

std::string now_text() {
    return market::format_civil(static_cast<std::int64_t>(std::time(nullptr))) + " UTC";
}

/// The stored job, with the user's values for the settings that may change.
StoredJob resumed_job(const WalkForwardOptions& options, StoredJob job) {
    job.config = resumed_config(options.config, options.given, job.config, "job");
    if (!options.given_rules.empty())
        refuse_on_resume(*options.given_rules.begin(), "job");
    return job;
}

/// Which instrument each row belongs to, if there are several.
void hash_instruments(const ForecastRows& rows, RowRange range, Hasher& hasher) {
    if (rows.instruments.empty())
        return;
    for (const std::string& name : rows.instruments)
        hasher.update(std::as_bytes(std::span(name)));
    hasher.update(std::as_bytes(
        std::span<const std::uint16_t>(rows.matrix.instrument).subspan(range.begin, range.size())));
}

std::string hash_of(const ForecastRows& rows, RowRange range) {
    Hasher hasher;
    const std::size_t columns = rows.matrix.columns();
    hasher.update(std::as_bytes(
        std::span<const double>(rows.matrix.values).subspan(range.begin * columns, range.size() * columns)));
    hasher.update(
        std::as_bytes(std::span<const float>(rows.targets.values).subspan(range.begin, range.size())));
    hasher.update(std::as_bytes(std::span(rows.known_at).subspan(range.begin, range.size())));
    hash_instruments(rows, range, hasher);
    return hasher.digest().hex();
}

/// Hashes only the outcomes and their times, because jobs with other features share the final part too.
std::string final_hash_of(const ForecastRows& rows, RowRange range) {
    Hasher hasher;
    hasher.update(
        std::as_bytes(std::span<const float>(rows.targets.values).subspan(range.begin, range.size())));
    hasher.update(std::as_bytes(std::span(rows.known_at).subspan(range.begin, range.size())));
    hash_instruments(rows, range, hasher);
    return hasher.digest().hex();
}

/// One call of walk_forward().
class Job {
  public:
    Job(WalkForwardOptions options, trainer::ProgressSink& progress, const CancellationToken& cancellation,
        const trainer::BarReader& read_bars)
        : options_(std::move(options)), progress_(progress), cancellation_(cancellation),
          read_bars_(read_bars) {}

    WalkForwardOutcome run();

  private:
    trainer::RunFolder open_folder();
    void accept(const trainer::RunFolder& folder, const ForecastRows& rows);
    FoldForecasts forecast(const ForecastRows& rows, std::span<const Fold> folds,
                           const std::vector<std::vector<std::size_t>>& path_of, const fs::path& store,
                           const char* stage);
    /// Trains for the final part, predicts it, and records that it was opened; false if the token asked to
    /// stop.
    bool open_final(const fs::path& folder, const ForecastRows& rows, JobResult& result);
    void note_openings(const fs::path& folder, JobResult& result);

    WalkForwardOptions options_;
    trainer::RecordedProgress progress_;
    const CancellationToken& cancellation_;
    const trainer::BarReader& read_bars_;
    StoredJob job_;
    FoldPlan plan_;
    std::optional<trainer::DeviceChoice> devices_;
    std::optional<ThreadPool> pool_;
    std::vector<trainer::MarketData> markets_;
};

trainer::RunFolder Job::open_folder() {
    const bool resuming = !options_.config.resume_from_checkpoint.empty();
    trainer::RunFolder folder =
        resuming ? trainer::RunFolder::open(options_.config.resume_from_checkpoint, walk_forward_run)
                 : trainer::RunFolder::prepare(options_.config.output, walk_forward_run);
    folder.lock();
    if (resuming)
        job_ = resumed_job(options_, read_job(folder.config_path()));
    else
        job_ = {new_config(options_.config, options_.given, progress_), options_.rules, "", ""};
    return folder;
}

void Job::accept(const trainer::RunFolder& folder, const ForecastRows& rows) {
    const std::string data = hash_of(rows, {0, rows.matrix.rows()});
    if (!job_.data_hash.empty() && job_.data_hash != data)
        throw usage_error("the input is not the one that this job was started with")
            .at(folder.path().string())
            .hint("Give the same files with --data and --vix, or start a new job.");
    job_.data_hash = data;
    plan_ = plan_folds(rows.times(), job_.rules);
    if (options_.open_final && !plan_.final_fold)
        throw usage_error("there is no final part to open")
            .at("--final")
            .hint("Start a job with --final-share above 0.");
    if (options_.open_final && plan_.final_fold->train.empty())
        throw usage_error("no row is left to train on before the final part").at("--final");
    job_.final_hash = final_hash_of(rows, plan_.final_rows);
}

FoldForecasts Job::forecast(const ForecastRows& rows, std::span<const Fold> folds,
                            const std::vector<std::vector<std::size_t>>& path_of, const fs::path& store,
                            const char* stage) {
    FileJobStore finished(store);
    if (finished.networks() > 0)
        progress_.info(
            fmt::format("{} already trained", counted(finished.networks(), "network is", "networks are")));
    const trainer::TrainConfig& config = job_.config;
    const auto make_population = [&](const mlp::ModelDescription& model,
                                     const std::vector<mlp::TrainingSpec>& members, double steps) {
        auto prepared = devices_->prepare({model, members, static_cast<std::size_t>(config.batch_size),
                                           config.epochs, steps, pool_->size()},
                                          progress_);
        return std::move(prepared.population);
    };
    const auto start = Steady::now();
    FoldForecasts forecasts = on_device([&] {
        return forecast_folds(rows, folds, path_of, config, make_population, *pool_, &finished, progress_,
                              cancellation_);
    });
    const double rate =
        static_cast<double>(forecasts.trained_rows) / std::max(1e-9, forecasts.training_seconds);
    progress_.stage_ended(
        stage, seconds_since(start),
        forecasts.interrupted
            ? std::string("stopped; finished networks are saved")
            : fmt::format("{} on {}, {} rows/s in training, with {} and importance",
                          counted(forecasts.networks, "network"), counted(folds.size(), "fold"),
                          with_thousands(static_cast<std::int64_t>(rate)),
                          rows.meaning.is_probability() ? "logistic regression" : "ridge regression"));
    if (forecasts.diverged > 0)
        progress_.warning(fmt::format("{} diverged and {} left out", counted(forecasts.diverged, "network"),
                                      forecasts.diverged == 1 ? "is" : "are"));
    return forecasts;
}

void Job::note_openings(const fs::path& folder, JobResult& result) {
    if (plan_.final_rows.size() == 0)
        return;
    result.openings = openings_of(folder, job_.final_hash);
    for (const OpenedFinal& opening : result.openings)
        progress_.warning(fmt::format("the final part was opened on {} by {}, so choices made after that may "
                                      "fit it",
                                      opening.opened, opening.folder));
}

bool Job::open_final(const fs::path& folder, const ForecastRows& rows, JobResult& result) {
    FoldForecasts forecasts =
        forecast(rows, {&*plan_.final_fold, 1}, {{0}}, folder / "final-networks", "Opening the final part");
    if (forecasts.interrupted)
        return false;
    result.final_blocks = std::move(forecasts.blocks);
    result.final_evaluation = evaluate_path(rows, result.final_blocks, 0, end_of_time,
                                            static_cast<std::uint64_t>(job_.config.seed));
    Json evaluation;
    to_json(evaluation, result.final_evaluation);
    std::error_code code;
    if (!fs::exists(folder / "final.json", code))
        write_file_atomically(
            folder / "final.json",
            Json{{"opened", now_text()}, {"rows", plan_.final_rows.size()}, {"evaluation", evaluation}}.dump(
                2) +
                "\n");
    return true;
}

WalkForwardOutcome Job::run() {
    const auto start = Steady::now();
    trainer::RunFolder folder = open_folder();
    const trainer::TrainConfig& config = job_.config;
    if (config.compat == trainer::Compat::original)
        throw usage_error("walk-forward cannot run in the mode of the original system").at("--compat");
    trainer::TrainConfig spread = config;
    spread.population = std::max<std::int64_t>(2, config.population); // folds can be spread over devices
    devices_.emplace(spread, progress_);
    pool_.emplace(static_cast<std::size_t>(config.threads));
    markets_ = trainer::load_markets(config, folder.path() / "bars.columns", *pool_, progress_, cancellation_,
                                     trainer::LastSession::when_complete, read_bars_);
    trainer::note_unused_vix(config, markets_.front().read.report, progress_);
    const ForecastRows rows =
        label_rows(config, markets_, *pool_, progress_, trainer::workspace_of(config, folder.path()));
    accept(folder, rows);
    const bool resuming = !options_.config.resume_from_checkpoint.empty();
    write_job(folder, job_);
    if (const auto rejected = trainer::rejected_rows(markets_); !rejected.empty())
        market::write_rejected_rows(folder.path() / "rejected.csv", rejected);
    if (!resuming)
        folder.publish();
    progress_.info(describe_plan(plan_, rows, job_));

    WalkForwardOutcome outcome;
    outcome.folder = folder.path();
    JobResult result{rows, markets_, plan_, job_, {}, {}, {}, {}, {}, {}, {}};
    result.forecasts =
        forecast(rows, plan_.folds, plan_.path_of, folder.path() / "networks", "Walking forward");
    outcome.interrupted = result.forecasts.interrupted;
    if (!outcome.interrupted) {
        note_openings(folder.path(), result);
        outcome.interrupted = options_.open_final && !open_final(folder.path(), rows, result);
    }
    if (!outcome.interrupted) {
        result.jobs = jobs_on_same_data(folder.path(), job_.data_hash);
        result.notes = progress_.notes;
        result.stages = progress_.stages;
        finish(folder.path(), result, outcome);
    }
    outcome.seconds = seconds_since(start);
    return outcome;
}

} // namespace

WalkForwardOutcome walk_forward(WalkForwardOptions options, trainer::ProgressSink& progress,
                                const CancellationToken& cancellation, const trainer::BarReader& read_bars) {
    return Job(std::move(options), progress, cancellation, read_bars).run();
}

} // namespace rekindle::research
