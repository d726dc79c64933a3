#include "validation.h"

#include <rekindle/trainer/logistic.h>
#include <rekindle/trainer/ridge.h>

namespace rekindle::trainer {

std::vector<double> validation_predictions(const Dataset& set, const mlp::Engine& engine) {
    const mlp::Samples samples = set.validation();
    return predict_values(engine, set.meaning, {samples.inputs, samples.count * samples.stride},
                          samples.count);
}

Baselines::Baselines(const Dataset& set)
    : ridge(ridge_predictions(set)), training_mean(set.validation().count, set.training_mean()) {
    if (set.meaning.is_probability())
        logistic = logistic_predictions(set);
}

Evaluation evaluate_on_validation(const Dataset& set, std::span<const double> predicted,
                                  const Baselines& baselines, std::uint64_t seed) {
    const EvaluationContext context{set.meaning.text(),
                                    static_cast<std::int64_t>(set.meaning.horizon),
                                    seed,
                                    set.meaning.previous_text(),
                                    baselines.ridge,
                                    baselines.logistic,
                                    baselines.training_mean,
                                    set.meaning.is_directional()};
    const auto actual = set.validation_targets();
    const auto previous = set.previous();
    if (set.meaning.is_probability())
        return evaluate_probabilities(predicted, actual, previous, set.training_share_up, context);
    return evaluate_returns(predicted, actual, previous, set.training_share_up, context);
}

} // namespace rekindle::trainer
