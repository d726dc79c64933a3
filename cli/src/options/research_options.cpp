/// Turns the options of walk-forward, search and backtest into the jobs of research/.

#include <rekindle/cli/research_options.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace rekindle::cli {

namespace {

/// The windows, and the names of the options that the user set, such as "train-rows".
struct FoldRules {
    research::WalkForwardRules rules;
    std::set<std::string> given;
};

/// Turns the key "train_rows" into the option name "train-rows".
std::string option_name(std::string key) {
    std::ranges::replace(key, '_', '-');
    return key;
}

/// The options that walk-forward and search share.
FoldRules fold_rules(const CommandLine& line) {
    FoldRules folds;
    research::WalkForwardRules& rules = folds.rules;
    const auto count = [&](const char* key, std::size_t otherwise) {
        return static_cast<std::size_t>(line.integer(key, static_cast<std::int64_t>(otherwise)));
    };
    rules.window = line.text("window") == "rolling" ? research::Window::rolling : research::Window::expanding;
    rules.folds = count("folds", rules.folds);
    rules.train_rows = count("train_rows", rules.train_rows);
    rules.final_share = line.number("final_share", rules.final_share);
    for (const char* key : {"window", "folds", "train_rows", "final_share"})
        if (line.has(key))
            folds.given.insert(option_name(key));
    return folds;
}

/// Converts a duration such as "90min" to seconds.
std::int64_t duration_of(const std::string& text) {
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> units{
        {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86'400}}};
    constexpr std::int64_t most = 36'500; // of any unit
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto& [name, seconds] : units)
        if (code == std::errc() && unit == name && number >= 0 && number <= most)
            return number * seconds;
    throw usage_error(fmt::format("{} is not a duration", text))
        .at("--embargo-time")
        .expected("a whole number up to 36500 followed by s, min, h or d, such as 5d");
}

void check_rules(const CommandLine& line, const EffectiveConfig& effective) {
    if (line.has("blocks"))
        return;
    const char* without_blocks = "windows train on earlier rows only";
    if (line.has("test_blocks"))
        throw usage_error("--test-blocks has no effect without --blocks").expected("--blocks N with it");
    if (line.has("embargo_time") || effective.chosen.contains("embargo"))
        throw usage_error(fmt::format("{} has no effect without --blocks: {}",
                                      line.has("embargo_time") ? "--embargo-time" : "--embargo",
                                      without_blocks))
            .expected("--blocks N with it");
}

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

} // namespace

research::WalkForwardOptions walk_forward_options(const CommandLine& line, const EffectiveConfig& effective) {
    if (effective.config.resume_from_checkpoint.empty())
        check_rules(line, effective);
    FoldRules folds = fold_rules(line);
    research::WalkForwardRules& rules = folds.rules;
    rules.blocks = static_cast<std::size_t>(line.integer("blocks", static_cast<std::int64_t>(rules.blocks)));
    rules.test_blocks =
        static_cast<std::size_t>(line.integer("test_blocks", static_cast<std::int64_t>(rules.test_blocks)));
    rules.embargo_rows = static_cast<std::size_t>(effective.config.embargo);
    if (line.has("embargo_time"))
        rules.embargo_seconds = duration_of(line.text("embargo_time"));
    for (const char* key : {"blocks", "test_blocks", "embargo_time"})
        if (line.has(key))
            folds.given.insert(option_name(key));
    return {effective.config, effective.given, rules, folds.given, line.flag("final")};
}

research::SearchOptions search_options(const CommandLine& line, const EffectiveConfig& effective) {
    FoldRules folds = fold_rules(line);
    research::SearchOptions options{effective.config, effective.given, {}, std::move(folds.given)};
    research::SearchRules& rules = options.rules;
    rules.folds = folds.rules;
    rules.vary = line.list("vary");
    rules.method = research::search_method_from_string(line.text("method", "sobol"));
    rules.trials =
        static_cast<std::uint64_t>(line.integer("trials", static_cast<std::int64_t>(rules.trials)));
    rules.trials_given = line.has("trials");
    rules.min_epochs = line.integer("min_epochs", rules.min_epochs);
    rules.reduction = line.integer("reduction", rules.reduction);
    rules.objective = research::objective_from_string(line.text("objective", "auto"));
    for (const char* key : {"vary", "method", "trials", "min_epochs", "reduction", "objective"})
        if (line.has(key))
            options.given_rules.insert(option_name(key));
    const bool halving = rules.method == research::SearchMethod::halving;
    for (const char* key : {"min_epochs", "reduction"})
        if (line.has(key) && !halving && effective.config.resume_from_checkpoint.empty())
            throw usage_error(fmt::format("--{} has no effect without --method halving", option_name(key)))
                .expected("--method halving with it");
    return options;
}

research::BacktestJob backtest_job(const CommandLine& line, const trainer::TrainConfig& config) {
    const auto given = [&](std::string_view key) {
        return line.has(key) ? std::optional(line.number(key, 0)) : std::nullopt;
    };
    research::BacktestJob job;
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

} // namespace rekindle::cli
