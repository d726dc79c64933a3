#include "epoch_figures.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rekindle::trainer {

double running_loss(const MemberState& member) {
    return member.epoch_loss_sum / static_cast<double>(std::max<std::uint64_t>(1, member.epoch_rows));
}

EpochMetrics figures_of_epoch(std::span<const MemberState> members, std::span<const std::size_t> trained,
                              double training_seconds) {
    const auto median_figure = [&](double MemberEpoch::*figure) {
        return median_over(trained, [&](std::size_t m) { return members[m].history.back().*figure; });
    };
    EpochMetrics metrics;
    metrics.train_loss = median_figure(&MemberEpoch::train_loss);
    metrics.validation_loss = median_figure(&MemberEpoch::validation_loss);
    metrics.accuracy = median_figure(&MemberEpoch::accuracy);
    metrics.learning_rate = median_figure(&MemberEpoch::learning_rate);
    metrics.gradient_norm = median_figure(&MemberEpoch::gradient_norm);
    metrics.networks = trained.size();
    metrics.lowest_validation_loss = std::numeric_limits<double>::max();
    std::uint64_t rows = 0;
    for (const std::size_t m : trained) {
        const MemberEpoch& last = members[m].history.back();
        metrics.steps = std::max(metrics.steps, last.steps);
        metrics.lowest_validation_loss = std::min(metrics.lowest_validation_loss, last.validation_loss);
        rows += members[m].epoch_rows;
    }
    metrics.rows_per_second = static_cast<double>(rows) / std::max(1e-9, training_seconds);
    return metrics;
}

std::vector<EpochMetrics> history_of_member(const Checkpoint& state, std::size_t member) {
    std::vector<EpochMetrics> history;
    double lowest = std::numeric_limits<double>::max();
    const std::vector<MemberEpoch>& epochs = state.members[member].history;
    for (std::size_t e = 0; e < epochs.size(); ++e) {
        EpochMetrics metrics = state.history[e];
        metrics.train_loss = epochs[e].train_loss;
        metrics.validation_loss = epochs[e].validation_loss;
        metrics.accuracy = epochs[e].accuracy;
        metrics.learning_rate = epochs[e].learning_rate;
        metrics.gradient_norm = epochs[e].gradient_norm;
        metrics.steps = epochs[e].steps;
        metrics.best = epochs[e].validation_loss < lowest;
        lowest = std::min(lowest, epochs[e].validation_loss);
        history.push_back(metrics);
    }
    return history;
}

} // namespace rekindle::trainer
