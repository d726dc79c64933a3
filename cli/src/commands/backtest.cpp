#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/research/backtest_job.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace rekindle::cli {

namespace {

using research::BacktestJob;

research::SizingRule sizing_of(const CommandLine& line) {
    using Kind = research::SizingRule::Kind;
    research::SizingRule rule;
    const std::string word = line.text("sizing", "fixed");
    rule.kind = word == "fraction"     ? Kind::fraction
                : word == "risk"       ? Kind::risk
                : word == "volatility" ? Kind::volatility
                                       : Kind::fixed;
    rule.amount = line.number("size", rule.amount);
    rule.step = line.number("size_step", rule.step);
    rule.lookback =
        static_cast<std::size_t>(line.integer("lookback", static_cast<std::int64_t>(rule.lookback)));
    if (line.has("lookback") && rule.kind != Kind::volatility)
        throw usage_error("--lookback has no effect without --sizing volatility").at("--lookback");
    return rule;
}

research::PredictionRule rule_of(const CommandLine& line) {
    research::PredictionRule rule;
    rule.threshold = line.number("threshold", 0);
    const std::string direction = line.text("direction", "both");
    rule.direction = direction == "long"    ? research::Direction::long_only
                     : direction == "short" ? research::Direction::short_only
                                            : research::Direction::both;
    rule.stop_loss = line.number("stop_loss", 0) / 100;
    rule.take_profit = line.number("take_profit", 0) / 100;
    rule.hold = static_cast<std::size_t>(line.integer("hold", 0));
    return rule;
}

BacktestJob job_of(const Context& context, const trainer::TrainConfig& config) {
    const CommandLine& line = context.line;
    const auto given = [&](std::string_view key) {
        return line.has(key) ? std::optional(line.number(key, 0)) : std::nullopt;
    };
    BacktestJob job;
    job.bars = config;
    job.predictions = line.text("predictions");
    job.positions = line.text("positions");
    job.filter = {line.text("predictions_of"), line.text("fold"), line.text("network")};
    job.rule = rule_of(line);
    job.center = given("center");
    job.options.capital = line.number("capital", job.options.capital);
    job.options.sizing = sizing_of(line);
    job.options.rebalance = line.flag("rebalance");
    job.costs = line.text("costs");
    job.point_value = given("point_value");
    job.commission = given("commission");
    job.commission_percent = given("commission_percent");
    job.slippage_ticks = given("slippage_ticks");
    job.slippage_percent = given("slippage_percent");
    job.margin_percent = given("margin_percent");
    job.trials = static_cast<std::size_t>(line.integer("trials", 1));
    job.seed = static_cast<std::uint64_t>(line.integer("seed", 0));
    job.output = line.text("output", "backtest");
    return job;
}

} // namespace

ExitStatus run_backtest(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    const trainer::TrainConfig config = context.config(view).config;
    const BacktestJob job = job_of(context, config);
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
