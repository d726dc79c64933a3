#pragma once
/// From sessions to the network's inputs: features, targets, split, scaling.

#include <rekindle/base/scratch_array.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/labeled_rows.h>
#include <rekindle/market/scaler.h>
#include <rekindle/market/targets.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/mlp/training.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/market_data.h>

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The meaning of the network's raw output. A value that is saved with the model.
struct TargetMeaning {
    market::TargetKind kind = market::TargetKind::next_return;
    std::size_t horizon = 1;     ///< sessions or bars that the target looks ahead
    bool per_bar = false;        ///< rows are bars (feature group minute), not sessions
    bool weekly = false;         ///< sessions are weeks
    bool across_sessions = true; ///< for bars: a target may reach into a later session
    double dead_band = 0;        ///< for a direction: log returns up to this size have none
    double barrier_width = 1;    ///< for barriers, as market::TargetSpec::barrier_width
    /// Subtracted from a volatility before it is learned: the mean of the training targets.
    double center = 0;
    /// Returns and volatilities are learned in units of this: the std of the training targets.
    double scale = 1;
    mlp::LossSpec loss;

    bool is_probability() const noexcept {
        return kind == market::TargetKind::direction || kind == market::TargetKind::barrier;
    }
    /// Whether a value above 0 (for a probability: above 1/2) says that prices rise.
    bool is_directional() const noexcept { return kind != market::TargetKind::volatility; }
    /// A network_target() above it is a rise.
    double up_threshold() const noexcept;
    /// "log return of the next session, close to close".
    std::string text() const;
    /// The name of the latest outcome known at prediction time: "the last session's return", "the last week's
    /// return", "the last 5-bar return".
    std::string previous_text() const;
    /// The value that the network is trained on, given a target in its own unit.
    double network_target(double target) const noexcept;
    /// The inverse of network_target().
    double outcome(double network_target) const noexcept;
    /// The target's own unit (log return, or probability of a rise) from the network's first output.
    double value(double raw_output) const noexcept;
};

/// Sets the scale of returns and volatilities to the standard deviation of these training targets, and the
/// center of volatilities to their mean. Other targets, and those that do not vary, are learned as they are.
void set_scale(TargetMeaning& meaning, std::span<const float> targets);
/// The share of rises among the targets that are not flat; 0.5 if all are flat.
double share_of_rises(const TargetMeaning& meaning, std::span<const float> targets);
/// What a model without features predicts: the mean of these targets, or for a probability the share of
/// rises.
double mean_target(const TargetMeaning& meaning, std::span<const float> targets);

/// The network's rows.
struct NetworkRows {
    ScratchArray<float> inputs;  ///< scaled, rows × columns
    ScratchArray<float> targets; ///< TargetMeaning::network_target() of each row
};

/// An instrument of a Dataset.
struct DatasetInstrument {
    std::string name;
    std::size_t training_rows = 0, validation_rows = 0;
    market::Scaler scaler = {};     ///< has features only with ScaleBy::instrument
    double target_scale = 1;        ///< TargetMeaning::scale for its rows
    double target_center = 0;       ///< TargetMeaning::center for its rows
    double training_share_up = 0.5; ///< as Dataset::training_share_up, for its rows
    double training_mean = 0;       ///< as Dataset::training_mean(), for its rows
};

/// Rows in chronological order. With several instruments, each part of the split is in this order, and rows
/// known at the same time are in the order of the instruments. matrix.names then lists the features followed
/// by the inputs that tell the network the instrument (InstrumentInput). Training releases the memory of
/// `matrix.values` once they are scaled; prediction keeps it.
struct Dataset {
    market::FeatureMatrix matrix;
    market::Targets targets;
    ScratchArray<std::int64_t> known;         ///< as in market::LabeledRows
    ScratchArray<std::int64_t> outcome_known; ///< likewise
    ScratchArray<float> previous_targets;     ///< LabeledRows::previous
    market::Split split;
    market::Scaler scaler; ///< for all rows; unused with several instruments and ScaleBy::instrument
    TargetMeaning meaning; ///< with several instruments, its scale is that of all rows; see meaning_of()
    /// In the order of the numbers in FeatureMatrix::instrument; empty without --several-instruments.
    std::vector<DatasetInstrument> instruments;
    std::shared_ptr<const NetworkRows> rows; ///< the first split.validation_end
    double training_share_up = 0;            ///< share of rises among the training targets that are not flat

