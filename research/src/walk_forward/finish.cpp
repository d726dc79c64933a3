#include "walk_forward/job_report.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/research/sharpe.h>
#include <rekindle/trainer/instrument.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rekindle::research {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

std::string date_of(const JobResult& result, std::size_t row) {
    return market::format_date(result.rows.matrix.dates[row]);
}

/// The path with the median decisive score; the lower of the two middle ones for an even number.
std::size_t median_path(std::span<const trainer::Evaluation> evaluations) {
    std::vector<std::size_t> order(evaluations.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t path) {
        const auto& scores = evaluations[path].scores;
        return scores.empty() ? -std::numeric_limits<double>::infinity() : scores.front().value;
    });
    return order[(order.size() - 1) / 2];
}

void write_fold_table(const fs::path& path, const JobResult& result) {
    const std::vector<double> scores = fold_scores(result);
    std::string text = "fold,train_rows,train_from,train_to,test_rows,test_from,test_to,score_percent\n";
    for (std::size_t f = 0; f < result.plan.folds.size(); ++f) {
        const Fold& fold = result.plan.folds[f];
        text += fmt::format(
            "{},{},{},{},{},{},{},{}\n", f + 1, rows_in(fold.train),
            date_of(result, fold.train.front().begin), date_of(result, fold.train.back().end - 1),
            rows_in(fold.test), date_of(result, fold.test.front().begin),
            date_of(result, fold.test.back().end - 1), std::isnan(scores[f]) ? "" : shortest(scores[f]));
    }
    write_file_atomically(path, text);
}

trainer::PredictionTable predictions_of(const JobResult& result) {
    const trainer::TrainConfig& config = result.job.config;
    std::vector<std::uint64_t> seeds;
    for (std::int64_t n = 0; n < config.population; ++n)
        seeds.push_back(static_cast<std::uint64_t>(config.seed + n));
    std::vector<std::string> instruments = result.rows.instruments;
    if (instruments.empty())
        instruments = {trainer::instrument_name(trainer::instrument_of(result.markets.front()))};
    trainer::PredictionTable table;
    table.utc = !result.markets.front().session_rules.raw_labels;
    const bool paths = result.job.rules.combinatorial();
    add_predictions(
        result.rows, result.forecasts.blocks, seeds, instruments, known_until(result),
        [&](const BlockForecasts& block) {
            return paths ? fmt::format("path {}", block.path + 1) : std::to_string(block.fold + 1);
        },
        table);
    add_predictions(
        result.rows, result.final_blocks, seeds, instruments, std::numeric_limits<std::int64_t>::max(),
        [](const BlockForecasts&) { return std::string("final"); }, table);
    return table;
}

std::vector<trainer::Evaluation> evaluations_by_instrument(const JobResult& result, std::size_t path) {
    return evaluate_instruments(result.rows, result.forecasts.blocks, path, known_until(result),
                                static_cast<std::uint64_t>(result.job.config.seed));
}

Json results_json(const JobResult& result, std::span<const trainer::Evaluation> evaluations,
                  std::size_t shown) {
    Json evaluation, paths = Json::array(), importance = Json::array();
    to_json(evaluation, evaluations[shown]);
    for (const trainer::Evaluation& one : evaluations)
        paths.push_back(one.scores.empty() ? Json() : Json(one.scores.front().value));
    for (const Importance& group : result.forecasts.importance)
        importance.push_back({{"group", group.group},
                              {"loss_increase", group.loss_increase},
                              {"lowest", group.lowest},
                              {"highest", group.highest}});
    Json json{{"evaluation", evaluation},
              {"networks", result.forecasts.networks},
              {"diverged", result.forecasts.diverged},
              {"trained_rows", result.forecasts.trained_rows},
              {"training_seconds", result.forecasts.training_seconds},
              {"jobs_on_same_data", result.jobs},
              {"path_scores", paths},
              {"importance", importance}};
    for (std::size_t i = 0; i < result.by_instrument.size(); ++i) {
        Json own;
        to_json(own, result.by_instrument[i]);
        json["instruments"].push_back({{"name", result.rows.instruments[i]}, {"evaluation", own}});
    }
    if (!result.final_blocks.empty()) {
        Json final_part;
        to_json(final_part, result.final_evaluation);
        json["final"] = final_part;
    }
    return json;
}

