#include "market_input.h"

#include <rekindle/base/file.h>
#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rekindle::cli {

namespace {

void draw(Context& context, const trainer::MarketData& data, std::size_t count) {
    const std::vector<market::Session>& sessions = data.plan.sessions;
    const TerminalTraits& traits = context.output.traits();
    const market::DrawOptions options{.columns = traits.width, .utf8 = traits.utf8, .colour = traits.colour};
    for (std::size_t i = sessions.size() - std::min(count, sessions.size()); i < sessions.size(); ++i) {
        const market::BarTable& bars = data.read.bars;
        const std::string& contract = bars.metadata().contracts[sessions[i].contract];
        context.output.line(fmt::format("{}{}, {} units", market::format_date(sessions[i].date),
                                        contract.empty() ? "" : "  " + contract,
                                        with_thousands(data.summaries[i].total_volume)));
        context.output.write(
            market::draw_profile(market::session_profile(bars, sessions[i], data.profile_rules),
                                 market::session_figures(bars, sessions[i], data.profile_rules), options));
    }
}

void write_report(Context& context, const market::ProfileReport& report, const std::string& output,
                  LogSink& log) {
    const bool json = output.ends_with(".json");
    const std::string text = json ? render_profile_json(report) : render_profile_csv(report);
    if (output == "-") {
        context.output.write(text);
        return;
    }
    write_file_atomically(output, text);
    log.info(fmt::format("{} sessions written to {}",
                         with_thousands(static_cast<std::int64_t>(report.sessions.size())), output));
}

} // namespace

ExitStatus run_volume_profile(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    const trainer::TrainConfig config = context.config(view).config;
    if (printed_config(context, config))
        return ExitStatus::success;
    const std::string output = context.line.text("output");
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const ScratchFile scratch(context.folders);
    ThreadPool pool(static_cast<std::size_t>(config.threads));
    const trainer::MarketData data =
        trainer::load_market_data(config, scratch.path(), pool, view, cancellation);
    const market::ProfileReport report = market::make_profile_report(
        data.read.bars, data.plan.sessions, data.session_rules.clock, data.profile_rules, pool);
    stop_if_requested(cancellation);
    view.finish();

    write_rejected(data.read.rejected, output == "-" ? "" : output, view);
    if (!output.empty())
        write_report(context, report, output, view);
    if (const std::string trends = context.line.text("trends"); !trends.empty()) {
        write_file_atomically(trends, render_trends_csv(report));
        view.info(fmt::format("{} trends written to {}", report.trends.size(), trends));
    }
    const bool drawing = !context.messages.json && !context.messages.quiet && output != "-";
    if (const std::int64_t count = context.line.integer("draw", 1); drawing && count > 0)
        draw(context, data, static_cast<std::size_t>(count));
    if (context.messages.json)
        context.result({{"output", output}, {"sessions", report.sessions.size()}});
    return ExitStatus::success;
}

} // namespace rekindle::cli
