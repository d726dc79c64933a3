#pragma once
/// The rows of several folds in the form that networks read. Each fold is scaled by its own training rows.

#include <rekindle/base/thread_pool.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/scaler.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/research/folds.h>
#include <rekindle/trainer/dataset.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rekindle::research {

/// Features with their targets, before any split. Includes rows without a target, because they are predicted
/// too. The rows of several instruments are in the order of known_at and, at the same time, of the
/// instruments; matrix.instrument then holds each row's index into `instruments`.
struct ForecastRows {
    market::FeatureMatrix matrix;
    market::Targets targets;              ///< one per row of the matrix
    trainer::TargetMeaning meaning;       ///< without a scale, because every fold has its own
    std::vector<std::int64_t> known_at;   ///< per row: instant at which it becomes known, in seconds
    std::vector<std::int64_t> target_end; ///< per row: instant at which its outcome becomes known
    market::Scaler::Kind scaling = market::Scaler::Kind::robust;
    std::vector<std::string> instruments = {}; ///< names; empty without --several-instruments
    trainer::ScaleBy scale_by = trainer::ScaleBy::instrument;
    trainer::InstrumentInput instrument_input = trainer::InstrumentInput::none;

    RowTimes times() const noexcept { return {known_at, target_end, targets.valid, matrix.instrument}; }
    /// The names of the network's inputs: the features and, with InstrumentInput::one_hot, one input for each
    /// instrument.
    std::vector<std::string> input_names() const;
    std::size_t inputs() const noexcept;
};

/// The features and targets of a configuration. `markets` is the result of trainer::load_markets(). Reports
/// the stage "Building features". Throws Error (usage) like trainer::build_features.
ForecastRows label_rows(const trainer::TrainConfig& config, std::span<const trainer::MarketData> markets,
                        ThreadPool& pool, trainer::ProgressSink& progress, const Workspace& workspace = {});

/// Statistics of one instrument's training rows in a fold.
struct FoldInstrument {
    /// Fitted on the training rows of the instrument or, with ScaleBy::all, of all instruments.
    market::Scaler scaler;
    trainer::TargetMeaning meaning; ///< with the scale of the targets of the same rows
    double training_mean = 0;       ///< of its training targets; for directions, the share of rises
    double share_up = 0;            ///< share of rises among its training targets that are not flat
};

/// The statistics of a fold's training rows, and the ranges of its rows in a FoldBlock.
struct FoldRows {
    std::vector<FoldInstrument> instruments; ///< as ForecastRows::instruments, but at least one
    RowRange train, test; ///< rows of FoldBlock::samples(), in the order of Fold::train and test
    RowRange sample;      ///< evenly spaced training rows, at most trainer::error_rows

    /// For the row with this index among all rows.
    const FoldInstrument& of(const ForecastRows& rows, std::size_t row) const {
        return instruments[rows.matrix.instrument_of(row)];
    }
};

/// The rows of consecutive folds, one fold after another. Takes 4 bytes per value.
class FoldBlock {
  public:
    /// Scales the rows. Throws Error like market::Scaler::fit, and Error (usage) if each instrument is scaled
    /// by its own training rows and one has too few in a fold.
    FoldBlock(const ForecastRows& rows, std::span<const Fold> folds, ThreadPool& pool);

    std::span<const FoldRows> folds() const noexcept { return folds_; }
    /// Shares the values with this object, so that populations on the CPU need no copy. Rows without a target
    /// have the target 0.
    mlp::Samples samples() const noexcept;
    std::span<const float> inputs(RowRange rows) const noexcept {
        return std::span(values_->inputs).subspan(rows.begin * columns_, rows.size() * columns_);
    }
    /// The targets, in the network's unit rather than the outcome's.
    std::span<const float> targets(RowRange rows) const noexcept {
        return std::span(values_->targets).subspan(rows.begin, rows.size());
    }
    /// What the network's output means for this row of the fold.
    const trainer::TargetMeaning& meaning_of(const FoldRows& fold, std::size_t row) const {
        return fold.instruments[instrument_of(row)].meaning;
    }
    /// The instrument of a row of samples().
    std::size_t instrument_of(std::size_t row) const noexcept {
        return instrument_.empty() ? 0 : instrument_[row];
    }
    /// The rows of this range that have a target.
    std::vector<std::size_t> rows_with_target(RowRange rows) const;
    /// Bytes that a fold takes in a block.
    static std::size_t bytes_of(const Fold& fold, std::size_t columns) noexcept;

  private:
    void add(const ForecastRows& rows, const Fold& fold, ThreadPool& pool);
    RowRange append(const ForecastRows& rows, std::span<const RowRange> ranges, const FoldRows& fold,
                    ThreadPool& pool);
    void append_inputs(const ForecastRows& rows, RowRange range, const FoldRows& fold, ThreadPool& pool);
    RowRange append_sample(RowRange train);

    std::size_t columns_ = 0;
    std::vector<FoldRows> folds_;
    struct Values {
        std::vector<float> inputs, targets;
    };
    std::shared_ptr<Values> values_ = std::make_shared<Values>();
    std::vector<std::uint8_t> has_target_;
    std::vector<std::uint16_t> instrument_; ///< empty for one instrument
};

} // namespace rekindle::research
