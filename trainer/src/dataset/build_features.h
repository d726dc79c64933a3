#pragma once
/// Computes the features of a job's instruments.

#include <rekindle/trainer/dataset.h>

#include <functional>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// Training needs at least this many rows.

/// The number of rows omitted before the split, and the number that they must cover. --compat original keeps
/// the leaks of the original system.
std::size_t purge_of(const TrainConfig& config);
std::size_t purged_horizon(const TrainConfig& config, std::size_t horizon);

/// Whether rows are bars (group minute), not sessions.
bool per_bar(const TrainConfig& config);

/// One matrix per instrument, all with the same columns: the requested features, without those that cost too
/// many rows and those that an instrument lacks. Tries the feature sets, largest first, and takes the first
/// for which enough(instrument, matrix) is true for every instrument; if there is none, takes the last. Calls
/// `enough` once for each instrument and set.
std::vector<market::FeatureMatrix>
features_with_enough_rows(const TrainConfig& config, std::span<const MarketData> markets, ThreadPool& pool,
                          const Workspace& workspace,
                          const std::function<bool(std::size_t, const market::FeatureMatrix&)>& enough);

} // namespace rekindle::trainer
