#include "outputs.h"

#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rekindle::research {

namespace {

/// Prints 12 significant digits, which hides the rounding noise of binary fractions.
std::string decimal(double value) {
    return fmt::format("{:.12g}", value);
}

std::string trades_csv(const BacktestOutcome& outcome) {
    const bool several = outcome.judged_together();
    std::string csv = several ? "instrument," : "";
    csv += "entry_known_at,exit_known_at,contract,quantity,entry_price,exit_price,commission,profit,bars,"
           "exit\n";
    for (const PlacedTrade& placed : trades_of(outcome)) {
        const Trade& trade = placed.trade;
        const bool raw = placed.instrument.raw_labels;
        if (several)
            csv += placed.instrument.name + ",";
        csv += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", instant_text(placed.entry().end, raw),
                           instant_text(placed.exit().end, raw), placed.contract(), decimal(trade.quantity),
                           decimal(trade.entry_price), decimal(trade.exit_price), decimal(trade.commission),
                           decimal(trade.profit), trade.exit_bar - trade.entry_bar + 1, name_of(trade.exit));
    }
    return csv;
}

std::string equity_csv(const BacktestOutcome& outcome) {
    const PeriodReturns& own = outcome.judged.periods;
    std::string csv = "date,equity,drawdown,return,position,market_return,buy_and_hold\n";
    double highest = outcome.judged.evaluation.strategy.capital;
    for (std::size_t i = 0; i < own.dates.size(); ++i) {
        highest = std::max(highest, own.equity[i]);
        csv += fmt::format("{},{},{},{},{},{},{}\n", market::format_date(own.dates[i]),
                           decimal(own.equity[i]), decimal(1 - own.equity[i] / highest),
                           decimal(own.strategy[i]), decimal(own.position[i]), decimal(own.market[i]),
                           decimal(outcome.judged.buy_and_hold.equity[i]));
    }
    return csv;
}

/// JSON has no infinity.
nlohmann::ordered_json finite(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_of(const Performance& figures) {
    return {{"capital", figures.capital},
            {"profit", figures.profit},
            {"total_return", figures.total_return},
            {"annual_return", figures.annual_return},
            {"annual_std", figures.annual_std},
            {"annual_sharpe", figures.annual_sharpe},
            {"largest_drawdown", figures.largest_drawdown},
            {"longest_drawdown_periods", figures.longest_drawdown},
            {"exposure", figures.exposure},
            {"long_exposure", figures.long_exposure},
            {"short_exposure", figures.short_exposure},
            {"turnover", figures.turnover},
            {"trades", figures.trades},
            {"winners", figures.winners},
            {"mean_profit", figures.mean_profit},
            {"profit_factor", finite(figures.profit_factor)},
            {"commission", figures.commission},
            {"slippage", figures.slippage},
            {"refused_orders", figures.refused},
            {"unsized_decisions", figures.unsized}};
}

nlohmann::ordered_json json_of(const Skill& skill) {
    return {{"sharpe", skill.sharpe.ratio},
            {"sharpe_standard_error", skill.sharpe.standard_error()},
            {"skewness", skill.sharpe.skewness},
            {"kurtosis", skill.sharpe.kurtosis},
            {"sharpe_needed", skill.sharpe_needed},
            {"market_share", skill.market_share},
            {"deflated_sharpe", skill.deflated},
            {"deflated_sharpe_beyond_market", skill.deflated_beyond_market},
            {"periods_needed", skill.periods_needed ? nlohmann::ordered_json(*skill.periods_needed)
                                                    : nlohmann::ordered_json(nullptr)}};
}

nlohmann::ordered_json json_of(const trainer::Score& score) {
    nlohmann::ordered_json json{{"name", score.name}, {"unit", score.unit}, {"value", score.value}};
    if (score.without_interval.empty())
        json["interval"] = {score.interval.low, score.interval.high};
    else
        json["no_interval"] = score.without_interval;
    json["baseline"] = score.baseline;
    json["baseline_name"] = score.baseline_name;
    json["higher_is_better"] = score.higher_is_better;
    return json;
}

nlohmann::ordered_json costs_json(const TradedInstrument& instrument) {
    return {{"text", instrument.costs_text},
            {"point_value", instrument.costs.point_value},
            {"commission", instrument.costs.commission},
            {"commission_percent", 100 * instrument.costs.commission_share},
            {"slippage", instrument.costs.slippage},
            {"slippage_percent", 100 * instrument.costs.slippage_share},
            {"margin_percent", 100 * instrument.costs.margin_share}};
}

nlohmann::ordered_json instruments_json(const BacktestOutcome& outcome) {
    auto list = nlohmann::ordered_json::array();
    for (const TradedInstrument& instrument : outcome.instruments)
        list.push_back({{"name", instrument.name},
                        {"costs", costs_json(instrument)},
                        {"strategy", json_of(instrument.judged.evaluation.strategy)},
                        {"buy_and_hold", json_of(instrument.judged.evaluation.buy_and_hold)},
                        {"profit_before_costs", instrument.judged.evaluation.profit_before_costs}});
    return list;
}

} // namespace

std::string instant_text(std::int64_t instant, bool raw) {
    std::string text = market::format_civil(instant);
    text[10] = 'T';
    return raw ? text : text + "Z";
}

void to_json(nlohmann::ordered_json& json, const BacktestOutcome& outcome) {
    const JudgedBacktest& judged = outcome.judged;
    const BacktestEvaluation& evaluation = judged.evaluation;
    nlohmann::ordered_json scores = nlohmann::ordered_json::array();
    for (const trainer::Score& score : evaluation.evaluation.scores)
        scores.push_back(json_of(score));
    json = {{"format", "rekindle-backtest/1"},
            {"verdict", evaluation.evaluation.verdict.text()},
            {"has_edge", evaluation.evaluation.has_edge},
            {"trials", evaluation.trials},
            {"period", judged.periods.name},
            {"periods", judged.periods.dates.size()},
            {"periods_per_year", judged.periods.per_year},
            {"first_date", market::format_date(judged.periods.dates.front())},
            {"last_date", market::format_date(judged.periods.dates.back())},
            {"signals", outcome.signals_text},
            {"currency", outcome.currency},
            {"scores", scores},
            {"strategy", json_of(evaluation.strategy)},
            {"buy_and_hold", json_of(evaluation.buy_and_hold)},
            {"profit_before_costs", evaluation.profit_before_costs},
            {"skill", evaluation.skill ? json_of(*evaluation.skill) : nlohmann::ordered_json(nullptr)},
            {"predictions_of_validation_rows", outcome.chosen_on},
            {"notes", outcome.notes}};
    if (outcome.judged_together())
        json["instruments"] = instruments_json(outcome);
    else
        json["costs"] = costs_json(outcome.instruments.front());
}

void write_backtest_files(const BacktestJob& job, BacktestOutcome& outcome) {
    ensure_directory(job.output);
    nlohmann::ordered_json json;
    to_json(json, outcome);
    const auto write = [&](const char* name, const std::string& content) {
        outcome.files.push_back(job.output / name);
        write_file_atomically(outcome.files.back(), content);
    };
    write("trades.csv", trades_csv(outcome));
    write("equity.csv", equity_csv(outcome));
    write("backtest.json", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    trainer::write_report(job.output, backtest_report(job, outcome));
    for (const char* name : {"report.json", "report.html"})
        outcome.files.push_back(job.output / name);
}

} // namespace rekindle::research
