#pragma once
/// How a population scores on the validation rows, and the evaluation of its best network.

#include <rekindle/base/thread_pool.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>
#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/fit.h>
#include <rekindle/trainer/scores.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// Of losses: linear interpolation between order statistics (NumPy's default).
struct Quartiles {
    double lowest = 0, lower = 0, median = 0, upper = 0, highest = 0;
};
/// Precondition: not empty.
Quartiles quartiles_of(std::vector<double> values);

struct PopulationScores {
    std::size_t networks = 0; ///< that have a best epoch
    Quartiles losses;         ///< of their best validation losses
    /// Of the mean of all their predictions, scored like the predictions of one network: no selection among
    /// seeds.
    Evaluation mean;
};

/// Per validation row: the mean over all networks of what each predicts with the weights of its best epoch,
/// in the unit of the target. The same bits for any number of threads. Networks without a best epoch are
/// skipped.
std::vector<double> mean_predictions(const Dataset& set, const mlp::ModelDescription& model,
                                     const mlp::TrainingSpec& spec, const FitResult& fit, ThreadPool& pool);

PopulationScores score_population(const FitResult& fit, Evaluation mean);

/// The best network's evaluation, adjusted for selection: it was selected among several seeds on the same
/// rows that it is scored on, so it has an edge only when the mean of all has one too.
Evaluation adjusted_for_selection(Evaluation best, const PopulationScores& scores);

} // namespace rekindle::trainer
