#include "commands.h"

#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/simulate.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace rekindle::cli {

ExitStatus run_simulate(Context& context) {
    market::SimulateOptions options;
    options.bars = context.line.integer("bars", options.bars);
    options.seed =
        static_cast<std::uint64_t>(context.line.integer("seed", static_cast<std::int64_t>(options.seed)));
    const std::string date = context.line.text("start_date", market::format_date(options.start_date));
    if (!market::parse_date(date, options.start_date))
        throw usage_error(fmt::format("\"{}\" is not a date", date))
            .at("--start-date")
            .expected("YYYY-MM-DD");
    const std::filesystem::path output = context.line.text("output");
    market::simulate_file(options, output);

    const std::uintmax_t bytes = std::filesystem::file_size(output);
    if (context.messages.json)
        context.result({{"output", output.string()}, {"bars", options.bars}, {"bytes", bytes}});
    else if (!context.messages.quiet)
        context.output.line(fmt::format("{}: {} from {} on, timestamps in UTC ({})", output.string(),
                                        counted(options.bars, "synthetic one-minute bar"),
                                        market::format_date(options.start_date), format_bytes(bytes)));
    return ExitStatus::success;
}

} // namespace rekindle::cli