void add_lines(const JobResult& result, std::span<const trainer::Evaluation> evaluations, std::size_t shown,
               WalkForwardOutcome& outcome) {
    for (const trainer::Score& score : evaluations[shown].scores)
        outcome.score_lines.push_back(describe(score));
    if (evaluations.size() > 1) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (const trainer::Evaluation& one : evaluations) {
            low = std::min(low, one.scores.front().value);
            high = std::max(high, one.scores.front().value);
        }
        outcome.notes.push_back(fmt::format("These are the scores of the median of {} paths, whose first "
                                            "scores range from {:.3g} to {:.3g} %.",
                                            evaluations.size(), low, high));
    }
    for (std::size_t i = 0; i < result.by_instrument.size(); ++i) {
        const trainer::Evaluation& own = result.by_instrument[i];
        const std::string rows = counted(own.rows, "predicted row");
        outcome.instrument_lines.push_back(
            own.scores.empty()
                ? fmt::format("{}: {}", result.rows.instruments[i], rows)
                : fmt::format("{}: {}; {}", result.rows.instruments[i], rows, describe(own.scores.front())));
    }
    for (const Importance& group : result.forecasts.importance) {
        constexpr std::size_t printed = 5;
        if (static_cast<std::size_t>(&group - result.forecasts.importance.data()) == printed)
            break;
        outcome.notes.push_back(fmt::format(
            "Without the information in {}, the loss grows by {:.3g} % (folds: {:.3g} to {:.3g} %).",
            group.group, 100 * group.loss_increase, 100 * group.lowest, 100 * group.highest));
    }
    if (result.jobs > 1)
        outcome.notes.push_back(
            fmt::format("This is one of {} on the same data in this folder. If you choose the "
                        "best of them by these scores, the scores flatter it.",
                        counted(result.jobs, "walk-forward job")));
    if (!result.final_blocks.empty()) {
        outcome.notes.push_back("The final part: " + result.final_evaluation.verdict.text());
        if (!result.openings.empty())
            outcome.notes.push_back(
                fmt::format("The final part had already been opened {}, so it is no longer "
                            "untouched.",
                            counted(result.openings.size(), "time")));
    }
}

} // namespace

std::int64_t known_until(const JobResult& result) {
    const RowRange final_rows = result.plan.final_rows;
    return final_rows.size() == 0 ? std::numeric_limits<std::int64_t>::max()
                                  : result.rows.known_at[final_rows.begin];
}

std::vector<double> fold_scores(const JobResult& result) {
    const ForecastRows& rows = result.rows;
    const bool probability = rows.meaning.is_probability();
    const std::int64_t until = known_until(result);
    std::vector<double> loss(result.plan.folds.size()), base(loss.size()), scores;
    const auto loss_of = [&](double predicted, double actual) {
        if (!probability)
            return (actual - predicted) * (actual - predicted);
        const double p = std::clamp(actual > 0.5 ? predicted : 1 - predicted, 1e-6, 1 - 1e-6);
        return -std::log(p);
    };
    for (const BlockForecasts& block : result.forecasts.blocks)
        for (std::size_t i = 0; i < block.rows.size(); ++i) {
            const std::size_t row = block.rows.begin + i;
            if (rows.targets.valid[row] == 0 || rows.target_end[row] > until)
                continue;
            const auto actual = static_cast<double>(rows.targets.values[row]);
            loss[block.fold] += loss_of(block.mean(i).value, actual);
            base[block.fold] += loss_of(block.reference(rows, row).training_mean, actual);
        }
    for (std::size_t f = 0; f < loss.size(); ++f)
        scores.push_back(base[f] > 0 ? 100 * (1 - loss[f] / base[f])
                                     : std::numeric_limits<double>::quiet_NaN());
    return scores;
}

std::string describe_plan(const FoldPlan& plan, const ForecastRows& rows, const StoredJob& job) {
    const auto date = [&](std::size_t row) { return market::format_date(rows.matrix.dates[row]); };
    std::size_t fewest = std::numeric_limits<std::size_t>::max(), most = 0;
    for (const Fold& fold : plan.folds) {
        fewest = std::min(fewest, rows_in(fold.train));
        most = std::max(most, rows_in(fold.train));
    }
    const auto count = [](std::size_t number) { return with_thousands(static_cast<std::int64_t>(number)); };
    std::string text = job.rules.combinatorial()
                           ? fmt::format("{} over {} blocks, each predicting {} of them, in {}",
                                         counted(plan.folds.size(), "fold"), job.rules.blocks,
                                         job.rules.test_blocks, counted(plan.paths, "path"))
                           : fmt::format("{} from {} on", counted(plan.folds.size(), "fold"),
                                         date(plan.folds.front().test.front().begin));
    text += fmt::format("; {} training rows each",
                        fewest == most ? count(most) : fmt::format("{} to {}", count(fewest), count(most)));
    if (plan.final_rows.size() > 0)
        text += fmt::format("; {} from {} on stay untouched until --final",
                            counted(plan.final_rows.size(), "row"), date(plan.final_rows.begin));
    return text;
}

void finish(const fs::path& folder, JobResult& result, WalkForwardOutcome& outcome) {
    std::vector<trainer::Evaluation> evaluations;
    for (std::size_t path = 0; path < result.plan.paths; ++path)
        evaluations.push_back(evaluate_path(result.rows, result.forecasts.blocks, path, known_until(result),
                                            static_cast<std::uint64_t>(result.job.config.seed)));
    const std::size_t shown = median_path(evaluations);
    result.by_instrument = evaluations_by_instrument(result, shown);
    outcome.predictions = predictions_of(result);
    trainer::write_predictions_csv(folder / "predictions.csv", outcome.predictions);
    trainer::write_predictions_parquet(folder / "predictions.parquet", outcome.predictions);
    write_fold_table(folder / "folds.csv", result);
    write_file_atomically(folder / "results.json", results_json(result, evaluations, shown).dump(2) + "\n");
    trainer::write_report(folder, report_of(result, evaluations, shown, folder));
    outcome.report = folder / "report.html";
    outcome.verdict = evaluations[shown].verdict.text();
    outcome.has_edge = evaluations[shown].has_edge;
    add_lines(result, evaluations, shown, outcome);
}

} // namespace rekindle::research
