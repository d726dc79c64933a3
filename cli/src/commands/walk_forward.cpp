#include "fold_rules.h"
#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/research/walk_forward.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <string_view>

namespace rekindle::cli {

namespace {

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

research::WalkForwardOptions options_of(const Context& context, const EffectiveConfig& effective) {
    const CommandLine& line = context.line;
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

void print_outcome(Context& context, const research::WalkForwardOutcome& outcome) {
    Stream& output = context.output;
    if (context.messages.json) {
        context.result({{"interrupted", outcome.interrupted},
                        {"folder", outcome.folder.string()},
                        {"report", outcome.report.string()},
                        {"verdict", outcome.verdict},
                        {"has_edge", outcome.has_edge},
                        {"scores", outcome.score_lines},
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
    if (effective.config.resume_from_checkpoint.empty())
        check_rules(context.line, effective);
    const research::WalkForwardOptions options = options_of(context, effective);
    CancellationToken cancellation;
    const InterruptionGuard guard(cancellation);
    const research::WalkForwardOutcome outcome = research::walk_forward(options, view, cancellation);
    view.finish();
    print_outcome(context, outcome);
    return outcome.interrupted ? ExitStatus::interrupted : ExitStatus::success;
}

} // namespace rekindle::cli
