#include "validation.h"

#include "fit/network.h"

namespace rekindle::trainer {

std::vector<double> validation_predictions(const Dataset& set, const mlp::ModelDescription& model,
                                           const mlp::TrainingSpec& spec,
                                           std::span<const mlp::NamedTensor> parameters) {
    const mlp::Engine engine = engine_with(model, spec, parameters);
    const mlp::Samples samples = set.validation();
    return predict_values(engine, set.meaning, {samples.inputs, samples.count * samples.stride},
                          samples.count);
}

Evaluation evaluate_on_validation(const Dataset& set, std::span<const double> predicted,
                                  std::span<const double> ridge, std::uint64_t seed) {
    const EvaluationContext context{set.meaning.text(), static_cast<std::int64_t>(set.meaning.horizon), seed,
                                    set.meaning.previous_text(), ridge};
    const auto actual = set.validation_targets();
    const auto previous = set.previous();
    if (set.meaning.is_probability())
        return evaluate_probabilities(predicted, actual, previous, set.training_share_up, context);
    return evaluate_returns(predicted, actual, previous, set.training_share_up, context);
}

} // namespace rekindle::trainer
