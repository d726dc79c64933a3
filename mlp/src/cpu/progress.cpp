#include "cpu/progress.h"

#include <algorithm>
#include <cmath>

namespace rekindle::mlp::cpu {

double clip_factor(const TrainingSpec& spec, double gradient_norm) {
    return spec.clip_norm > 0 ? std::min(1.0, spec.clip_norm / (gradient_norm + 1e-6)) : 1.0;
}

AdamWStep adamw_step(const TrainingSpec& spec, const Progress& progress, double clip) {
    const OptimizerSpec& o = spec.optimizer;
    const double rate = learning_rate(spec, progress);
    const double correction1 = 1 - progress.beta1_power * o.beta1;
    const double correction2 = 1 - progress.beta2_power * o.beta2;
    return {static_cast<float>(clip),
            static_cast<float>(1 - rate * o.weight_decay),
            static_cast<float>(1 - o.beta1),
            static_cast<float>(o.beta2),
            static_cast<float>(1 - o.beta2),
            static_cast<float>(rate / correction1),
            static_cast<float>(1 / std::sqrt(correction2)),
            static_cast<float>(o.epsilon)};
}

SgdStep sgd_step(const TrainingSpec& spec, const Progress& progress, double clip) {
    return {static_cast<float>(clip), static_cast<float>(spec.optimizer.weight_decay),
            static_cast<float>(spec.optimizer.momentum), static_cast<float>(learning_rate(spec, progress))};
}

namespace {

/// power * beta, or 0 below 1e-200, where 1 - power * beta rounds to 1 anyway. Without this, the power would
/// be subnormal for thousands of steps, and each product with a subnormal takes a CPU about a hundred cycles.
double next_power(double power, double beta) {
    constexpr double negligible = 1e-200;
    const double next = power * beta;
    return next < negligible ? 0 : next;
}

} // namespace

void advance_step(const TrainingSpec& spec, Progress& progress) {
    ++progress.steps;
    progress.pending_batches = 0;
    progress.beta1_power = next_power(progress.beta1_power, spec.optimizer.beta1);
    progress.beta2_power = next_power(progress.beta2_power, spec.optimizer.beta2);
}

} // namespace rekindle::mlp::cpu