    /// These share `rows`.
    mlp::Samples train() const;
    mlp::Samples validation() const;
    /// Sets matrix, targets, known, outcome_known and previous_targets.
    void take(market::LabeledRows labeled);
    /// What the network's output means for this row.
    TargetMeaning meaning_of(std::size_t row) const;
    /// For each validation row, the share of rises among the training rows of its instrument; empty for one
    /// instrument.
    std::vector<double> validation_shares_up() const;
    /// For each validation row, the latest outcome known by then: its previous target.
    std::vector<double> previous() const;
    std::vector<double> validation_targets() const;
    /// What a model without features predicts: the mean of the training targets, or for a direction the share
    /// of rises.
    double training_mean() const;
};

/// The name of the input that tells the network the instrument (InstrumentInput::one_hot).
std::string instrument_input_name(const std::string& instrument);

/// The scaling of an instrument needs this many training rows, and so does a training.
inline constexpr std::size_t min_training_rows = 10;

/// With chunk_size > 0, the large arrays are in files in `folder`, and chunk_size rows are processed at a
/// time; otherwise they are in memory. The results are the same.
Workspace workspace_of(const TrainConfig& config, const std::filesystem::path& folder);

/// The features that the configuration requests, one row per session or (group minute) per bar. A look-back
/// is omitted, with a note, when it would leave too few rows to train on and omitting it leaves more: more
/// data never makes a job impossible.
market::FeatureMatrix build_features(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                                     const Workspace& workspace = {});
/// One matrix for each instrument, all with the same columns.
std::vector<market::FeatureMatrix> build_features(const TrainConfig& config,
                                                  std::span<const MarketData> markets, ThreadPool& pool,
                                                  const Workspace& workspace = {});
/// Exactly these features, in this order: what a model was trained with. Throws Error (usage) when one cannot
/// be computed from the data, saying why.
market::FeatureMatrix build_named_features(std::span<const std::string> names, bool per_bar,
                                           const TrainConfig& config, const MarketData& data,
                                           ThreadPool& pool, const Workspace& workspace = {});
/// Whether --target-bars sets how far the target looks ahead.
bool looks_at_bars(market::TargetKind target, bool by_bar) noexcept;
/// The target in the terms of market/.
market::TargetSpec target_spec(const TargetMeaning& meaning);
/// The target and the loss that the configuration requests. Throws Error (usage) when they do not match.
TargetMeaning target_meaning(const TrainConfig& config);
/// One target per row of the matrix, which was computed from the same data.
market::Targets build_targets(const TargetMeaning& meaning, const market::FeatureMatrix& matrix,
                              const MarketData& data, const Workspace& workspace = {});

/// What a network that was trained earlier expects as inputs.
struct ModelInputs {
    std::vector<std::string> features;    ///< in input order
    std::optional<market::Scaler> scaler; ///< for these features; if empty, fitted to the training rows
    double target_scale = 1;              ///< TargetMeaning::scale; used only with a scaler
    double target_center = 0;             ///< TargetMeaning::center; likewise
};

/// Builds the rows for training and validation, not yet split or scaled. Their features are `features` or, if
/// that is empty, those that the configuration requests; every instrument has the same ones. Returns one
/// element per instrument; market::join_rows() merges them. Throws Error (usage) if too few rows are
/// left, saying how many are missing, and as build_named_features() does.
std::vector<market::LabeledRows> build_rows(const TrainConfig& config, std::span<const MarketData> markets,
                                            ThreadPool& pool, ProgressSink& progress,
                                            const Workspace& workspace = {},
                                            std::span<const std::string> features = {});
/// Builds the data set of one instrument, or of several that are split at one time. `markets` is the result
/// of load_markets(). Reports the stage "Building features". If `inputs` is set, it determines the features,
/// the scaling and the unit of the target instead of the configuration and the data; it must be empty for
/// several instruments. Throws Error (usage) as build_rows() does.
Dataset build_dataset(const TrainConfig& config, std::span<const MarketData> markets, ThreadPool& pool,
                      ProgressSink& progress, const Workspace& workspace = {},
                      const std::optional<ModelInputs>& inputs = {});
Dataset build_dataset(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                      ProgressSink& progress, const Workspace& workspace = {},
                      const std::optional<ModelInputs>& inputs = {});

/// The network's first outputs in the unit of the target.
std::vector<double> predict_values(const mlp::Engine& engine, const TargetMeaning& meaning,
                                   std::span<const float> inputs, std::size_t rows);
/// The same for the validation rows, each in the scale of its instrument.
std::vector<double> predict_validation(const mlp::Engine& engine, const Dataset& set);

void to_json(nlohmann::ordered_json& json, const TargetMeaning& meaning);
void from_json(const nlohmann::ordered_json& json, TargetMeaning& meaning);

} // namespace rekindle::trainer
