#include "job_config.h"
#include "search/search_job.h"

#include <rekindle/base/text.h>
#include <rekindle/base/version.h>
#include <rekindle/market/clock.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>

namespace rekindle::research {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t listed_trials = 20;
/// A chart cannot show more points than this distinctly.
constexpr std::size_t shown_points = 2000;

double score_of(const SearchResult& result, const Trial& trial) {
    if (trial.diverged)
        return std::numeric_limits<double>::quiet_NaN();
    return result.objective == Objective::timing ? trial.timing_ratio : trial.loss_saved;
}

const char* score_title(const SearchResult& result) {
    return result.objective == Objective::timing ? "timing ratio per row" : "loss reduction (%)";
}

std::string name_of_key(const std::string& key) {
    std::string name = key;
    std::ranges::replace(name, '_', '-');
    return name;
}

trainer::Chart progress_chart(const SearchResult& result) {
    trainer::Chart chart;
    chart.title = "Score against trials";
    chart.description = "Each dot is one setting, in the order of trials; the line is the best score so far.";
    chart.x = {.title = "trial", .integers = true};
    chart.y = {.title = score_title(result)};
    trainer::Series dots{.name = "settings", .mark = trainer::Mark::scatter, .strong = false};
    trainer::Series best{.name = "best so far", .mark = trainer::Mark::step, .style = 1};
    const std::size_t every = std::max<std::size_t>(1, result.trials.size() / shown_points);
    double highest = -std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < result.trials.size(); ++t) {
        const double score = score_of(result, result.trials[t]);
        const auto x = static_cast<double>(t + 1);
        if (t % every == 0) {
            dots.x.push_back(x);
            dots.y.push_back(score);
        }
        if (score > highest || t + 1 == result.trials.size()) {
            highest = std::isnan(score) ? highest : std::max(highest, score);
            best.x.push_back(x);
            best.y.push_back(highest);
        }
    }
    chart.y.minimum = [&] { // otherwise a few failed settings would squeeze all others together
        std::vector<double> sorted;
        for (const double value : dots.y)
            if (std::isfinite(value))
                sorted.push_back(value);
        std::ranges::sort(sorted);
        return sorted.empty() ? std::optional<double>() : std::optional(sorted[sorted.size() / 20]);
    }();
    for (double& value : dots.y)
        if (chart.y.minimum && value < *chart.y.minimum)
            value = std::numeric_limits<double>::quiet_NaN();
    chart.series = {std::move(dots), std::move(best)};
    chart.rules.push_back({0, "training mean"});
    return chart;
}

/// The scores by the value of one setting.
trainer::Chart dimension_chart(const SearchResult& result, const Dimension& dimension, double lowest) {
    trainer::Chart chart;
    const std::string name = name_of_key(dimension.key);
    chart.title = "Score by " + name;
    chart.description = "Each dot is one setting that was tried.";
    chart.y = {.title = score_title(result)};
    chart.legend = false;
    trainer::Series dots{.mark = trainer::Mark::scatter, .strong = false};
    std::vector<std::string> choices;
    for (const Json& choice : dimension.choices)
        choices.push_back(choice.dump());
    const bool numbers = dimension.choices.empty() ||
                         std::ranges::all_of(dimension.choices, [](const Json& v) { return v.is_number(); });
    chart.x.title = dimension.logarithmic ? "log10 of " + name : name;
    if (!numbers) {
        chart.x.title = "";
        for (std::size_t c = 0; c < dimension.choices.size(); ++c)
            chart.x.title +=
                fmt::format("{}{} {}", c == 0 ? "" : ", ", c + 1, value_text(dimension.choices[c]));
        chart.x.integers = true;
    }
    const std::size_t every = std::max<std::size_t>(1, result.trials.size() / shown_points);
    for (std::size_t t = 0; t < result.trials.size(); t += every) {
        const Json& value = result.trials[t].settings.at(dimension.key);
        const double score = score_of(result, result.trials[t]);
        if (!(score >= lowest))
            continue;
        const auto position = std::ranges::find(choices, value.dump()) - choices.begin();
        const double x = numbers ? value.get<double>() : static_cast<double>(position + 1);
        dots.x.push_back(dimension.logarithmic ? std::log10(x) : x);
        dots.y.push_back(score);
    }
    chart.series.push_back(std::move(dots));
    return chart;
}

std::string percent(const std::optional<double>& share) {
    return share ? fmt::format("{:.1f} %", 100 * *share) : "none";
}

