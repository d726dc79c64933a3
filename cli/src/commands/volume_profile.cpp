#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace rekindle::cli {

namespace fs = std::filesystem;

namespace {

void draw(Context& context, const trainer::MarketData& data, std::size_t count) {
    const std::vector<market::Session>& sessions = data.plan.sessions;
    const TerminalTraits& traits = context.output.traits();
    const market::BarMetadata& metadata = data.read.bars.metadata();
    const market::DrawOptions options{
        .columns = traits.width, .utf8 = traits.utf8, .color = traits.color, .bins = !metadata.has_tick()};
    const auto level = static_cast<double>(metadata.level_ticks());
    for (std::size_t i = sessions.size() - std::min(count, sessions.size()); i < sessions.size(); ++i) {
        const market::BarTable& bars = data.read.bars;
        const std::string contract = market::contract_name(bars.metadata(), sessions[i].contract);
        const std::string& name = contract.empty() ? data.instrument : contract;
        context.output.line(fmt::format("{}{}, {}", market::format_date(sessions[i].date),
                                        name.empty() ? "" : "  " + name,
                                        counted(data.summaries[i].total_volume, "unit")));
        market::ProfileFigures figures = market::session_figures(bars, sessions[i], data.profile_rules);
        for (double* price : {&figures.point_of_control, &figures.value_area_low, &figures.value_area_high})
            *price /= level;
        context.output.write(market::draw_profile(
            market::session_profile(bars, sessions[i], data.profile_rules), figures, options));
    }
}

std::size_t count_sessions(std::span<const market::ProfileReport> reports) {
    std::size_t sessions = 0;
    for (const market::ProfileReport& report : reports)
        sessions += report.sessions.size();
    return sessions;
}

void write_reports(Context& context, std::span<const market::ProfileReport> reports,
                   const std::string& output, LogSink& log) {
    const bool json = output.ends_with(".json");
    const std::string text = json ? render_profile_json(reports) : render_profile_csv(reports);
    if (output == "-") {
        context.output.write(text);
        return;
    }
    write_file_atomically(output, text);
    log.info(fmt::format("{} written to {}", counted(count_sessions(reports), "session"), output));
}

void write_trends(std::span<const market::ProfileReport> reports, const std::string& file, LogSink& log) {
    write_file_atomically(file, render_trends_csv(reports));
    std::size_t trends = 0;
    for (const market::ProfileReport& report : reports)
        trends += report.trends.size();
    log.info(fmt::format("{} written to {}", counted(trends, "trend"), file));
}

/// The requested files and drawings.
struct Requests {
    std::string output, trends;
    std::size_t drawings = 0;
};

Requests requests_of(const Context& context, const trainer::TrainConfig& config) {
    Requests requests{context.line.text("output"), context.line.text("trends"), 0};
    const bool files = !requests.output.empty() || !requests.trends.empty();
    for (const std::string& file : {requests.output, requests.trends})
        require_other_file(file, config);
    const auto place = [](const std::string& file) { return fs::absolute(file).lexically_normal(); };
    if (!requests.output.empty() && !requests.trends.empty() &&
        place(requests.output) == place(requests.trends))
        throw usage_error("--output and --trends name the same file").expected("two different files");
    // Without output files, the drawing is the result. With them it is an extra, which --quiet omits.
    const bool drawing = context.line.has("draw") || !files || !context.messages.quiet;
    if (drawing && !context.messages.json && requests.output != "-")
        requests.drawings = static_cast<std::size_t>(context.line.integer("draw", 1));
    if (!files && requests.drawings == 0 && !context.messages.json)
        throw usage_error("nothing to write or draw").expected("--output FILE, --trends FILE or --draw N");
    return requests;
}

} // namespace

ExitStatus run_volume_profile(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    const EffectiveConfig effective = context.config(view);
    if (printed_config(context, effective.config))
        return ExitStatus::success;
    const Requests requests = requests_of(context, effective.config);
    const trainer::TrainConfig config = with_instrument(effective, view);
    const std::string& output = requests.output;
    MarketInput input(context, config, view);
    std::vector<market::ProfileReport> reports;
    for (const trainer::MarketData& data : input.markets) {
        reports.push_back(market::make_profile_report(data.read.bars, data.plan.sessions, data.ends,
                                                      data.read.report.stamps.clock, data.profile_rules,
                                                      input.pool));
        reports.back().instrument = data.instrument;
    }
    stop_if_requested(input.cancellation);
    view.finish();

    write_rejected(trainer::rejected_rows(input.markets), output == "-" ? "" : output, view);
    if (!output.empty())
        write_reports(context, reports, output, view);
    if (!requests.trends.empty())
        write_trends(reports, requests.trends, view);
    for (const trainer::MarketData& data : input.markets)
        draw(context, data, requests.drawings);
    if (context.messages.json)
        context.result({{"output", output}, {"sessions", count_sessions(reports)}});
    return ExitStatus::success;
}

} // namespace rekindle::cli
