#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/research_options.h>
#include <rekindle/research/search.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {

namespace {

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
    const research::SearchOptions options = search_options(context.line, effective);
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const research::SearchOutcome outcome = research::search(options, view, cancellation);
    view.finish();
    print_outcome(context, outcome);
    return outcome.interrupted ? ExitStatus::interrupted : ExitStatus::success;
}

} // namespace rekindle::cli