trainer::ReportTable judgment_table(const SearchResult& result) {
    const SearchJudgment& j = result.judgment;
    const Trial& best = result.trials[*result.best];
    trainer::ReportTable table{
        "Is the best setting more than luck?",
        {"figure", "value"},
        {},
        "The scores above are on the rows that chose the setting. Loss reduction is relative to the loss of "
        "the training mean. A timing return is "
        "sign(forecast - training mean) times (outcome - training mean); docs/statistics.md explains each "
        "figure. The program does not know of settings that were tried elsewhere."};
    table.rows = {
        {"settings tried", with_thousands(static_cast<std::int64_t>(j.trials))},
        {"settings that diverged", with_thousands(static_cast<std::int64_t>(j.diverged))},
        {"rows that all settings were scored on", with_thousands(static_cast<std::int64_t>(j.rows))},
        {"loss reduction of the chosen setting", fmt::format("{:.3g} %", best.loss_saved)},
        {result.meaning.is_probability() ? "loss reduction of logistic regression"
                                         : "loss reduction of ridge regression",
         j.linear_loss_saved ? fmt::format("{:.3g} %", *j.linear_loss_saved) : "none"},
        {"Sharpe ratio of its timing returns, per row", fmt::format("{:.3f}", best.timing_ratio)},
        {"probability that this ratio exceeds the best that luck gives (deflated Sharpe ratio)",
         percent(j.deflated_sharpe)},
        {"p-value of the chosen setting, adjusted for all settings (Romano and Wolf)", percent(j.chosen_p)},
        {"p-value of the hypothesis that no setting has skill (Hansen)", percent(j.superior_p)},
        {"probability that the best setting of one half is not above the median in the other (overfitting)",
         percent(j.overfitting)},
        {"rows needed for 95 % (minimum track record length)",
         j.track_record ? with_thousands(static_cast<std::int64_t>(std::ceil(*j.track_record))) : "none"}};
    for (const std::string& reason : j.reasons)
        table.caption += " There is " + reason + ".";
    return table;
}

trainer::ReportTable best_table(const SearchResult& result) {
    std::vector<const Trial*> sorted;
    for (const Trial& trial : result.trials)
        if (!trial.diverged)
            sorted.push_back(&trial);
    const std::size_t count = std::min(sorted.size(), listed_trials);
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count), sorted.end(),
                      [&](const Trial* a, const Trial* b) {
                          return std::pair(a->rung, score_of(result, *a)) >
                                 std::pair(b->rung, score_of(result, *b));
                      });
    trainer::ReportTable table{"The best settings",
                               {"trial", "epochs", "loss reduction (%)", "timing ratio"},
                               {},
                               "trials.csv lists all settings."};
    for (const auto& [key, value] : result.trials.front().settings.items())
        table.columns.push_back(name_of_key(key));
    for (std::size_t t = 0; t < count; ++t) {
        const Trial& trial = *sorted[t];
        auto& row = table.rows.emplace_back();
        row = {std::to_string(trial.number + 1), std::to_string(trial.epochs),
               fmt::format("{:.3g}", trial.loss_saved), fmt::format("{:.3f}", trial.timing_ratio)};
        for (const auto& [key, value] : trial.settings.items())
            row.push_back(value_text(value));
    }
    return table;
}

void add_facts(trainer::ReportData& report, const SearchResult& result) {
    report.data.push_back({"Folds", std::to_string(result.folds)});
    add_bars(result.markets, report);
    Json json;
    to_json(json, result.search.config);
    for (const std::string& vary : result.search.rules.vary)
        report.configuration.emplace_back("vary", vary);
    for (const auto& [key, value] : json.items()) {
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        if (!text.empty())
            report.configuration.emplace_back(key, text);
    }
}

/// The charts by setting omit scores below this one, which are the lowest twentieth.
double lowest_shown(const SearchResult& result) {
    std::vector<double> scores;
    for (const Trial& trial : result.trials)
        if (const double score = score_of(result, trial); std::isfinite(score))
            scores.push_back(score);
    std::ranges::sort(scores);
    return scores[scores.size() / 20];
}

} // namespace

trainer::ReportData report_of(const SearchResult& result, const std::filesystem::path& folder) {
    trainer::ReportData report;
    std::string names;
    for (const std::string& path : result.search.config.data)
        names += (names.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
    report.kind = trainer::ReportKind::search;
    report.title = names;
    report.evidence = trainer::Evidence::out_of_sample;
    report.judged = fmt::format("{} that {} were scored on", counted(result.judgment.rows, "row"),
                                counted(result.judgment.trials, "setting"));
    report.run = folder.filename().string();
    report.finished = market::format_civil(static_cast<std::int64_t>(std::time(nullptr))) + " UTC";
    report.program = "rekindle " + version_number();
    report.target = result.meaning.text();
    report.evaluation.verdict = verdict_of(result.judgment);
    report.evaluation.has_edge = has_edge(result.judgment);
    trainer::ReportSection section;
    section.title = "Search";
    section.charts.push_back(progress_chart(result));
    const double lowest = lowest_shown(result);
    for (const std::string& vary : result.search.rules.vary)
        section.charts.push_back(dimension_chart(result, parse_dimension(vary), lowest));
    section.sentences.push_back(
        fmt::format("Chosen: {}.", settings_text(result.trials[*result.best].settings)));
    std::string command = "rekindle walk-forward";
    for (const std::string& argument : walk_forward_arguments(result, folder))
        command += " " + shell_word(argument);
    section.sentences.push_back(fmt::format(
        "Charts by setting omit the lowest twentieth of the scores. To see the forecasts of the "
        "chosen setting, run: {}. With --final, this also predicts rows that no setting was chosen "
        "on.",
        command));
    section.tables = {judgment_table(result), best_table(result)};
    report.sections.push_back(std::move(section));
    add_facts(report, result);
    report.notes = result.notes;
    return report;
}

} // namespace rekindle::research
