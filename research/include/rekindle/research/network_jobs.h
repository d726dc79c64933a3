#pragma once
/// Trains many networks on rows of their own as one population: every fold, seed and setting is one network.

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
/// whatever the members of a mlp::Population may.
struct NetworkJob {
    std::size_t fold = 0; ///< index into the folds
    mlp::TrainingSpec training;
};

/// What is the same for all networks of a call.
struct JobSettings {
    std::int64_t epochs = 10; ///< every network trains so long: there is no validation set that could stop it
    std::size_t batch_size = 32;
    std::size_t threads = 1; ///< that shuffle rows
    /// Groups of columns whose importance is measured (Breiman, 2001): their values are taken from other test
    /// rows of the same fold, drawn by the network's seed, all columns of a group from the same row.
    std::vector<std::vector<std::size_t>> permuted = {};
};

struct NetworkResult {
    bool diverged = false;      ///< its loss or a gradient was no longer finite; nothing else is known then
    double training_loss = 0;   ///< mean over the last epoch, in the loss's own unit
    double training_error = 0;  ///< root mean square of outcome - prediction over FoldRows::sample
    std::vector<float> outputs; ///< of the test rows, model.outputs() each
    /// Mean squared error (of a probability: mean log loss) over at most 4,096 evenly spaced test rows with a
    /// target, in units of the network's target; and the same for each group of JobSettings::permuted. Empty
    /// if there is no such row.
    double test_loss = 0;
    std::vector<double> permuted_losses;
};

/// Network-steps done so far, and of all.
using JobProgress = std::function<void(std::uint64_t done, std::uint64_t total, double loss)>;

/// Trains jobs[m] as member m of the population, whose members have these specifications, on its fold's
/// training rows, each in the order of its own seed, and predicts its fold's test rows. The result of a job
/// does not depend on the others. Nothing if the token asked to stop.
std::optional<std::vector<NetworkResult>> train_networks(mlp::Population& population, const FoldBlock& block,
                                                         std::span<const NetworkJob> jobs,
                                                         const JobSettings& settings,
                                                         const JobProgress& progress,
                                                         const CancellationToken& cancellation);

} // namespace rekindle::research
