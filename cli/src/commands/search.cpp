#include "fold_rules.h"
#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/research/search.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {

namespace {

research::SearchOptions search_options_of(const Context& context, const EffectiveConfig& effective) {
    const CommandLine& line = context.line;
    FoldRules folds = fold_rules(line);
    research::SearchOptions options{effective.config, effective.given, {}, std::move(folds.given)};
    research::SearchRules& rules = options.rules;
    rules.folds = folds.rules;
    rules.vary = line.list("vary");
    rules.method = research::search_method_from_string(line.text("method", "sobol"));
    rules.trials =
        static_cast<std::uint64_t>(line.integer("trials", static_cast<std::int64_t>(rules.trials)));
    rules.trials_given = line.has("trials");
    rules.min_epochs = line.integer("min_epochs", rules.min_epochs);
    rules.reduction = line.integer("reduction", rules.reduction);
    rules.objective = research::objective_from_string(line.text("objective", "auto"));
    for (const char* key : {"vary", "method", "trials", "min_epochs", "reduction", "objective"})
        if (line.has(key))
            options.given_rules.insert(option_name(key));
    const bool halving = rules.method == research::SearchMethod::halving;
    for (const char* key : {"min_epochs", "reduction"})
        if (line.has(key) && !halving && effective.config.resume_from_checkpoint.empty())
            throw usage_error(fmt::format("--{} has no effect without --method halving", option_name(key)))
                .expected("--method halving with it");
    return options;
}

void print_outcome(Context& context, const research::SearchOutcome& outcome) {
    Stream& output = context.output;
    if (context.messages.json) {
        context.result({{"interrupted", outcome.interrupted},
                        {"folder", outcome.folder.string()},
                        {"report", outcome.report.string()},
                        {"trials", outcome.trials},
                        {"verdict", outcome.verdict},
                        {"has_edge", outcome.has_edge},
                        {"lines", outcome.lines},
                        {"walk_forward", outcome.walk_forward},
                        {"seconds", outcome.seconds}});
        return;
    }
    if (outcome.interrupted) {
        print_interruption(context, "search", outcome.seconds,
                           counted(outcome.trials, "finished trial is", "finished trials are"),
                           outcome.folder);
        return;
    }
    output.line("");
    output.line(outcome.verdict);
    output.line("");
    for (const std::string& line : outcome.lines)
        output.line(line);
    output.line("");
    output.line(fmt::format("report:     {}", outcome.report.string()));
    std::string arguments;
    for (const std::string& argument : outcome.walk_forward)
        arguments += " " + shell_word(argument);
    output.line("next:       rekindle walk-forward" + arguments);
    output.line(fmt::format("total time: {}", format_duration(outcome.seconds)));
}

} // namespace

ExitStatus run_search(Context& context) {
    ProgressView view(context.output, context.errors, context.messages);
    const EffectiveConfig effective = context.config(view);
    if (printed_config(context, effective.config))
        return ExitStatus::success;
    require_bars(effective.config);
    const research::SearchOptions options = search_options_of(context, effective);
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const research::SearchOutcome outcome = research::search(options, view, cancellation);
    view.finish();
    print_outcome(context, outcome);
    return outcome.interrupted ? ExitStatus::interrupted : ExitStatus::success;
}

} // namespace rekindle::cli
