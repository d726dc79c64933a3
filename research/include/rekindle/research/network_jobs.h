#pragma once
/// Trains many networks, each on its own rows, as one population. Each combination of fold, seed and settings
/// is one network.

#include <rekindle/base/cancellation.h>
#include <rekindle/mlp/population.h>
#include <rekindle/research/fold_data.h>
#include <rekindle/trainer/forecast.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::research {

/// One network: the fold whose rows it reads, and how it trains. Networks that train together may differ in
/// the same settings as the members of an mlp::Population.
struct NetworkJob {
    std::size_t fold = 0; ///< index into the folds
    mlp::TrainingSpec training;
};

/// Settings that all networks of a call share.
struct JobSettings {
    std::int64_t epochs = 10; ///< of every network, because there is no validation set to stop one early
    std::size_t batch_size = 32;
    std::size_t threads = 1; ///< number of threads that shuffle rows
    /// Groups of columns whose permutation importance is measured (Breiman, 2001). In each test row, the
    /// values of a group are replaced with those of another test row of the same fold. The network's seed
    /// chooses that row.
    std::vector<std::vector<std::size_t>> permuted = {};
    bool training_errors = true; ///< whether to measure NetworkResult::training_errors
};

struct NetworkResult {
    bool diverged = false;    ///< its loss or a gradient was not finite; the other fields are then unset
    double training_loss = 0; ///< mean over the last epoch, in the loss's own unit
    /// Per instrument of the fold: root mean square of outcome - prediction over its rows of
    /// FoldRows::sample; over all of them if it has none. Empty unless JobSettings::training_errors.
    std::vector<double> training_errors;
    std::vector<float> outputs; ///< of the test rows, model.outputs() each
    /// Mean squared error (for probabilities, mean log loss) in units of the network's target, over at most
    /// 4,096 evenly spaced test rows that have a target; and the same after permuting each group of
    /// JobSettings::permuted (empty if no test row has a target).
    double test_loss = 0;
    std::vector<double> permuted_losses;
};

/// The number of network-steps done so far, and the total number.
using JobProgress = std::function<void(std::uint64_t done, std::uint64_t total, double loss)>;

/// Trains jobs[m] as member m of the population, which must have been made with these specifications. Each
/// network reads its fold's training rows in the order that its seed gives, and then predicts its fold's test
/// rows. The result of a job does not depend on the other jobs. Returns no value if the token asked to stop.
std::optional<std::vector<NetworkResult>> train_networks(mlp::Population& population, const FoldBlock& block,
                                                         std::span<const NetworkJob> jobs,
                                                         const JobSettings& settings,
                                                         const JobProgress& progress,
                                                         const CancellationToken& cancellation);

} // namespace rekindle::research
