#pragma once
/// Scores how well the networks of one setting predict the test rows of all folds.

#include <rekindle/research/fold_data.h>
#include <rekindle/research/network_jobs.h>
#include <rekindle/research/search.h>
#include <rekindle/research/walk_forward.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::research {

/// The test rows to score, whose outcomes are known by a given instant.
struct TestRows {
    std::vector<RowRange> of_fold;   ///< per fold: its range in the lists below
    std::vector<std::size_t> offset; ///< per scored row: its index among the test rows of its fold
    std::vector<std::size_t> row;    ///< per scored row: its index among all rows
};

TestRows scored_test_rows(const ForecastRows& rows, std::span<const Fold> folds, std::int64_t known_until);

/// The instants of the values of Trial::timing: known_at of each scored row or, with several instruments,
/// each instant at which rows are known.
std::vector<std::int64_t> timing_instants(const ForecastRows& rows, const TestRows& scored);

/// Fills in the scores of a trial. `results[f * seeds + s]` belongs to fold f and seed s. The mean of the
/// networks that did not diverge predicts each fold; if all networks of a fold diverged, so did the trial.
void score_trial(const ForecastRows& rows, const TestRows& scored, const FoldBlock& block, std::size_t seeds,
                 std::span<const NetworkResult> results, Trial& trial);

/// The percentage by which the loss of these forecasts (one per scored row) is below the training mean's. The
/// loss is squared error or, for probabilities, log loss.
double loss_saved(const ForecastRows& rows, const TestRows& scored, const FoldBlock& block,
                  std::span<const double> forecasts);

} // namespace rekindle::research
