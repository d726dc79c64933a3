#pragma once
/// The figures of an epoch, from what each network did in it.

#include "dataset/median.h"

#include <rekindle/trainer/checkpoint.h>
#include <rekindle/trainer/progress.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace rekindle::trainer {

/// The median of value(m) over the given members; NaN when there are none.
template <class Value>
double median_over(std::span<const std::size_t> members, Value&& value) {
    std::vector<double> values;
    values.reserve(members.size());
    for (const std::size_t m : members)
        values.push_back(static_cast<double>(value(m)));
    return median(std::move(values));
}

/// The member's mean training loss over the rows of the current epoch so far; 0 before the first one.
double running_loss(const MemberState& member);

/// The epoch that the members `trained` have just added to their histories: medians of their losses,
/// accuracies, learning rates and gradient norms, the most steps, the lowest validation loss, how many they
/// are, and their rows per second of `training_seconds`. The other fields are left at their defaults.
EpochMetrics figures_of_epoch(std::span<const MemberState> members, std::span<const std::size_t> trained,
                              double training_seconds);

/// The epochs of one member, with the numbers and times of the run's epochs.
std::vector<EpochMetrics> history_of_member(const Checkpoint& state, std::size_t member);

} // namespace rekindle::trainer
