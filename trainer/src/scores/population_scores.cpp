#include "population_scores.h"

#include <rekindle/base/text.h>
#include <rekindle/trainer/network.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace rekindle::trainer {

namespace {

/// Members whose predictions one thread adds up, in order, so that the sums do not depend on the number of
/// threads.
constexpr std::size_t members_per_sum = 64;
constexpr std::size_t max_sums = 64; ///< each holds one value per validation row

void add_predictions(std::vector<double>& sum, mlp::Engine& engine, const Dataset& set, const FitResult& fit,
                     std::span<const MemberResult> members) {
    for (const MemberResult& member : members) {
        if (member.best_epoch == 0)
            continue;
        engine.set_parameters(tensors_from(fit.parameters, member.best_values));
        const auto values = predict_validation(engine, set);
        for (std::size_t row = 0; row < sum.size(); ++row)
            sum[row] += values[row];
    }
}

} // namespace

Quartiles quartiles_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        const double place = share * static_cast<double>(values.size() - 1);
        const auto low = static_cast<std::size_t>(place);
        const std::size_t high = std::min(low + 1, values.size() - 1);
        return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
    };
    return {values.front(), at(0.25), at(0.5), at(0.75), values.back()};
}

std::vector<double> mean_predictions(const Dataset& set, const mlp::ModelDescription& model,
                                     const mlp::TrainingSpec& spec, const FitResult& fit, ThreadPool& pool) {
    const std::size_t rows = set.validation().count;
    const std::size_t members = fit.members.size();
    const std::size_t each = std::max(members_per_sum, (members + max_sums - 1) / max_sums);
    std::vector<std::vector<double>> sums((members + each - 1) / each, std::vector<double>(rows));
    mlp::TrainingSpec single = spec;
    single.threads = 1;
    pool.for_each(sums.size(), [&](std::size_t i) {
        mlp::Engine engine = engine_with(model, single, fit.best_parameters);
        const std::size_t first = i * each;
        add_predictions(sums[i], engine, set, fit,
                        std::span(fit.members).subspan(first, std::min(each, members - first)));
    });
    const auto used = std::ranges::count_if(fit.members, [](const auto& m) { return m.best_epoch > 0; });
    std::vector<double> mean(rows);
    for (const auto& sum : sums)
        for (std::size_t row = 0; row < rows; ++row)
            mean[row] += sum[row];
    for (double& value : mean)
        value /= static_cast<double>(used);
    return mean;
}

PopulationScores score_population(const FitResult& fit, Evaluation mean) {
    std::vector<double> losses;
    for (const MemberResult& member : fit.members)
        if (member.best_epoch > 0)
            losses.push_back(member.best_validation_loss);
    PopulationScores scores;
    scores.networks = losses.size();
    scores.losses = quartiles_of(std::move(losses));
    scores.mean = std::move(mean);
    return scores;
}

Evaluation adjusted_for_selection(Evaluation best, const PopulationScores& scores) {
    const std::string networks = counted(static_cast<std::int64_t>(scores.networks), "seed");
    if (best.has_edge && !scores.mean.has_edge) {
        best.has_edge = false;
        best.verdict = {
            "No edge",
            fmt::format("only the best of {}, selected on these same rows, beats its baseline; the "
                        "mean of all networks does not",
                        networks),
            "The best alone: " + best.verdict.text()};
        return best;
    }
    best.verdict.details += fmt::format(
        "{}This is the best of {}, selected on these same rows, which favors it; the mean of all "
        "networks has {}.",
        best.verdict.details.empty() ? "" : " ", networks, scores.mean.has_edge ? "an edge too" : "no edge");
    return best;
}

} // namespace rekindle::trainer
