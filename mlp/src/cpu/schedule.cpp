#include "cpu/schedule.h"

#include <cmath>
#include <numbers>

namespace rekindle::mlp::cpu {

double learning_rate(const TrainingSpec& spec, const PlateauState& plateau, std::uint64_t step) {
    const ScheduleSpec& schedule = spec.schedule;
    const double rate = spec.optimizer.learning_rate * plateau.factor;
    if (step < schedule.warmup_steps)
        return rate * (static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps));
    if (schedule.kind != ScheduleSpec::Kind::cosine)
        return rate;
    if (step >= schedule.total_steps)
        return 0;
    const double position = static_cast<double>(step - schedule.warmup_steps) /
                            static_cast<double>(schedule.total_steps - schedule.warmup_steps);
    return rate * 0.5 * (1 + std::cos(std::numbers::pi * position));
}

void report_epoch(const TrainingSpec& spec, double loss, PlateauState& plateau) {
    if (spec.schedule.kind != ScheduleSpec::Kind::plateau)
        return;
    constexpr double threshold = 1e-4, smallest_change = 1e-8;
    if (loss < plateau.best * (1 - threshold)) {
        plateau.best = loss;
        plateau.bad_epochs = 0;
        return;
    }
    if (++plateau.bad_epochs <= static_cast<std::uint64_t>(spec.schedule.plateau_patience))
        return;
    plateau.bad_epochs = 0;
    const double reduced = plateau.factor * spec.schedule.plateau_factor;
    if (spec.optimizer.learning_rate * (plateau.factor - reduced) > smallest_change)
        plateau.factor = reduced;
}

} // namespace rekindle::mlp::cpu
