#include "search/search_job.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <cmath>

namespace rekindle::research {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

std::string csv_field(const std::string& text) {
    return text.find(',') == std::string::npos ? text : '"' + text + '"';
}

void write_trials(const fs::path& path, std::span<const Trial> trials) {
    std::string text = "trial,rung,epochs";
    for (const auto& [key, value] : trials.front().settings.items())
        text += "," + key;
    text += ",loss_saved_percent,timing_ratio,diverged,seconds\n";
    for (const Trial& trial : trials) {
        text += fmt::format("{},{},{}", trial.number + 1, trial.rung, trial.epochs);
        for (const auto& [key, value] : trial.settings.items())
            text +=
                "," + csv_field(value.is_number_float() ? shortest(value.get<double>()) : value_text(value));
        text += trial.diverged
                    ? ",,,1"
                    : fmt::format(",{},{},0", shortest(trial.loss_saved), shortest(trial.timing_ratio));
        text += fmt::format(",{:.6f}\n", trial.seconds);
    }
    write_file_atomically(path, text);
}

/// The configuration of a trial for --config, without the settings that belong to the search's folder.
Json config_json(const StoredSearch& search, const Trial& trial) {
    Json json;
    trainer::TrainConfig config = config_of(search, trial.settings, trial.epochs);
    to_json(json, config);
    for (const char* key : {"output", "resume_from_checkpoint"})
        json.erase(key);
    return json;
}

Json or_null(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json results_json(const SearchResult& result) {
    const SearchJudgment& j = result.judgment;
    const Trial& best = result.trials[*result.best];
    return {{"verdict", verdict_of(j).text()},
            {"has_edge", has_edge(j)},
            {"trials", j.trials},
            {"diverged", j.diverged},
            {"rows", j.rows},
            {"best",
             {{"trial", best.number + 1},
              {"epochs", best.epochs},
              {"settings", best.settings},
              {"loss_saved_percent", best.loss_saved},
              {"timing_ratio", best.timing_ratio}}},
            {"linear_loss_saved_percent", or_null(j.linear_loss_saved)},
            {"deflated_sharpe_ratio", or_null(j.deflated_sharpe)},
            {"p_chosen", or_null(j.chosen_p)},
            {"p_any", or_null(j.superior_p)},
            {"probability_of_overfitting", or_null(j.overfitting)},
            {"minimum_track_record_length", or_null(j.track_record)},
            {"reasons", j.reasons}};
}

void add_lines(const SearchResult& result, SearchOutcome& outcome) {
    const SearchJudgment& j = result.judgment;
    const Trial& best = result.trials[*result.best];
    outcome.lines.push_back("best setting: " + settings_text(best.settings));
    outcome.lines.push_back(
        fmt::format("on the rows that chose it: loss reduction {:.3g} %, timing ratio {:.3f} per row",
                    best.loss_saved, best.timing_ratio));
    if (j.linear_loss_saved)
        outcome.lines.push_back(fmt::format(
            "{} on the same rows: loss reduction {:.3g} %{}",
            result.meaning.is_probability() ? "logistic regression" : "ridge regression",
            *j.linear_loss_saved,
            *j.linear_loss_saved >= best.loss_saved ? ", which the best setting does not beat" : ""));
    if (j.deflated_sharpe)
        outcome.lines.push_back(fmt::format("deflated Sharpe ratio {:.1f} %, given {}",
                                            100 * *j.deflated_sharpe, counted(j.trials, "setting")));
    if (j.overfitting)
        outcome.lines.push_back(fmt::format("probability of overfitting {:.0f} %", 100 * *j.overfitting));
    if (j.diverged > 0)
        outcome.lines.push_back(fmt::format("{} diverged", counted(j.diverged, "setting")));
}

} // namespace

std::vector<std::string> walk_forward_arguments(const SearchResult& result, const fs::path& folder) {
    const WalkForwardRules rules = rules_of(result.search, result.trials[*result.best].settings);
    const WalkForwardRules usual;
    std::vector<std::string> arguments{"--config", (folder / "best.json").string()};
    const auto add = [&](const char* option, const std::string& value, bool differs) {
        if (differs)
            arguments.insert(arguments.end(), {option, value});
    };
    add("--window", "rolling", rules.window == Window::rolling);
    add("--train-rows", std::to_string(rules.train_rows), rules.train_rows != usual.train_rows);
    add("--folds", std::to_string(rules.folds), rules.folds != usual.folds);
    add("--final-share", shortest(rules.final_share), rules.final_share != usual.final_share);
    return arguments;
}

void finish(const fs::path& folder, const SearchResult& result, SearchOutcome& outcome) {
    write_trials(folder / "trials.csv", result.trials);
    write_file_atomically(folder / "best.json",
                          config_json(result.search, result.trials[*result.best]).dump(2) + "\n");
    write_file_atomically(folder / "results.json", results_json(result).dump(2) + "\n");
    trainer::write_report(folder, report_of(result, folder));
    outcome.report = folder / "report.html";
    outcome.verdict = verdict_of(result.judgment).text();
    outcome.has_edge = has_edge(result.judgment);
    outcome.walk_forward = walk_forward_arguments(result, folder);
    add_lines(result, outcome);
}

} // namespace rekindle::research
