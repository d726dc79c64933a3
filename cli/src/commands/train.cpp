#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/surroundings.h>
#include <rekindle/trainer/train.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {

namespace {

void print_outcome(Context& context, const trainer::TrainOutcome& outcome) {
    Stream& output = context.output;
    if (context.messages.json) {
        context.result({{"interrupted", outcome.interrupted},
                        {"run_folder", outcome.run_folder.string()},
                        {"report", outcome.report.string()},
                        {"verdict", outcome.verdict},
                        {"has_edge", outcome.has_edge},
                        {"scores", outcome.score_lines},
                        {"scores_of_the_mean", outcome.mean_lines},
                        {"scores_by_instrument", outcome.instrument_lines},
                        {"seconds", outcome.seconds}});
        return;
    }
    if (outcome.interrupted) {
        print_interruption(context, "train", outcome.seconds, "everything up to the last step is",
                           outcome.run_folder);
        return;
    }
    output.line("");
    if (!outcome.mean_lines.empty())
        output.line("the best network, selected among the seeds on these same rows:");
    for (const std::string& line : outcome.score_lines)
        output.line(line);
    if (!outcome.mean_lines.empty())
        output.line("the mean of all networks, with no selection among the seeds:");
    for (const std::string& line : outcome.mean_lines)
        output.line(line);
    if (!outcome.instrument_lines.empty())
        output.line("by instrument:");
    for (const std::string& line : outcome.instrument_lines)
        output.line("  " + line);
    output.line(outcome.verdict);
    output.line("");
    output.line(fmt::format("run folder: {}", outcome.run_folder.string()));
    if (!outcome.report.empty())
        output.line(fmt::format("report:     {}", outcome.report.string()));
    output.line(fmt::format("total time: {}", format_duration(outcome.seconds)));
}

} // namespace

ExitStatus run_train(Context& context) {
    ProgressView view(context.output, context.errors, context.messages);
    const EffectiveConfig effective = context.config(view);
    if (printed_config(context, effective.config))
        return ExitStatus::success;
    require_bars(effective.config);
    if (const std::string sentence = ineffective_variables(process_variables()); !sentence.empty())
        view.info(sentence);
    if (!effective.given.contains("output") && effective.config.resume_from_checkpoint.empty())
        view.info(
            fmt::format("the run folder goes into {} (--output changes that)", effective.config.output));

    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const trainer::TrainOutcome outcome =
        trainer::train(effective.config, effective.given, view, cancellation);
    view.finish();
    print_outcome(context, outcome);
    return outcome.interrupted ? ExitStatus::interrupted : ExitStatus::success;
}

} // namespace rekindle::cli
