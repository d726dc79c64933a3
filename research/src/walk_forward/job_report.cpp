#include "walk_forward/job_report.h"

#include "job_config.h"

#include <rekindle/base/text.h>
#include <rekindle/base/version.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>
#include <rekindle/research/sharpe.h>
#include <rekindle/trainer/network.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace rekindle::research {

namespace {

constexpr std::size_t shown_outcomes = 3000;

std::string count(std::size_t value) {
    return with_thousands(static_cast<std::int64_t>(value));
}

std::string date_of_row(const JobResult& result, std::size_t row) {
    return market::format_date(result.rows.matrix.dates[row]);
}

/// The blocks of one path in chronological order.
std::vector<const BlockForecasts*> path_blocks(const JobResult& result, std::size_t path) {
    std::vector<const BlockForecasts*> blocks;
    for (const BlockForecasts& block : result.forecasts.blocks)
        if (block.path == path)
            blocks.push_back(&block);
    std::ranges::sort(blocks, {}, [](const BlockForecasts* block) { return block->rows.begin; });
    return blocks;
}

/// Calls call(block, index in the block, row) for each scored row of a path.
template <class Call>
void for_each_scored(const JobResult& result, std::size_t path, const Call& call) {
    const std::int64_t until = known_until(result);
    for (const BlockForecasts* block : path_blocks(result, path))
        for (std::size_t i = 0; i < block->rows.size(); ++i) {
            const std::size_t row = block->rows.begin + i;
            if (result.rows.targets.valid[row] != 0 && result.rows.target_end[row] <= until)
                call(*block, i, row);
        }
}

trainer::Chart fold_chart(const JobResult& result) {
    const bool probability = result.rows.meaning.is_probability();
    trainer::Chart chart;
    chart.title = probability ? "Log loss reduction by fold" : "Out-of-sample R² by fold";
    chart.description =
        "One bar per fold: by how much the loss of the networks is below that of the training mean.";
    chart.x = {.title = "fold", .integers = true};
    chart.y = {.title = probability ? "log loss reduction (%)" : "R² (%)", .include_zero = true};
    chart.legend = false;
    trainer::Series bars{.mark = trainer::Mark::bar, .bar_width = 0.7};
    const std::vector<double> scores = fold_scores(result);
    for (std::size_t f = 0; f < scores.size(); ++f) {
        bars.x.push_back(static_cast<double>(f + 1));
        bars.y.push_back(scores[f]);
    }
    chart.series.push_back(std::move(bars));
    chart.rules.push_back({0, "training mean"});
    return chart;
}

/// By how much the squared errors of the networks and of the linear model are below those of the training
/// mean, summed from the first row on.
trainer::Chart reduction_chart(const JobResult& result, std::size_t path) {
    trainer::Chart chart;
    chart.title = "Squared error reduction since the first fold";
    chart.description = "A line that rises steadily is an edge; a single jump is a few lucky rows.";
    chart.x = {.title = "predicted row"};
    chart.y = {.title = "reduction (% of the training mean's total)", .include_zero = true};
    trainer::Series network{.name = "networks", .style = 0}, linear{.name = "linear model", .style = 1};
    double saved = 0, saved_linear = 0, total = 0;
    std::vector<double> by_network, by_linear;
    for_each_scored(result, path, [&](const BlockForecasts& block, std::size_t i, std::size_t row) {
        const auto actual = static_cast<double>(result.rows.targets.values[row]);
        const auto square = [&](double guess) { return (actual - guess) * (actual - guess); };
        const double base = square(block.reference(result.rows, row).training_mean);
        total += base;
        by_network.push_back(saved += base - square(block.mean(i).value));
        by_linear.push_back(saved_linear += base - square(block.linear[i]));
    });
    const std::size_t every = std::max<std::size_t>(1, by_network.size() / shown_outcomes);
    for (std::size_t i = 0; i < by_network.size() && total > 0; i += every) {
        network.x.push_back(static_cast<double>(i + 1));
        network.y.push_back(100 * by_network[i] / total);
        linear.x.push_back(static_cast<double>(i + 1));
        linear.y.push_back(100 * by_linear[i] / total);
    }
    chart.series = {std::move(network), std::move(linear)};
    chart.rules.push_back({0, "training mean"});
    return chart;
}

trainer::ReportTable fold_rows_table(const JobResult& result) {
    trainer::ReportTable table{
        "Folds",
        {"fold", "training rows", "from", "to", "predicted rows", "from", "to", "score (%)"},
        {},
        "A training row whose target ends after the first predicted row is known is "
        "purged. The scaler of each fold is fitted on its training rows."};
    const std::vector<double> scores = fold_scores(result);
    for (std::size_t f = 0; f < result.plan.folds.size(); ++f) {
        const Fold& fold = result.plan.folds[f];
        table.rows.push_back(
            {std::to_string(f + 1), count(rows_in(fold.train)), date_of_row(result, fold.train.front().begin),
             date_of_row(result, fold.train.back().end - 1), count(rows_in(fold.test)),
             date_of_row(result, fold.test.front().begin), date_of_row(result, fold.test.back().end - 1),
             std::isnan(scores[f]) ? "" : fmt::format("{:.3g}", scores[f])});
    }
    return table;
}

trainer::ReportTable importance_table(const JobResult& result) {
    trainer::ReportTable table{"Permutation importance",
                               {"features", "loss grows by (%)", "lowest fold", "highest fold"},
                               {},
                               "How much the loss on the predicted rows grows when the values of these "
                               "features are taken from other predicted rows (Breiman, 2001); median over "
                               "the folds. Near 0, the networks do not need them."};
    for (const Importance& group : result.forecasts.importance)
        table.rows.push_back({group.group, fmt::format("{:.3g}", 100 * group.loss_increase),
                              fmt::format("{:.3g}", 100 * group.lowest),
                              fmt::format("{:.3g}", 100 * group.highest)});
    return table;
}

/// The returns of holding the sign of each forecast, without costs. With several instruments, each instant
/// has the mean over the instruments.
std::vector<double> sign_returns(const JobResult& result, std::size_t path) {
    std::vector<double> returns;
    const bool several = !result.rows.instruments.empty();
    std::int64_t instant = 0;
    double at_once = 0;
    for_each_scored(result, path, [&](const BlockForecasts& block, std::size_t i, std::size_t row) {
        const double value = block.mean(i).value;
        const auto actual = static_cast<double>(result.rows.targets.values[row]);
        const double own = value > 0 ? actual : value < 0 ? -actual : 0;
        const std::int64_t known = result.rows.known_at[row];
        if (several && !returns.empty() && known == instant) {
            ++at_once;
            returns.back() += (own - returns.back()) / at_once;
            return;
        }
        returns.push_back(own);
        instant = known;
        at_once = 1;
    });
    return returns;
}

/// What holding the sign of the forecast would have earned. Empty unless the target is a return that does not
/// overlap with the next one.
std::vector<trainer::ReportTable> sharpe_tables(const JobResult& result, std::size_t path) {
    if (result.rows.meaning.is_probability() || !result.rows.meaning.is_directional() ||
        result.rows.meaning.horizon != 1)
        return {};
    const std::vector<double> returns = sign_returns(result, path);
    const Expected<SharpeEstimate> estimate = estimate_sharpe(returns);
    trainer::ReportTable table{"Holding the sign of the forecast, before costs",
                               {"figure", "value"},
                               {},
                               fmt::format("Per period, not annualized. {} on the same data in this output "
                                           "folder {} counted as trials; the program does not know of "
                                           "others. rekindle backtest applies costs.",
                                           counted(result.jobs, "walk-forward job"),
                                           result.jobs == 1 ? "is" : "are")};
    if (!estimate) {
        table.rows.push_back({"Sharpe ratio", "none: " + estimate.error().message()});
        return {table};
    }
    table.rows.push_back({"periods", count(estimate->periods)});
    table.rows.push_back({"Sharpe ratio", fmt::format("{:.3g}", estimate->ratio)});
    if (estimate->periods < min_judged_periods) {
        table.rows.push_back(
            {"its probabilities", fmt::format("none: they need at least {} periods", min_judged_periods)});
        return {table};
    }
    const double variance = sharpe_variance_without_skill(estimate->periods);
    table.rows.push_back({"probability that the true ratio is above 0 (probabilistic Sharpe ratio)",
                          fmt::format("{:.1f} %", 100 * probabilistic_sharpe_ratio(*estimate))});
    table.rows.push_back(
        {fmt::format("the same, adjusted for {} (deflated Sharpe ratio)", counted(result.jobs, "trial")),
         fmt::format("{:.1f} %", 100 * deflated_sharpe_ratio(*estimate, result.jobs, variance))});
    const auto needed =
        minimum_track_record_length(*estimate, expected_maximum_sharpe(result.jobs, variance));
    table.rows.push_back(
        {"periods needed for 95 % (minimum track record length)",
         needed ? count(static_cast<std::size_t>(std::ceil(*needed))) : "none: " + needed.error().message()});
    return {table};
}

/// "198 rows from 2015-03-06 to 2018-12-21".
std::string final_text(const JobResult& result) {
    const RowRange rows = result.plan.final_rows;
    return fmt::format("{} from {} to {}", counted(rows.size(), "row"), date_of_row(result, rows.begin),
                       date_of_row(result, rows.end - 1));
}

/// "396 predicted rows from 2007-02-02 to 2015-02-27".
std::string judged_text(const JobResult& result, std::size_t path, std::size_t rows, std::string_view noun) {
    std::vector<std::size_t> scored;
    for_each_scored(result, path,
                    [&](const BlockForecasts&, std::size_t, std::size_t row) { scored.push_back(row); });
    std::string text = counted(rows, noun);
    if (!scored.empty())
        text += fmt::format(" from {} to {}", date_of_row(result, scored.front()),
                            date_of_row(result, scored.back()));
    return text;
}

void add_final(trainer::ReportSection& section, const JobResult& result,
               const std::filesystem::path& folder) {
    const RowRange rows = result.plan.final_rows;
    if (rows.size() == 0)
        return;
    const std::string span = final_text(result);
    if (result.final_blocks.empty())
        section.sentences.push_back(
            result.openings.empty()
                ? fmt::format("The final part ({}) is untouched. Open it once, at the end: rekindle "
                              "walk-forward --resume-from-checkpoint {} --final.",
                              span, shell_word(folder.string()))
                : fmt::format("The final part ({}) was opened on {} by {}, so it is no longer untouched.",
                              span, result.openings.front().opened, result.openings.front().folder));
    else
        section.sentences.push_back(
            fmt::format("The final part ({}) was opened{}.", span,
                        result.openings.empty()
                            ? ""
                            : fmt::format(", after {}", counted(result.openings.size(), "earlier opening"))));
}

/// The scores of each instrument, which have no verdict of their own.
trainer::ReportTable instruments_table(const JobResult& result) {
    trainer::ReportTable table{
        "Instruments",
        {"instrument", "predicted rows", "score", "value", "95\u202f% interval", "baseline"},
        {},
        "The verdict is about all rows together. Of many instruments, about one in 40 "
        "beats its baseline by chance alone."};
    for (std::size_t i = 0; i < result.by_instrument.size(); ++i) {
        const trainer::Evaluation& own = result.by_instrument[i];
        for (const trainer::Score& score : own.scores)
            table.rows.push_back(
                {result.rows.instruments[i], count(own.rows), score.name,
                 fmt::format("{:.3g}{}{}", score.value, score.unit.empty() ? "" : " ", score.unit),
                 score.without_interval.empty()
                     ? fmt::format("{:.3g} to {:.3g}", score.interval.low, score.interval.high)
                     : score.without_interval,
                 fmt::format("{:.3g} ({})", score.baseline, score.baseline_name)});
    }
    return table;
}

trainer::ReportSection walk_section(const JobResult& result, std::size_t path,
                                    const std::filesystem::path& folder) {
    trainer::ReportSection section;
    section.title =
        result.job.rules.combinatorial() ? "Combinatorial purged cross-validation" : "Walk-forward";
    section.charts.push_back(fold_chart(result));
    section.charts.push_back(reduction_chart(result, path));
    if (result.job.rules.combinatorial())
        section.sentences.push_back("Folds also train on rows that are later than those they predict, so the "
                                    "scores show how stable a "
                                    "result is, not what trading would have earned. Use windows for that.");
    add_final(section, result, folder);
    if (result.jobs > 1)
        section.sentences.push_back(fmt::format(
            "This output folder has {} on the same data. If you choose the best of them by these scores, the "
            "scores flatter it.",
            counted(result.jobs, "walk-forward job")));
    section.tables = sharpe_tables(result, path);
    if (!result.by_instrument.empty())
        section.tables.push_back(instruments_table(result));
    section.tables.push_back(importance_table(result));
    section.tables.push_back(fold_rows_table(result));
    return section;
}

trainer::Chart path_chart(std::span<const trainer::Evaluation> evaluations) {
    std::vector<double> scores;
    for (const trainer::Evaluation& evaluation : evaluations)
        scores.push_back(evaluation.scores.empty() ? std::nan("") : evaluation.scores.front().value);
    return trainer::distribution_chart(scores, "First score by path", "score (%)", trainer::Better::higher);
}

void add_facts(trainer::ReportData& report, const JobResult& result) {
    add_bars(result.markets, report);
    nlohmann::ordered_json json;
    to_json(json, result.job.config);
    report.configuration.emplace_back("networks", count(result.forecasts.networks));
    for (const auto& [key, value] : json.items()) {
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        if (!text.empty())
            report.configuration.emplace_back(key, text);
    }
}

} // namespace

