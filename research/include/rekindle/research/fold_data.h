#pragma once
/// The rows of several folds as networks read them: each fold scaled by its own training rows.

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
#include <vector>

namespace rekindle::research {

/// Features with their targets, before any split. Rows without a target are kept: they are predicted too.
struct ForecastRows {
    market::FeatureMatrix matrix;
    market::Targets targets;              ///< one per row of the matrix
    trainer::TargetMeaning meaning;       ///< its scale is not set: every fold has its own
    std::vector<std::int64_t> known_at;   ///< per row: instant from which on it is known, seconds
    std::vector<std::int64_t> target_end; ///< per row: instant from which on its outcome is known
    market::Scaler::Kind scaling = market::Scaler::Kind::robust;

    RowTimes times() const noexcept { return {known_at, target_end, targets.valid}; }
};

/// The features and targets of a configuration. Reports the stage "Building features". Throws Error (usage)
/// like trainer::build_features.
ForecastRows label_rows(const trainer::TrainConfig& config, const trainer::MarketData& data, ThreadPool& pool,
                        trainer::ProgressSink& progress, const Workspace& workspace = {});

/// What a fold's training rows say, and where its rows are in a FoldBlock.
struct FoldRows {
    market::Scaler scaler;          ///< fitted on the training rows
    trainer::TargetMeaning meaning; ///< with the scale of the training targets
    double training_mean = 0;       ///< of the training targets; of a direction: the share of rises
    double share_up = 0;            ///< of rises among the training targets that are not flat
    RowRange train, test;           ///< rows of FoldBlock::samples(), in the order of Fold::train and test
    RowRange sample;                ///< evenly spaced training rows, at most trainer::error_rows
};

/// The rows of consecutive folds, one fold after another. 4 bytes for each of its values.
class FoldBlock {
  public:
    /// Scales the rows. Throws Error like market::Scaler::fit.
    FoldBlock(const ForecastRows& rows, std::span<const Fold> folds, ThreadPool& pool);

    std::span<const FoldRows> folds() const noexcept { return folds_; }
    /// They share the values, so that populations on the CPU need no copy. Rows without a target have the
    /// target 0.
    mlp::Samples samples() const noexcept;
    std::span<const float> inputs(RowRange rows) const noexcept {
        return std::span(values_->inputs).subspan(rows.begin * columns_, rows.size() * columns_);
    }
    /// In the unit of the network, not of the outcome.
    std::span<const float> targets(RowRange rows) const noexcept {
        return std::span(values_->targets).subspan(rows.begin, rows.size());
    }
    /// Those of the rows that have a target.
    std::vector<std::size_t> rows_with_target(RowRange rows) const;
    /// Bytes that a fold takes.
    static std::size_t bytes_of(const Fold& fold, std::size_t columns) noexcept;

  private:
    void add(const ForecastRows& rows, const Fold& fold, ThreadPool& pool);
    RowRange append(const ForecastRows& rows, std::span<const RowRange> ranges, const FoldRows& fold,
                    ThreadPool& pool);
    RowRange append_sample(RowRange train);

    std::size_t columns_ = 0;
    std::vector<FoldRows> folds_;
    struct Values {
        std::vector<float> inputs, targets;
    };
    std::shared_ptr<Values> values_ = std::make_shared<Values>();
    std::vector<std::uint8_t> has_target_;
};

} // namespace rekindle::research
