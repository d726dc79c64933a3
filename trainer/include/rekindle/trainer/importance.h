#pragma once
/// Permutation importance (Breiman, 2001): by how much the loss grows when the values of a group of inputs
/// are those of other rows.

#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/dataset.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// Columns of inputs that are permuted together.
struct InputGroups {
    std::vector<std::string> names;
    std::vector<std::vector<std::size_t>> columns; ///< one list per name
};

/// The groups of the feature table, and "instrument" for the one-hot inputs of the instrument. If all columns
/// belong to one group, each column is a group of its own.
InputGroups input_groups(std::span<const std::string> columns);

/// How much the loss grows without the information in a group.
struct Importance {
    std::string group;
    double loss_increase = 0;       ///< relative to the loss: the median
    double lowest = 0, highest = 0; ///< over the folds or permutations
};

/// An epoch number that no training reaches, so its row order is free for permuting rows.
inline constexpr std::int64_t importance_epoch = 0xFFFF'FFFF;

/// The mean loss of a network's outputs in its own unit, given its targets. Uses only the mean of a Gaussian,
/// so that importance measures what a group of features says about the outcome. Precondition: at least one
/// target.
double mean_output_loss(const mlp::LossSpec& loss, std::span<const float> outputs,
                        std::span<const float> targets);

/// Sorts by loss_increase, the largest first.
void sort_by_increase(std::vector<Importance>& importance);

/// For a trained network: the median over 5 permutations, which the seed chooses, of at most 1,024 evenly
/// spaced validation rows. Large networks use fewer, but at least 128, so that this takes about a second.
std::vector<Importance> validation_importance(const Dataset& set, const mlp::Engine& engine,
                                              std::uint64_t seed);

} // namespace rekindle::trainer
