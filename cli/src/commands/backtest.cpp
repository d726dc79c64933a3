#include "market_input.h"

#include <rekindle/cli/research_options.h>
#include <rekindle/research/backtest_job.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace rekindle::cli {

ExitStatus run_backtest(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    const trainer::TrainConfig config = context.config(view).config;
    const research::BacktestJob job = backtest_job(context.line, config);
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const ScratchFile scratch(context.folders);
    ThreadPool pool(static_cast<std::size_t>(config.threads));
    const research::BacktestOutcome outcome =
        research::run_backtest_job(job, scratch.path(), pool, view, cancellation);
    stop_if_requested(cancellation);
    view.finish();
    if (context.messages.json || context.line.text("format") == "json") {
        nlohmann::ordered_json json;
        research::to_json(json, outcome);
        context.result(json);
        return ExitStatus::success;
    }
    for (const std::string& line : research::describe(outcome))
        context.output.line(line);
    context.output.line("");
    for (const std::filesystem::path& file : outcome.files)
        context.output.line(file.string());
    return ExitStatus::success;
}

} // namespace rekindle::cli
