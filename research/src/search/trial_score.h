#pragma once
/// How well the networks of one setting predict the test rows of all folds.

#include <rekindle/research/fold_data.h>
#include <rekindle/research/network_jobs.h>
#include <rekindle/research/search.h>
#include <rekindle/research/walk_forward.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::research {

/// The test rows that are scored: those with an outcome that is known at `known_until`.
struct TestRows {
    std::vector<RowRange> of_fold;   ///< per fold: its part of the lists below
    std::vector<std::size_t> offset; ///< per scored row: its number among the test rows of its fold
    std::vector<std::size_t> row;    ///< and among all rows
};

TestRows scored_test_rows(const ForecastRows& rows, std::span<const Fold> folds, std::int64_t known_until);

/// Fills in the scores of a trial. `results[f * seeds + s]` is the network of fold f and seed s; a fold is
/// predicted by the mean of its networks that did not diverge, and the trial diverged if a fold has none.
void score_trial(const ForecastRows& rows, const TestRows& scored, const FoldBlock& block, std::size_t seeds,
                 std::span<const NetworkResult> results, Trial& trial);

/// The percentage of the training mean's loss that these forecasts save, one per scored row: squared error,
/// of a probability log loss.
double loss_saved(const ForecastRows& rows, const TestRows& scored, const FoldBlock& block,
                  std::span<const double> forecasts);

} // namespace rekindle::research
