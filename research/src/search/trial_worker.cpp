#include "job_config.h"
#include "on_device.h"
#include "search/quiet_progress.h"
#include "search/search_job.h"
#include "search/trial_trainer.h"

#include <rekindle/base/thread_pool.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/market_data.h>

#include <limits>
#include <optional>
#include <utility>

namespace rekindle::research {

namespace {

StoredSearch search_here(const std::string& description, std::int64_t threads, const std::string& device) {
    StoredSearch search = parse_search(description, "the description of the search");
    search.config.threads = threads;
    search.config.device = device;
    search.config.chunk_size = 0;
    return search;
}

} // namespace

/// Everything that stays the same from one call of run() to the next.
struct TrialWorker::State {
    State(StoredSearch described, trainer::ProgressSink& reading, const CancellationToken& cancellation,
          const trainer::BarReader& read_bars)
        : search(std::move(described)), points(dimensions_of(search.rules), search.rules.method,
                                               static_cast<std::uint64_t>(search.config.seed)),
          pool(static_cast<std::size_t>(search.config.threads)), warnings(reading),
          markets(trainer::load_markets(search.config, {}, pool, reading, cancellation,
                                        trainer::LastSession::when_complete, read_bars)),
          cache(search, markets, pool, warnings) {
        if (hash_of_bars(markets) != search.data_hash)
            throw usage_error("the bars of this worker are not those of the search")
                .hint("Every host must read the same files.");
    }

    StoredSearch search;
    SearchPoints points;
    ThreadPool pool;
    QuietProgress warnings;
    std::vector<trainer::MarketData> markets;
    TrialDataCache cache;
    std::optional<TrialTrainer> trial_trainer = {};
};

TrialWorker::TrialWorker(const std::string& description, std::int64_t threads, const std::string& device,
                         trainer::ProgressSink& progress, const CancellationToken& cancellation,
                         const trainer::BarReader& read_bars)
    : state_(std::make_unique<State>(search_here(description, threads, device), progress, cancellation,
                                     read_bars)) {}

TrialWorker::~TrialWorker() = default;
TrialWorker::TrialWorker(TrialWorker&&) noexcept = default;
TrialWorker& TrialWorker::operator=(TrialWorker&&) noexcept = default;

std::vector<Trial> TrialWorker::run(std::span<const PlannedTrial> trials, trainer::ProgressSink& progress,
                                    const CancellationToken& cancellation) {
    if (trials.empty())
        return {};
    State& state = *state_;
    state.warnings.forward_to(progress);
    const auto ready = ready_trials(state.search, state.points, trials, state.cache);
    if (!state.trial_trainer)
        state.trial_trainer.emplace(state.search.config, trials_of(state.search.rules, state.points),
                                    state.pool, state.warnings);
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const auto report = [&](std::uint64_t steps) { // lets the listener handle signals
        progress.advanced({"Searching", steps, 0, "network-steps", none, none, none});
    };
    return on_device([&] { return state.trial_trainer->run(ready, report, cancellation); });
}

} // namespace rekindle::research
