#pragma once
/// The features of the instruments of a job.

#include <rekindle/trainer/dataset.h>

#include <functional>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// Fewer rows are too few to train on.
inline constexpr std::size_t min_training_rows = 10;

/// Rows omitted before the split, and those that they must cover; --compat original keeps the original's
/// leaks.
std::size_t purge_of(const TrainConfig& config);
std::size_t purged_horizon(const TrainConfig& config, std::size_t horizon);

/// Whether rows are bars (group minute), not sessions.
bool per_bar(const TrainConfig& config);

/// One matrix per instrument, all with the same columns: the requested features, without those that cost too
/// many rows and those that an instrument does not have. Tries the feature sets from the largest on and takes
/// the first for which enough(instrument, matrix) is true for every instrument, else the last. `enough` is
/// called once for each instrument and set.
std::vector<market::FeatureMatrix>
features_with_enough_rows(const TrainConfig& config, std::span<const MarketData> markets, ThreadPool& pool,
                          const Workspace& workspace,
                          const std::function<bool(std::size_t, const market::FeatureMatrix&)>& enough);

} // namespace rekindle::trainer
