#include "validation.h"

#include <rekindle/base/text.h>
#include <rekindle/trainer/logistic.h>
#include <rekindle/trainer/ridge.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rekindle::trainer {

namespace {

/// The smallest block of the bootstrap, in rows. It must span the rows whose targets overlap. Rows of several
/// instruments at one time are not independent, so a block holds all of these and spans as many times as for
/// one instrument.
std::int64_t overlapping_rows(const Dataset& set) {
    if (set.instruments.empty())
        return static_cast<std::int64_t>(set.meaning.horizon);
    const std::size_t rows = set.split.validation_end - set.split.validation_begin;
    std::size_t times = 0;
    for (std::size_t row = set.split.validation_begin; row < set.split.validation_end; ++row)
        times += row == set.split.validation_begin || set.known[row] != set.known[row - 1];
    const double at_once = std::ceil(static_cast<double>(rows) / static_cast<double>(times));
    const double natural = std::ceil(std::cbrt(static_cast<double>(times)));
    return static_cast<std::int64_t>(at_once * std::max(static_cast<double>(set.meaning.horizon), natural));
}

/// Columns with one value per row.
struct ScoredRows {
    std::vector<double> predicted, actual, previous, ridge, logistic, training_mean, shares_up;
};

Evaluation evaluate_rows(const TargetMeaning& meaning, const ScoredRows& rows, double share_up,
                         std::int64_t overlap, std::uint64_t seed) {
    EvaluationContext context{meaning.text(),
                              overlap,
                              seed,
                              meaning.previous_text(),
                              rows.ridge,
                              rows.logistic,
                              rows.training_mean,
                              meaning.is_directional()};
    context.shares_up = rows.shares_up;
    if (meaning.is_probability())
        return evaluate_probabilities(rows.predicted, rows.actual, rows.previous, share_up, context);
    return evaluate_returns(rows.predicted, rows.actual, rows.previous, share_up, context);
}

} // namespace

std::vector<double> validation_predictions(const Dataset& set, const mlp::Engine& engine) {
    return predict_validation(engine, set);
}

Baselines::Baselines(const Dataset& set) : ridge(ridge_predictions(set)) {
    if (set.meaning.is_probability())
        logistic = logistic_predictions(set);
    if (set.instruments.empty())
        training_mean.assign(set.validation().count, set.training_mean());
    else
        for (std::size_t row = set.split.validation_begin; row < set.split.validation_end; ++row)
            training_mean.push_back(set.instruments[set.matrix.instrument_of(row)].training_mean);
}

Evaluation evaluate_on_validation(const Dataset& set, std::span<const double> predicted,
                                  const Baselines& baselines, std::uint64_t seed) {
    const ScoredRows rows{{predicted.begin(), predicted.end()},
                          set.validation_targets(),
                          set.previous(),
                          baselines.ridge,
                          baselines.logistic,
                          baselines.training_mean,
                          set.validation_shares_up()};
    return evaluate_rows(set.meaning, rows, set.training_share_up, overlapping_rows(set), seed);
}

std::vector<Evaluation> evaluate_instruments(const Dataset& set, std::span<const double> predicted,
                                             const Baselines& baselines, std::uint64_t seed) {
    std::vector<Evaluation> evaluations(set.instruments.size());
    if (evaluations.empty())
        return evaluations;
    const auto actual = set.validation_targets(), previous = set.previous();
    std::vector<ScoredRows> rows(set.instruments.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        ScoredRows& own = rows[set.matrix.instrument_of(set.split.validation_begin + i)];
        own.predicted.push_back(predicted[i]);
        own.actual.push_back(actual[i]);
        own.previous.push_back(previous[i]);
        own.ridge.push_back(baselines.ridge[i]);
        if (!baselines.logistic.empty())
            own.logistic.push_back(baselines.logistic[i]);
        own.training_mean.push_back(baselines.training_mean[i]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (!rows[i].actual.empty())
            evaluations[i] = evaluate_rows(set.meaning, rows[i], set.instruments[i].training_share_up,
                                           static_cast<std::int64_t>(set.meaning.horizon), seed);
    return evaluations;
}

std::string describe_instrument(const DatasetInstrument& instrument, const Evaluation& evaluation) {
    const std::string rows = counted(evaluation.rows, "validation row");
    if (evaluation.scores.empty())
        return fmt::format("{}: {}", instrument.name, rows);
    return fmt::format("{}: {}; {}", instrument.name, rows, describe(evaluation.scores.front()));
}

} // namespace rekindle::trainer
