#pragma once
/// The data set of several instruments, and what it shares with that of one.

#include "build_features.h"

#include <rekindle/market/labeled_rows.h>
#include <rekindle/trainer/dataset.h>

#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// Joins the rows of the instruments, split at one time. `parts` is the result of build_rows() for the
/// markets. Throws Error (usage) if a set or, with ScaleBy::instrument, an instrument has too few rows.
Dataset joint_dataset(const TrainConfig& config, std::span<const MarketData> markets,
                      const std::vector<market::LabeledRows>& parts, ThreadPool& pool,
                      const Workspace& workspace);

/// TargetMeaning::network_target() for every row, in the scale of its instrument.
ScratchArray<float> network_targets(const Dataset& set, const Workspace& workspace);

} // namespace rekindle::trainer
