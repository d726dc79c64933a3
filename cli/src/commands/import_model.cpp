#include "market_input.h"

#include <rekindle/trainer/import_run.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::cli {

ExitStatus run_import_model(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    const EffectiveConfig effective = context.config(view);
    if (effective.config.data.empty())
        throw usage_error("no bars given")
            .expected("--data PATH, the bars that the network was trained on")
            .hint("The scaler is fitted to these bars.");
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const trainer::ImportOutcome outcome = trainer::import_run(
        {context.line.positionals.front(), effective.config, effective.given}, view, cancellation);
    stop_if_requested(cancellation);
    view.finish();

    if (context.messages.json) {
        context.result({{"run_folder", outcome.run_folder.string()},
                        {"facts", outcome.facts},
                        {"scores", outcome.score_lines},
                        {"verdict", outcome.verdict}});
        return ExitStatus::success;
    }
    for (const auto* lines : {&outcome.facts, &outcome.score_lines})
        for (const std::string& line : *lines)
            context.output.line(line);
    context.output.line(outcome.verdict);
    const std::string folder = outcome.run_folder.string();
    context.output.line("");
    context.output.line(fmt::format("run folder: {}", folder));
    context.output.line(fmt::format("predict:    rekindle predict --model {} --data BARS", folder));
    context.output.line(fmt::format("continue:   rekindle train --model {} --data BARS", folder));
    return ExitStatus::success;
}

} // namespace rekindle::cli
