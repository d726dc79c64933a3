#pragma once
/// The learning rate of a step, with PyTorch's semantics.

#include <rekindle/mlp/training.h>

#include <cstdint>
#include <limits>

namespace rekindle::mlp::cpu {

/// The state of the plateau schedule: torch.optim.lr_scheduler.ReduceLROnPlateau, mode min, threshold 1e-4
/// relative.
struct PlateauState {
    double factor = 1;
    double best = std::numeric_limits<double>::infinity();
    std::uint64_t bad_epochs = 0;
};

/// The learning rate of step s (from 0).
double learning_rate(const TrainingSpec& spec, const PlateauState& plateau, std::uint64_t step);
/// Reports one epoch's validation loss; changes nothing unless the schedule is plateau.
void report_epoch(const TrainingSpec& spec, double loss, PlateauState& plateau);

} // namespace rekindle::mlp::cpu
