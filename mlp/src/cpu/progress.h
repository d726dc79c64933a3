#pragma once
/// The training state besides tensors, and the scalars of the next optimizer step. Every engine uses these,
/// so that a run can continue on another device.

#include "cpu/kernels.h"
#include "cpu/schedule.h"

#include <rekindle/mlp/training.h>

#include <cstdint>

namespace rekindle::mlp::cpu {

struct Progress {
    std::uint64_t steps = 0;
    std::uint64_t batches = 0;
    std::uint64_t pending_batches = 0;       ///< accumulated since the last step
    double beta1_power = 1, beta2_power = 1; ///< beta^steps, by repeated multiplication
    PlateauState plateau;
};

/// The learning rate of the next step.
inline double learning_rate(const TrainingSpec& spec, const Progress& progress) {
    return learning_rate(spec, progress.plateau, progress.steps);
}
/// torch.nn.utils.clip_grad_norm_: the factor for the gradient.
double clip_factor(const TrainingSpec& spec, double gradient_norm);
/// The scalars of the next step; gradient_scale is `clip`.
AdamWStep adamw_step(const TrainingSpec& spec, const Progress& progress, double clip);
SgdStep sgd_step(const TrainingSpec& spec, const Progress& progress, double clip);
/// Call after an optimizer step.
void advance_step(const TrainingSpec& spec, Progress& progress);

} // namespace rekindle::mlp::cpu
