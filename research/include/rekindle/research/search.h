#pragma once
/// Searches for the settings that predict best, and judges whether the best result is more than luck, given
/// the number of trials. docs/search.md describes the method.

#include <rekindle/base/cancellation.h>
#include <rekindle/research/search_space.h>
#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/progress.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace rekindle::research {

/// The score by which the search chooses the best setting.
enum class Objective {
    automatic, ///< loss, or timing if the target varies
    loss,      ///< percent by which the forecasts' loss is below the training mean's
    timing,    ///< the Sharpe ratio of the timing returns, per row; comparable between targets
};

struct SearchRules {
    std::vector<std::string> vary; ///< in the format of parse_dimension(), at least one
    SearchMethod method = SearchMethod::sobol;
    std::uint64_t trials = 100; ///< points to try; ignored for a grid unless `trials_given`
    bool trials_given = false;
    std::int64_t min_epochs = 1; ///< halving: epochs of the first rung
    std::int64_t reduction = 3;  ///< halving: one setting in N is promoted to N times the epochs
    Objective objective = Objective::automatic;
    WalkForwardRules folds;
};

/// Throw Error (usage) for an unknown name.
SearchMethod search_method_from_string(const std::string& name);
Objective objective_from_string(const std::string& name);

/// A trial to run: a point of the search space and a number of epochs.
struct PlannedTrial {
    std::uint64_t number = 0;
    std::int64_t rung = 0;
    std::int64_t epochs = 0;
};

/// One setting, trained on every fold.
struct Trial {                // NOLINT(bugprone-exception-escape): moving JSON is not declared noexcept
    std::uint64_t number = 0; ///< from 0
    std::int64_t rung = 0;    ///< halving: how often it was promoted
    std::int64_t epochs = 0;
    nlohmann::ordered_json settings; ///< an object with the value of each key that varies
    bool diverged = false;
    double loss_saved = 0; ///< as Objective::loss, in percent; NaN if the trial diverged
    /// Per scored row: sign(forecast - training mean) × (outcome - training mean), in the unit of the target.
    /// With several instruments, whose rows at one time are not independent: per instant, the mean of this
    /// over its rows, each in units of TargetMeaning::scale of its instrument. Without skill, the mean is 0
    /// whatever the market's drift.
    std::vector<float> timing;
    double timing_ratio = 0; ///< Sharpe ratio of `timing`; 0 if its values do not vary
    double seconds = 0;
};

/// How far the best trial can be trusted, given how many were tried.
struct SearchJudgment {
    std::size_t trials = 0;                  ///< distinct settings that were tried
    std::size_t diverged = 0;                ///< how many of these diverged
    std::size_t rows = 0;                    ///< number of rows that every trial was scored on
    std::optional<double> deflated_sharpe;   ///< probability that the true ratio exceeds what luck explains
    std::optional<double> overfitting;       ///< probability of backtest overfitting
    std::optional<double> superior_p;        ///< Hansen's test: does any setting have skill?
    std::optional<double> chosen_p;          ///< Romano and Wolf: does the chosen setting have skill?
    std::optional<double> track_record;      ///< rows needed for 95 % (minimum track record length)
    std::optional<double> linear_loss_saved; ///< of ridge or logistic regression on the same rows
    std::vector<std::string> reasons;        ///< why a figure is missing
};

/// Runs the trials of a search in other processes, each with a TrialWorker. The search itself still decides
/// which trials run, and stores their results.
class RemoteTrials {
  public:
    virtual ~RemoteTrials() = default;
    /// Runs these trials of the search that `description` describes. Passes each finished trial to `finished`
    /// exactly once, on the calling thread and in any order. Does so as soon as possible, because only then
    /// is a trial stored. Returns when all trials are finished, or earlier if the search's token asks to
    /// stop.
    virtual void run(const std::string& description, std::span<const PlannedTrial> trials,
                     const std::function<void(std::span<const Trial>)>& finished) = 0;
};

/// Runs trials for a search in another process. Not thread-safe.
class TrialWorker {
  public:
    /// Reads the bars of the search. `description` is the one that RemoteTrials::run() received; this process
    /// trains with `threads` threads on `device`. Throws Error (usage) if the bars are not those of the
    /// search.
    TrialWorker(const std::string& description, std::int64_t threads, const std::string& device,
                trainer::ProgressSink& progress, const CancellationToken& cancellation,
                const trainer::BarReader& read_bars = market::read_bars);
    ~TrialWorker();
    TrialWorker(TrialWorker&&) noexcept;
    TrialWorker& operator=(TrialWorker&&) noexcept;

    /// Runs the trials and returns them in the same order, with the results that search() itself gives.
    /// Returns no trials if the token asked to stop.
    std::vector<Trial> run(std::span<const PlannedTrial> trials, trainer::ProgressSink& progress,
                           const CancellationToken& cancellation);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

struct SearchOptions {
    trainer::TrainConfig config;
    std::set<std::string> given; ///< keys of `config` that the user set
    SearchRules rules;
    std::set<std::string> given_rules;
    RemoteTrials* remote = nullptr; ///< if set, runs the trials; must outlive the search
};

struct SearchOutcome {
    std::filesystem::path folder, report;
    bool interrupted = false;
    std::uint64_t trials = 0; ///< finished trials, including those of earlier calls
    std::string verdict;      ///< begins with one plain sentence
    bool has_edge = false;
    std::vector<std::string> lines; ///< the best setting and its figures
    std::vector<Trial> settings;    ///< each setting's last trial, as in trials.csv
    /// Arguments with which walk-forward tests the best setting on the windows that it was chosen on.
    std::vector<std::string> walk_forward;
    double seconds = 0;
};

/// Runs a search, or continues the one in config.resume_from_checkpoint and keeps its finished trials. Writes
/// search.sqlite, trials.csv, best.json, results.json and report.html. The results do not depend on the
/// number of threads, on interruptions or, up to rounding, on the devices. Throws Error (usage) for bad
/// input.
SearchOutcome search(SearchOptions options, trainer::ProgressSink& progress,
                     const CancellationToken& cancellation,
                     const trainer::BarReader& read_bars = market::read_bars);

} // namespace rekindle::research
