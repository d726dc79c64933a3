#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/research_options.h>
#include <rekindle/research/walk_forward.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {

namespace {

void print_outcome(Context& context, const research::WalkForwardOutcome& outcome) {
    Stream& output = context.output;
    if (context.messages.json) {
        context.result({{"interrupted", outcome.interrupted},
                        {"folder", outcome.folder.string()},
                        {"report", outcome.report.string()},
                        {"verdict", outcome.verdict},
                        {"has_edge", outcome.has_edge},
                        {"scores", outcome.score_lines},
                        {"instruments", outcome.instrument_lines},
                        {"notes", outcome.notes},
                        {"seconds", outcome.seconds}});
        return;
    }
    if (outcome.interrupted) {
        print_interruption(context, "walk-forward", outcome.seconds, "the finished networks are",
                           outcome.folder);
        return;
    }
    output.line("");
    output.line(outcome.verdict);
    output.line("");
    for (const std::string& line : outcome.score_lines)
        output.line(line);
    for (const std::string& line : outcome.instrument_lines)
        output.line(line);
    for (const std::string& note : outcome.notes)
        output.line(note);
    output.line("");
    output.line(fmt::format("predictions: {}", (outcome.folder / "predictions.csv").string()));
    output.line(fmt::format("report:      {}", outcome.report.string()));
    output.line(fmt::format("total time:  {}", format_duration(outcome.seconds)));
}

} // namespace

ExitStatus run_walk_forward(Context& context) {
    ProgressView view(context.output, context.errors, context.messages);
    const EffectiveConfig effective = context.config(view);
    if (printed_config(context, effective.config))
        return ExitStatus::success;
    require_bars(effective.config);
    const research::WalkForwardOptions options = walk_forward_options(context.line, effective);
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const research::WalkForwardOutcome outcome = research::walk_forward(options, view, cancellation);
    view.finish();
    print_outcome(context, outcome);
    return outcome.interrupted ? ExitStatus::interrupted : ExitStatus::success;
}

} // namespace rekindle::cli
