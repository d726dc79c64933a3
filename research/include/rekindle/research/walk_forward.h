#pragma once
/// Walk-forward: trains networks repeatedly on the past and scores each of them on later rows.
/// docs/walk-forward.md describes the method.

#include <rekindle/base/cancellation.h>
#include <rekindle/research/fold_data.h>
#include <rekindle/research/folds.h>
#include <rekindle/research/network_jobs.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/importance.h>
#include <rekindle/trainer/market_data.h>
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
    double final_share = 0.2;   ///< share of rows, the latest ones, that only --final predicts; in [0, 1)
    std::size_t blocks = 0;     ///< N of combinatorial purged cross-validation; 0: windows instead
    std::size_t test_blocks = 2;
    std::size_t embargo_rows = 0;
    std::int64_t embargo_seconds = 0;

    bool combinatorial() const noexcept { return blocks > 0; }
};

/// The folds of all rows before the final part. Rows whose outcome becomes known only in the final part are
/// predicted, but their outcomes are not used.
struct FoldPlan {
    std::vector<Fold> folds;
    /// The same as CombinatorialFolds::path_of for combinatorial rules; otherwise all 0.
    std::vector<std::vector<std::size_t>> path_of;
    std::size_t paths = 1;
    RowRange final_rows;            ///< empty if there is no final part
    std::optional<Fold> final_fold; ///< trains on the window before the final part, if there is one
};

/// Throws Error (usage) when there are too few rows.
FoldPlan plan_folds(const RowTimes& rows, const WalkForwardRules& rules);

/// Forecasts for consecutive test rows of a fold.
struct BlockForecasts {
    std::size_t fold = 0;
    std::size_t path = 0;
    RowRange rows;
    std::vector<std::vector<trainer::Forecast>> networks; ///< per seed; empty for a network that diverged
    std::vector<double> linear; ///< from ridge regression; for probabilities, from logistic regression
    /// What a model without features knows about a row's instrument.
    struct Reference {
        double training_mean = 0, share_up = 0; ///< as in FoldInstrument
    };
    std::vector<Reference> references; ///< as FoldRows::instruments

    /// For the row with this index among all rows.
    const Reference& reference(const ForecastRows& all, std::size_t row) const {
        return references[all.matrix.instrument_of(row)];
    }

    /// The mean over the networks. Its sigma is the square root of their mean squared sigma plus the variance
    /// of their predictions.
    trainer::Forecast mean(std::size_t row) const;
};

/// Keeps finished networks so that a resumed job does not train them again.
class JobStore {
  public:
    virtual ~JobStore() = default;
    /// The result of a finished job, or no value.
    virtual std::optional<NetworkResult> find(std::size_t fold, std::uint64_t seed) = 0;
    virtual void add(std::span<const NetworkJob> jobs, std::span<const NetworkResult> results) = 0;
};

/// Creates the population on the device that it chooses. `steps` is the number of steps of each network.
using MakePopulation = std::function<std::unique_ptr<mlp::Population>(
    const mlp::ModelDescription& model, const std::vector<mlp::TrainingSpec>& members, double steps)>;

using trainer::Importance; ///< over the folds

struct FoldForecasts {
    std::vector<BlockForecasts> blocks; ///< in the order of folds
    std::vector<Importance> importance;
    std::uint64_t networks = 0, diverged = 0;
    std::uint64_t trained_rows = 0; ///< rows × epochs that this call trained
    double training_seconds = 0;    ///< time that they took
    bool interrupted = false;
};

/// Trains config.population networks (with seeds config.seed, config.seed + 1, …) for each fold and predicts
/// its test rows. Processes the folds in groups of at most `block_bytes` and adds finished networks to the
/// store, which may be null. The result is bit-identical for any number of threads.
FoldForecasts forecast_folds(const ForecastRows& rows, std::span<const Fold> folds,
                             const std::vector<std::vector<std::size_t>>& path_of,
                             const trainer::TrainConfig& config, const MakePopulation& make_population,
                             ThreadPool& pool, JobStore* store, trainer::ProgressSink& progress,
                             const CancellationToken& cancellation,
                             std::size_t block_bytes = std::size_t{256} << 20);

/// Scores the mean forecast of the networks on one path, on the rows whose outcome is known by `known_until`
/// (an instant in seconds). The reference forecast is each fold's training mean. Returns an evaluation
/// without rows if no outcome is known.
trainer::Evaluation evaluate_path(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                                  std::size_t path, std::int64_t known_until, std::uint64_t seed);

/// The same for the rows of each of several instruments; empty for one instrument.
std::vector<trainer::Evaluation> evaluate_instruments(const ForecastRows& rows,
                                                      std::span<const BlockForecasts> blocks,
                                                      std::size_t path, std::int64_t known_until,
                                                      std::uint64_t seed);

/// For each row, the latest outcome of its instrument that is known when the row becomes known; 0 if there is
/// none.
std::vector<double> previous_outcomes(const ForecastRows& rows);

/// Adds one row to the table for each test row and network, and one for the mean if there are several
/// networks. Outcomes that become known only after `known_until` are left empty. `instruments` has the name
/// of each instrument, or of the only one. `fold_name` returns the name of a block's fold.
void add_predictions(const ForecastRows& rows, std::span<const BlockForecasts> blocks,
                     std::span<const std::uint64_t> seeds, std::span<const std::string> instruments,
                     std::int64_t known_until,
                     const std::function<std::string(const BlockForecasts&)>& fold_name,
                     trainer::PredictionTable& table);

/// The settings of a walk-forward job.
struct WalkForwardOptions {
    trainer::TrainConfig config; ///< epochs, network, population (seeds), device, output …
    std::set<std::string> given; ///< keys of `config` that the user set
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
    std::vector<std::string> instrument_lines; ///< with several instruments: the first score of each
    trainer::PredictionTable predictions;      ///< the rows of predictions.csv
    double seconds = 0;
};

/// Runs a job, or finishes the one in config.resume_from_checkpoint with its own settings. Throws Error
/// (usage) for bad input.
WalkForwardOutcome walk_forward(WalkForwardOptions options, trainer::ProgressSink& progress,
                                const CancellationToken& cancellation,
                                const trainer::BarReader& read_bars = market::read_bars);

} // namespace rekindle::research
