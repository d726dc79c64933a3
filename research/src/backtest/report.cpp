#include "outputs.h"

#include <rekindle/base/text.h>
#include <rekindle/base/version.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace rekindle::research {

namespace {

using trainer::Chart;
using trainer::Mark;

/// A chart cannot show more points than this distinctly.
constexpr std::size_t charted_points = 800;
constexpr std::size_t shown_trades = 12;

std::string percent(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

std::string money(double value, const std::string& currency) {
    const std::string text = with_thousands(static_cast<std::int64_t>(std::round(value)));
    return currency.empty() ? text : text + " " + currency;
}

/// At most charted_points evenly spaced indices below `count`, including the last one.
std::vector<std::size_t> shown_indices(std::size_t count) {
    std::vector<std::size_t> indices;
    const std::size_t every = std::max<std::size_t>(1, count / charted_points);
    for (std::size_t i = 0; i < count; i += every)
        indices.push_back(i);
    if (indices.back() + 1 != count)
        indices.push_back(count - 1);
    return indices;
}

double year_of(std::int32_t date) {
    return 1970 + date / 365.2425;
}

template <class Value>
trainer::Series line(std::string name, const PeriodReturns& periods, int style, Value value) {
    trainer::Series series{.name = std::move(name), .mark = Mark::line, .style = style};
    for (const std::size_t i : shown_indices(periods.dates.size())) {
        series.x.push_back(year_of(periods.dates[i]));
        series.y.push_back(value(i));
    }
    return series;
}

/// The drawdown at the end of each period, in percent; at most 0.
std::vector<double> drawdowns(const PeriodReturns& periods, double capital) {
    std::vector<double> result;
    double highest = capital;
    for (const double equity : periods.equity) {
        highest = std::max(highest, equity);
        result.push_back(-100 * (1 - equity / highest));
    }
    return result;
}

Chart equity_chart(const JudgedBacktest& judged, const std::string& currency) {
    const Performance& own = judged.evaluation.strategy;
    Chart chart{.title = "Equity",
                .description = fmt::format("Equity from {} to {}.", money(own.capital, currency),
                                           money(judged.periods.equity.back(), currency)),
                .x = {.title = "year"},
                .y = {.title = currency.empty() ? "equity" : "equity (" + currency + ")"}};
    chart.series.push_back(
        line("strategy", judged.periods, 0, [&](std::size_t i) { return judged.periods.equity[i]; }));
    chart.series.push_back(line("buy and hold", judged.buy_and_hold, 1,
                                [&](std::size_t i) { return judged.buy_and_hold.equity[i]; }));
    chart.rules.push_back({.value = own.capital, .label = "always flat"});
    return chart;
}

Chart drawdown_chart(const JudgedBacktest& judged) {
    const std::vector<double> own = drawdowns(judged.periods, judged.evaluation.strategy.capital);
    const std::vector<double> held = drawdowns(judged.buy_and_hold, judged.evaluation.strategy.capital);
    Chart chart{.title = "Drawdown",
                .description = fmt::format("Loss since the highest equity so far; the largest is {}.",
                                           percent(judged.evaluation.strategy.largest_drawdown)),
                .x = {.title = "year"},
                .y = {.title = "below the highest equity (%)", .include_zero = true}};
    chart.series.push_back(line("strategy", judged.periods, 0, [&](std::size_t i) { return own[i]; }));
    chart.series.push_back(line("buy and hold", judged.periods, 1, [&](std::size_t i) { return held[i]; }));
    return chart;
}

Chart position_chart(const PeriodReturns& periods, bool together) {
    Chart chart{.title = "Position",
                .description =
                    together
                        ? fmt::format("Instruments held long minus those held short, at the end of each {}.",
                                      periods.name)
                        : fmt::format("Contracts at the end of each {}; negative: short.", periods.name),
                .x = {.title = "year"},
                .y = {.title = together ? "instruments" : "contracts", .include_zero = true}};
    chart.series.push_back(line("", periods, 0, [&](std::size_t i) { return periods.position[i]; }));
    chart.series.back().mark = Mark::step;
    chart.legend = false;
    return chart;
}

Chart profit_chart(const BacktestOutcome& outcome) {
    const std::string& currency = outcome.currency;
    std::vector<double> profits;
    for (const PlacedTrade& placed : trades_of(outcome))
        profits.push_back(placed.trade.profit);
    Chart chart = trainer::distribution_chart(profits, "Profit of a trade",
                                              currency.empty() ? "profit" : "profit (" + currency + ")",
                                              trainer::Better::higher, "trade");
    chart.bands.clear();
    std::erase_if(chart.rules, [](const trainer::Rule& rule) { return rule.label == "best"; });
    return chart;
}

trainer::ReportTable comparison(const BacktestOutcome& outcome) {
    const BacktestEvaluation& evaluation = outcome.judged.evaluation;
    const Performance &own = evaluation.strategy, &held = evaluation.buy_and_hold;
    const std::string& currency = outcome.currency;
    const std::string period = outcome.judged.periods.name;
    trainer::ReportTable table{.title = "Strategy and buy and hold",
                               .columns = {"", "strategy", "buy and hold"}};
    const auto add = [&](std::string name, std::string first, std::string second) {
        table.rows.push_back({std::move(name), std::move(first), std::move(second)});
    };
    add("profit after costs", money(own.profit, currency), money(held.profit, currency));
    add("return per year", percent(own.annual_return), percent(held.annual_return));
    add("annual std of returns", percent(own.annual_std), percent(held.annual_std));
    add("annual Sharpe ratio", fmt::format("{:.2f}", own.annual_sharpe),
        fmt::format("{:.2f}", held.annual_sharpe));
    add("largest drawdown", percent(own.largest_drawdown), percent(held.largest_drawdown));
    add("longest drawdown", counted(own.longest_drawdown, period), counted(held.longest_drawdown, period));
    add("bars with a position", percent(own.exposure), percent(held.exposure));
    add("of which long", percent(own.long_exposure), percent(held.long_exposure));
    add("traded value per year / mean equity", fmt::format("{:.1f}", own.turnover),
        fmt::format("{:.1f}", held.turnover));
    add("trades", with_thousands(static_cast<std::int64_t>(own.trades)),
        with_thousands(static_cast<std::int64_t>(held.trades)));
    const auto winners = [](const Performance& figures) {
        return figures.trades == 0
                   ? std::string("-")
                   : percent(static_cast<double>(figures.winners) / static_cast<double>(figures.trades));
    };
    add("winning trades", winners(own), winners(held));
    add("commission", money(own.commission, currency), money(held.commission, currency));
    add("slippage", money(own.slippage, currency), money(held.slippage, currency));
    table.caption =
        fmt::format("Buy and hold has the strategy's mean size and pays the same costs. Before costs, the "
                    "strategy's profit was {}.",
                    money(evaluation.profit_before_costs, currency));
    return table;
}

trainer::ReportTable skill_table(const BacktestEvaluation& evaluation, const std::string& period) {
    trainer::ReportTable table{.title = "Skill or luck", .columns = {"", "figure"}};
    if (!evaluation.skill)
        return table;
    const Skill& skill = *evaluation.skill;
    table.rows = {
        {"settings tried", with_thousands(static_cast<std::int64_t>(evaluation.trials))},
        {fmt::format("Sharpe ratio per {}", period),
         fmt::format("{:.4f} (standard error {:.4f})", skill.sharpe.ratio, skill.sharpe.standard_error())},
        {"Sharpe ratio that the best of these settings reaches by luck",
         fmt::format("{:.4f}", skill.sharpe_needed)},
        {"deflated Sharpe ratio", percent(skill.deflated)},
        {"share of the market's returns (beta)", fmt::format("{:.2f}", skill.market_share)},
        {"deflated Sharpe ratio beyond the market", percent(skill.deflated_beyond_market)},
        {"skewness, kurtosis", fmt::format("{:.2f}, {:.1f}", skill.sharpe.skewness, skill.sharpe.kurtosis)},
        {"minimum track record length",
         skill.periods_needed ? counted(static_cast<std::int64_t>(std::ceil(*skill.periods_needed)), period)
                              : std::string("no length is enough")}};
    table.caption =
        "An edge needs both deflated Sharpe ratios to reach 95 %. They are lower if more settings were tried "
        "than --trials says.";
    return table;
}

trainer::ReportTable last_trades(const BacktestOutcome& outcome) {
    const auto trades = trades_of(outcome);
    trainer::ReportTable table{
        .title = "Last trades",
        .columns = {"entry", "exit", "quantity", "entry price", "exit price", "profit", "reason"}};
    const bool together = outcome.judged_together();
    if (together)
        table.columns.insert(table.columns.begin(), "instrument");
    for (std::size_t i = trades.size() - std::min(trades.size(), shown_trades); i < trades.size(); ++i) {
        const Trade& trade = trades[i].trade;
        const bool raw = trades[i].instrument.raw_labels;
        table.rows.push_back({instant_text(trades[i].entry().end, raw),
                              instant_text(trades[i].exit().end, raw), fmt::format("{:g}", trade.quantity),
                              fmt::format("{:.7g}", trade.entry_price),
                              fmt::format("{:.7g}", trade.exit_price), money(trade.profit, ""),
                              std::string(name_of(trade.exit))});
        if (together)
            table.rows.back().insert(table.rows.back().begin(), trades[i].instrument.name);
    }
    table.caption = "Times are the ends of the bars that filled the orders. trades.csv lists all trades.";
    return table;
}

trainer::ReportTable instruments_table(const BacktestOutcome& outcome) {
    trainer::ReportTable table{
        .title = "Instruments",
        .columns = {"instrument", "profit after costs", "before costs", "buy and hold", "trades",
                    "commission", "slippage"},
        .caption = fmt::format("Each instrument has an account of its own with 1/{} of the capital.",
                               outcome.instruments.size())};
    for (const TradedInstrument& instrument : outcome.instruments) {
        const BacktestEvaluation& own = instrument.judged.evaluation;
        table.rows.push_back({instrument.name, money(own.strategy.profit, outcome.currency),
                              money(own.profit_before_costs, outcome.currency),
                              money(own.buy_and_hold.profit, outcome.currency),
                              with_thousands(static_cast<std::int64_t>(own.strategy.trades)),
                              money(own.strategy.commission, outcome.currency),
                              money(own.strategy.slippage, outcome.currency)});
    }
    return table;
}

const char* sizing_text(SizingRule::Kind kind) {
    switch (kind) {
    case SizingRule::Kind::fixed:
        return "{:g} contracts";
    case SizingRule::Kind::fraction:
        return "contracts worth {:g} times the equity";
    case SizingRule::Kind::risk:
        return "contracts that lose {:g} times the equity at the stop loss";
    case SizingRule::Kind::volatility:
        return "contracts whose value has an annual std of {:g} times the equity";
    }
    return "{}";
}

} // namespace

trainer::ReportData backtest_report(const BacktestJob& job, const BacktestOutcome& outcome) {
    const JudgedBacktest& judged = outcome.judged;
    trainer::ReportData report;
    report.kind = trainer::ReportKind::backtest;
    report.evidence =
        outcome.chosen_on > 0 ? trainer::Evidence::single_split : trainer::Evidence::out_of_sample;
    report.judged = fmt::format("{} from {} to {}", counted(judged.periods.dates.size(), judged.periods.name),
                                market::format_date(judged.periods.dates.front()),
                                market::format_date(judged.periods.dates.back()));
    std::string names;
    for (const std::string& path : job.bars.data)
        names += (names.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
    report.title = names;
    report.run = outcome.signals_text;
    report.finished = market::format_civil(static_cast<std::int64_t>(std::time(nullptr))) + " UTC";
    report.program = "rekindle " + version_number();
    report.evaluation = judged.evaluation.evaluation;
    report.scores_note =
        fmt::format("{} After costs, over {}. Intervals come from a stationary bootstrap; a score whose "
                    "interval contains the baseline may be chance.",
                    judged.evaluation.evaluation.verdict.details, report.judged);
    if (outcome.chosen_on > 0)
        report.scores_note += " Some of the predictions are for rows that chose the network's epoch.";
    report.sections.push_back(
        {.title = "Course",
         .charts = {equity_chart(judged, outcome.currency), drawdown_chart(judged),
                    position_chart(judged.periods, outcome.judged_together()), profit_chart(outcome)},
         .sentences = {},
         .tables = {comparison(outcome), skill_table(judged.evaluation, judged.periods.name),
                    last_trades(outcome)}});
    if (outcome.judged_together()) {
        auto& tables = report.sections.back().tables;
        tables.insert(tables.begin() + 1, instruments_table(outcome));
    }
    report.data = {
        {"Signals", outcome.signals_text},
        {"Capital", money(job.options.capital, outcome.currency)},
        {"Size", fmt::format(fmt::runtime(sizing_text(job.options.sizing.kind)), job.options.sizing.amount)}};
    for (const TradedInstrument& instrument : outcome.instruments) {
        const std::string of = instrument.name.empty() ? "" : " of " + instrument.name;
        report.inputs.push_back(trainer::report_input(instrument.bars));
        report.synthetic = report.synthetic || instrument.bars.synthetic;
        report.data.push_back(
            {"Bars" + of,
             fmt::format("{} ({})", counted(instrument.series.bars.size() - instrument.first, "bar"),
                         instrument.bars.format)});
        report.data.push_back({"Costs" + of, instrument.costs_text});
        report.data.push_back({"XXH3-128 of the bars" + of, instrument.bars.data_hash.hex()});
    }
    trainer::sort_inputs(report.inputs);
    report.notes = outcome.notes;
    if (judged.evaluation.strategy.refused > 0)
        report.warnings.push_back(fmt::format("The equity did not cover the margin of {}.",
                                              counted(judged.evaluation.strategy.refused, "order")));
    return report;
}

namespace {

std::string trades_text(const Performance& figures) {
    std::string text =
        fmt::format("{}, {} with a profit", with_thousands(static_cast<std::int64_t>(figures.trades)),
                    percent(static_cast<double>(figures.winners) / static_cast<double>(figures.trades)));
    if (std::isfinite(figures.profit_factor))
        text += fmt::format(", profit factor {:.2f}", figures.profit_factor);
    return text;
}

} // namespace

std::vector<std::string> describe(const BacktestOutcome& outcome) {
    const JudgedBacktest& judged = outcome.judged;
    const Performance &own = judged.evaluation.strategy, &held = judged.evaluation.buy_and_hold;
    std::vector<std::string> lines{judged.evaluation.evaluation.verdict.text(), ""};
    const auto add = [&](std::string_view name, const std::string& value) {
        lines.push_back(fmt::format("{:<16} {}", std::string(name) + ":", value));
    };
    add("period", fmt::format("{} to {}, {}", market::format_date(judged.periods.dates.front()),
                              market::format_date(judged.periods.dates.back()),
                              counted(judged.periods.dates.size(), judged.periods.name)));
    add("signals", outcome.signals_text);
    for (const TradedInstrument& instrument : outcome.instruments)
        add(instrument.name.empty() ? "costs" : "costs of " + instrument.name, instrument.costs_text);
    add("profit",
        fmt::format("{} after costs, {} before them; buy and hold {}", money(own.profit, outcome.currency),
                    money(judged.evaluation.profit_before_costs, outcome.currency),
                    money(held.profit, outcome.currency)));
    add("trades", own.trades == 0 ? std::string("none") : trades_text(own));
    add("exposure", fmt::format("{} of the bars, {} long; traded value per year {:.1f} times the equity",
                                percent(own.exposure), percent(own.long_exposure), own.turnover));
    for (const trainer::Score& score : judged.evaluation.evaluation.scores)
        lines.push_back(trainer::describe(score));
    if (outcome.judged_together())
        for (const TradedInstrument& instrument : outcome.instruments) {
            const Performance& part = instrument.judged.evaluation.strategy;
            add(instrument.name,
                fmt::format("{} after costs; buy and hold {}; trades: {}",
                            money(part.profit, outcome.currency),
                            money(instrument.judged.evaluation.buy_and_hold.profit, outcome.currency),
                            part.trades == 0 ? std::string("none") : trades_text(part)));
        }
    return lines;
}

} // namespace rekindle::research