trainer::ReportData report_of(const JobResult& result, std::span<const trainer::Evaluation> evaluations,
                              std::size_t shown, const std::filesystem::path& folder) {
    trainer::ReportData report;
    const bool probability = result.rows.meaning.is_probability();
    std::string names;
    for (const std::string& path : result.job.config.data)
        names += (names.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
    report.run = folder.filename().string();
    report.kind = trainer::ReportKind::walk_forward;
    report.row_noun = "predicted row";
    report.evidence = result.job.rules.combinatorial() ? trainer::Evidence::cross_validation
                                                       : trainer::Evidence::out_of_sample;
    report.judged = judged_text(result, shown, evaluations[shown].rows, report.row_noun);
    if (!result.final_blocks.empty())
        report.final_part = {final_text(result), result.final_evaluation,
                             std::ranges::any_of(result.openings, [&](const OpenedFinal& opening) {
                                 return opening.folder != report.run;
                             })};
    report.title = names;
    report.finished = market::format_civil(static_cast<std::int64_t>(std::time(nullptr))) + " UTC";
    report.program = "rekindle " + version_number();
    report.target = result.rows.meaning.text();
    report.evaluation = evaluations[shown];
    report.calibration_scale = probability ? 1 : 100;
    report.target_unit = probability ? "probability" : "%";
    report.sections.push_back(walk_section(result, shown, folder));
    if (evaluations.size() > 1)
        report.sections.front().charts.push_back(path_chart(evaluations));
    for_each_scored(result, shown, [&](const BlockForecasts& block, std::size_t i, std::size_t row) {
        report.predicted.push_back(report.calibration_scale * block.mean(i).value);
        report.actual.push_back(report.calibration_scale *
                                static_cast<double>(result.rows.targets.values[row]));
    });
    if (const std::size_t every = std::max<std::size_t>(1, report.actual.size() / shown_outcomes);
        every > 1) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < report.actual.size(); i += every, ++kept) {
            report.predicted[kept] = report.predicted[i];
            report.actual[kept] = report.actual[i];
        }
        report.notes.push_back(fmt::format("The chart of predictions shows every {} of {}.",
                                           ordinal(static_cast<std::int64_t>(every)),
                                           counted(report.actual.size(), "predicted row")));
        report.predicted.resize(kept);
        report.actual.resize(kept);
    }
    add_facts(report, result);
    report.timings = result.stages;
    report.notes.insert(report.notes.end(), result.notes.begin(), result.notes.end());
    return report;
}

} // namespace rekindle::research
