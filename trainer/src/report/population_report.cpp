#include "population_report.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rekindle::trainer {

namespace {

ReportTable loss_table(const FitResult& fit, const Quartiles& losses, const std::string& loss_title) {
    const auto figure = [](double value) { return fmt::format("{:.5g}", value); };
    const MemberResult& best = fit.members[fit.best_member];
    return {fmt::format("Best validation {} of each network", loss_title),
            {"best", "lower quartile", "median", "upper quartile", "worst", "best seed", "its best epoch"},
            {{figure(losses.lowest), figure(losses.lower), figure(losses.median), figure(losses.upper),
              figure(losses.highest), std::to_string(best.seed), std::to_string(best.best_epoch)}},
            "population.csv names every network; population.safetensors holds the weights of all."};
}

ReportTable score_table(const Evaluation& best, const Evaluation& mean) {
    ReportTable table{"The best network and the mean of all",
                      {"score", "best network (selected)", "mean of all (fair)", "baseline"},
                      {},
                      "In parentheses: 95 % intervals by block bootstrap."};
    for (std::size_t i = 0; i < std::min(best.scores.size(), mean.scores.size()); ++i) {
        const auto figure = [&](const Score& score) {
            return fmt::format("{:.4g} {} ({:.4g} to {:.4g})", score.value, score.unit, score.interval.low,
                               score.interval.high);
        };
        const Score& fair = mean.scores[i];
        table.rows.push_back({fair.name, figure(best.scores[i]), figure(fair),
                              fmt::format("{:.4g} {} ({})", fair.baseline, fair.unit, fair.baseline_name)});
    }
    return table;
}

} // namespace

ReportSection population_section(const TrainedRun& run, const std::string& loss_title) {
    const FitResult& fit = run.fit;
    const PopulationScores& scores = *run.population;
    std::vector<double> losses, accuracies;
    for (const MemberResult& member : fit.members)
        if (member.best_epoch > 0) {
            losses.push_back(member.best_validation_loss);
            accuracies.push_back(100 *
                                 member.history[static_cast<std::size_t>(member.best_epoch) - 1].accuracy);
        }
    ReportSection section;
    section.title = fmt::format("{} that differ only in their seed",
                                counted(static_cast<std::int64_t>(fit.members.size()), "network"));
    section.charts.push_back(
        distribution_chart(losses, "Best validation loss of each network", loss_title, Better::lower));
    section.charts.push_back(distribution_chart(accuracies, "Direction predicted correctly in that epoch",
                                                "share of validation rows that moved (%)", Better::higher));
    section.sentences.push_back(
        fmt::format("The model of this run is the best of {} by its loss on the validation rows. That choice "
                    "is optimistic: the best of many is better on these rows than on later ones, and the "
                    "more seeds there are, the more so. The median network shows what one seed gives.",
                    counted(static_cast<std::int64_t>(scores.networks), "seed")));
    section.sentences.push_back(fmt::format(
        "The mean of the predictions of {}, scored like the predictions of one, involves no "
        "selection among seeds and is the fair figure: {}",
        counted(static_cast<std::int64_t>(scores.networks), "network"), scores.mean.verdict.text()));
    if (scores.networks < fit.members.size())
        section.sentences.push_back(
            fmt::format("{} in the first epoch and not included in these figures.",
                        counted(static_cast<std::int64_t>(fit.members.size() - scores.networks),
                                "network diverged", "networks diverged")));
    section.tables.push_back(loss_table(fit, scores.losses, loss_title));
    section.tables.push_back(score_table(run.evaluation, scores.mean));
    return section;
}

} // namespace rekindle::trainer
