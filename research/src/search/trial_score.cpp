#include "search/trial_score.h"

#include <rekindle/research/sharpe.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace rekindle::research {

namespace {

double loss_of(bool probability, double forecast, double outcome) {
    if (!probability)
        return (outcome - forecast) * (outcome - forecast);
    return -std::log(std::clamp(outcome > 0.5 ? forecast : 1 - forecast, 1e-6, 1 - 1e-6));
}

/// The mean forecast of a fold's networks for one of its test rows; no value if all of them diverged.
std::optional<double> mean_forecast(const FoldRows& fold, const trainer::TargetMeaning& meaning,
                                    std::span<const NetworkResult> networks, std::size_t offset) {
    double sum = 0;
    std::size_t usable = 0;
    for (const NetworkResult& network : networks) {
        if (network.diverged)
            continue;
        const std::size_t width = network.outputs.size() / fold.test.size();
        sum += meaning.value(static_cast<double>(network.outputs[offset * width]));
        ++usable;
    }
    return usable > 0 ? std::optional(sum / static_cast<double>(usable)) : std::nullopt;
}

double sign(double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

/// Replaces the values of all rows of one instant by their mean.
std::vector<float> means_by_instant(const ForecastRows& rows, const TestRows& scored,
                                    const std::vector<float>& values) {
    std::vector<float> means;
    for (std::size_t i = 0; i < values.size();) {
        const std::int64_t instant = rows.known_at[scored.row[i]];
        double sum = 0, count = 0;
        for (; i < values.size() && rows.known_at[scored.row[i]] == instant; ++i, ++count)
            sum += static_cast<double>(values[i]);
        means.push_back(static_cast<float>(sum / count));
    }
    return means;
}

} // namespace

TestRows scored_test_rows(const ForecastRows& rows, std::span<const Fold> folds, std::int64_t known_until) {
    TestRows scored;
    for (const Fold& fold : folds) {
        const std::size_t begin = scored.row.size();
        std::size_t offset = 0;
        for (const RowRange& range : fold.test)
            for (std::size_t row = range.begin; row < range.end; ++row, ++offset)
                if (rows.targets.valid[row] != 0 && rows.target_end[row] <= known_until) {
                    scored.offset.push_back(offset);
                    scored.row.push_back(row);
                }
        scored.of_fold.push_back({begin, scored.row.size()});
    }
    return scored;
}

std::vector<std::int64_t> timing_instants(const ForecastRows& rows, const TestRows& scored) {
    std::vector<std::int64_t> instants;
    for (const std::size_t row : scored.row)
        if (rows.instruments.empty() || instants.empty() || instants.back() != rows.known_at[row])
            instants.push_back(rows.known_at[row]);
    return instants;
}

double loss_saved(const ForecastRows& rows, const TestRows& scored, const FoldBlock& block,
                  std::span<const double> forecasts) {
    const bool probability = rows.meaning.is_probability();
    double loss = 0, base = 0;
    for (std::size_t f = 0; f < scored.of_fold.size(); ++f)
        for (std::size_t i = scored.of_fold[f].begin; i < scored.of_fold[f].end; ++i) {
            const auto outcome = static_cast<double>(rows.targets.values[scored.row[i]]);
            loss += loss_of(probability, forecasts[i], outcome);
            base += loss_of(probability, block.folds()[f].of(rows, scored.row[i]).training_mean, outcome);
        }
    return base > 0 ? 100 * (1 - loss / base) : std::numeric_limits<double>::quiet_NaN();
}

void score_trial(const ForecastRows& rows, const TestRows& scored, const FoldBlock& block, std::size_t seeds,
                 std::span<const NetworkResult> results, Trial& trial) {
    std::vector<double> forecasts;
    forecasts.reserve(scored.row.size());
    trial.timing.clear();
    for (std::size_t f = 0; f < scored.of_fold.size(); ++f) {
        const FoldRows& fold = block.folds()[f];
        for (std::size_t i = scored.of_fold[f].begin; i < scored.of_fold[f].end; ++i) {
            const FoldInstrument& instrument = fold.of(rows, scored.row[i]);
            const auto forecast =
                mean_forecast(fold, instrument.meaning, results.subspan(f * seeds, seeds), scored.offset[i]);
            if (!forecast) {
                trial.diverged = true;
                trial.loss_saved = trial.timing_ratio = std::numeric_limits<double>::quiet_NaN();
                trial.timing.clear();
                return;
            }
            const auto outcome = static_cast<double>(rows.targets.values[scored.row[i]]);
            forecasts.push_back(*forecast);
            const double unit = rows.instruments.empty() ? 1 : instrument.meaning.scale;
            trial.timing.push_back(static_cast<float>(sign(*forecast - instrument.training_mean) *
                                                      (outcome - instrument.training_mean) / unit));
        }
    }
    trial.loss_saved = loss_saved(rows, scored, block, forecasts);
    if (!rows.instruments.empty())
        trial.timing = means_by_instant(rows, scored, trial.timing);
    const std::vector<double> returns(trial.timing.begin(), trial.timing.end());
    const auto sharpe = estimate_sharpe(returns);
    trial.timing_ratio = sharpe ? sharpe->ratio : 0;
}

} // namespace rekindle::research
