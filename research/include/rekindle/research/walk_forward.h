#pragma once
/// What a model would have predicted: networks trained again and again on the past, each scored on rows that
/// came later. docs/walk-forward.md describes the method.

#include <rekindle/base/cancellation.h>
#include <rekindle/research/fold_data.h>
#include <rekindle/research/folds.h>
#include <rekindle/research/network_jobs.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/predictions.h>
#include <rekindle/trainer/progress.h>
#include <rekindle/trainer/scores.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rekindle::research {

struct WalkForwardRules {
    Window window = Window::expanding;
    std::size_t folds = 10;
    std::size_t train_rows = 0; ///< as WindowRules::train_rows; 0: half of the rows before the final part
    double final_share = 0.2;   ///< [0, 1): share of the rows, the latest ones, that only --final predicts
    std::size_t blocks = 0;     ///< N of combinatorial purged cross-validation; 0: windows
    std::size_t test_blocks = 2;
    std::size_t embargo_rows = 0;
    std::int64_t embargo_seconds = 0;

    bool combinatorial() const noexcept { return blocks > 0; }
};

/// The folds of all rows before the final part. Rows whose outcome is known only in the final part are
/// predicted, and their outcomes are not used.
struct FoldPlan {
    std::vector<Fold> folds;
    /// For combinatorial rules, as CombinatorialFolds::path_of; otherwise all 0.
    std::vector<std::vector<std::size_t>> path_of;
    std::size_t paths = 1;
    RowRange final_rows;            ///< empty if there is no final part
    std::optional<Fold> final_fold; ///< trains on the window before the final part; none if that is empty
};

/// Throws Error (usage) when there are too few rows.
FoldPlan plan_folds(const RowTimes& rows, const WalkForwardRules& rules);

/// Consecutive test rows of a fold, with what was predicted for them.
struct BlockForecasts {
    std::size_t fold = 0;
    std::size_t path = 0;
    RowRange rows;
    std::vector<std::vector<trainer::Forecast>> networks; ///< per seed; empty for one that diverged
    std::vector<double> linear;             ///< of ridge regression, for a probability of logistic regression
    double training_mean = 0, share_up = 0; ///< as in FoldRows

    /// The mean over the networks: its sigma is the root of their mean squared sigma plus their variance.
    trainer::Forecast mean(std::size_t row) const;
};

/// Finished networks, so that they need not be trained again.
class JobStore {
  public:
    virtual ~JobStore() = default;
    /// The result of a job, or nothing.
    virtual std::optional<NetworkResult> find(std::size_t fold, std::uint64_t seed) = 0;
    virtual void add(std::span<const NetworkJob> jobs, std::span<const NetworkResult> results) = 0;
};

/// Makes the population on some device. `steps`: of each network.
using MakePopulation = std::function<std::unique_ptr<mlp::Population>(
    const mlp::ModelDescription& model, const std::vector<mlp::TrainingSpec>& members, double steps)>;

/// A group of columns and how much the loss grows without their information.
struct Importance {
    std::string group;
    double loss_increase = 0;       ///< relative to the loss, median over the folds
    double lowest = 0, highest = 0; ///< over the folds
};

struct FoldForecasts {
    std::vector<BlockForecasts> blocks; ///< in the order of folds
    std::vector<Importance> importance;
    std::uint64_t networks = 0, diverged = 0;
    std::uint64_t trained_rows = 0; ///< rows × epochs, in this call
    double training_seconds = 0;    ///< spent on them
    bool interrupted = false;
};

/// Trains config.population networks (seeds config.seed, …) for each fold and predicts its test rows. The
/// folds are processed in groups of at most `block_bytes`, and finished networks go to the store, which may
/// be null. The same bits for any number of threads.
FoldForecasts forecast_folds(const ForecastRows& rows, std::span<const Fold> folds,
                             const std::vector<std::vector<std::size_t>>& path_of,
                             const trainer::TrainConfig& config, const MakePopulation& make_population,
                             ThreadPool& pool, JobStore* store, trainer::ProgressSink& progress,
                             const CancellationToken& cancellation,
                             std::size_t block_bytes = std::size_t{256} << 20);

/// Scores one path: its rows with an outcome that is known at `known_until` or before (an instant in
/// seconds), predicted by the mean of the networks. The reference forecast is the training mean of each fold.
/// An evaluation without rows if there are none.
trainer::Evaluation evaluate_path(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                                  std::size_t path, std::int64_t known_until, std::uint64_t seed);

/// The latest outcome that is known when each row is, 0 if there is none.
std::vector<double> previous_outcomes(const ForecastRows& rows);

/// One row for each test row and network, and for the mean of several networks. Outcomes that are known only
/// after `known_until` are left out. `fold_name` names a block's fold.
void add_predictions(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                     std::span<const std::uint64_t> seeds, const std::string& instrument,
                     std::int64_t known_until,
                     const std::function<std::string(const BlockForecasts&)>& fold_name,
                     trainer::PredictionTable& table);

/// One walk-forward job.
struct WalkForwardOptions {
    trainer::TrainConfig config; ///< epochs, network, population (seeds), device, output …
    std::set<std::string> given; ///< its keys that the user set
    WalkForwardRules rules;
    std::set<std::string> given_rules; ///< names of the options that set `rules`
    bool open_final = false;           ///< train on the last window and predict the final part
};

struct WalkForwardOutcome {
    std::filesystem::path folder, report;
    bool interrupted = false;
    std::string verdict;
    bool has_edge = false;
    std::vector<std::string> score_lines, notes;
    double seconds = 0;
};

/// Runs a job, or finishes the one in config.resume_from_checkpoint with its own settings. Throws Error
/// (usage) for bad input.
WalkForwardOutcome walk_forward(WalkForwardOptions options, trainer::ProgressSink& progress,
                                const CancellationToken& cancellation);

} // namespace rekindle::research
