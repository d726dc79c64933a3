#include "market_input.h"

#include <rekindle/market/inspect.h>

#include <nlohmann/json.hpp>

#include <limits>

namespace rekindle::cli {

ExitStatus run_inspect(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    context.line.settings["data"] = context.line.positionals;
    const trainer::TrainConfig config = with_instrument(context.config(view), view);
    const market::SessionRules rules = trainer::session_rules(config);
    const market::HolidayCalendar calendar = trainer::holiday_calendar(config);
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    ThreadPool pool(static_cast<std::size_t>(config.threads));
    const auto advanced = [&view](std::uint64_t done, std::uint64_t total) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        view.advanced({"Reading bars", done, total, "bytes", none, none, none});
    };
    const market::ReadResult read =
        market::read_bars(trainer::read_options(config, {}), pool, view, cancellation, advanced);
    stop_if_requested(cancellation);
    view.finish();
    market::InspectReport report =
        market::inspect(read.bars, read.report, rules, calendar, trainer::roll_method(config));
    if (trainer::has_instrument(config))
        report.instrument = trainer::instrument_named(config);
    for (std::string& warning : trainer::instrument_warnings(config, read, rules))
        report.warnings.push_back(std::move(warning));

    write_rejected(read.rejected, {}, view);
    if (context.messages.json || context.line.text("format") == "json")
        context.result(market::to_json(report));
    else
        context.output.write(market::render(report, context.output.traits().width));
    return ExitStatus::success;
}

} // namespace rekindle::cli
