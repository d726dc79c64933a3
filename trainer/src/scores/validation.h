#pragma once
/// Scores a network on the validation rows of its data.

#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/scores.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The network's predictions, one per validation row, in the unit of the target.
std::vector<double> validation_predictions(const Dataset& set, const mlp::Engine& engine);

/// What simpler models predict for the validation rows.
struct Baselines {
    std::vector<double> ridge;
    std::vector<double> logistic; ///< for probabilities only
    std::vector<double> training_mean;

    explicit Baselines(const Dataset& set);
};

/// Scores these predictions; `seed` is for the bootstrap.
Evaluation evaluate_on_validation(const Dataset& set, std::span<const double> predicted,
                                  const Baselines& baselines, std::uint64_t seed);

/// The same for the validation rows of each instrument alone. An instrument without such rows has no scores.
/// Empty for a data set of one instrument.
std::vector<Evaluation> evaluate_instruments(const Dataset& set, std::span<const double> predicted,
                                             const Baselines& baselines, std::uint64_t seed);

/// "ES: 245 validation rows; squared error reduction 0.4 % (95 % interval …)": the decisive score, or a note
/// that there are no rows.
std::string describe_instrument(const DatasetInstrument& instrument, const Evaluation& evaluation);

} // namespace rekindle::trainer
