#include "judgment.h"

#include <rekindle/base/text.h>
#include <rekindle/research/performance.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rekindle::research {

namespace {

double average(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The least-squares slope of the strategy's returns on the market's.
double market_share_of(const PeriodReturns& periods) {
    const double strategy = average(periods.strategy), market = average(periods.market);
    double products = 0, squares = 0;
    for (std::size_t i = 0; i < periods.market.size(); ++i) {
        products += (periods.strategy[i] - strategy) * (periods.market[i] - market);
        squares += (periods.market[i] - market) * (periods.market[i] - market);
    }
    return squares > 0 ? products / squares : 0;
}

std::vector<double> beyond_market(const PeriodReturns& periods, double market_share) {
    std::vector<double> returns(periods.strategy.size());
    for (std::size_t i = 0; i < returns.size(); ++i)
        returns[i] = periods.strategy[i] - market_share * periods.market[i];
    return returns;
}

/// The mean size of the strategy's positions: in contracts for fixed sizes, otherwise their mean value as a
/// share of the equity, limited by the margin.
SizingRule mean_size(const TradedSeries& series, const BacktestResult& result,
                     const BacktestOptions& options) {
    const bool fixed = options.sizing.kind == SizingRule::Kind::fixed;
    double sum = 0, bars = 0;
    for (std::size_t bar = 0; bar < result.position.size(); ++bar) {
        if (result.position[bar] == 0 || !(result.equity[bar] > 0))
            continue;
        const double value =
            std::abs(series.bars[bar].close) * options.costs.point_value / result.equity[bar];
        sum += std::abs(result.position[bar]) * (fixed ? 1 : value);
        ++bars;
    }
    SizingRule rule{.amount = options.sizing.step, .step = options.sizing.step};
    if (bars == 0)
        return rule;
    if (fixed) {
        rule.amount = std::max(1.0, std::floor(sum / bars / rule.step + 1e-9)) * rule.step;
        return rule;
    }
    constexpr double room = 0.99; // leaves 1 % for commission
    rule.kind = SizingRule::Kind::fraction;
    rule.amount = sum / bars;
    if (options.costs.margin_share > 0)
        rule.amount = std::min(rule.amount, room / options.costs.margin_share);
    return rule;
}

} // namespace

Expected<Skill> judge_skill(const PeriodReturns& periods, std::size_t trials) {
    const std::size_t count = periods.strategy.size();
    if (count < min_judged_periods)
        return Error(fmt::format("{} are too few to tell skill from luck: the test needs at least {}",
                                 counted(count, periods.name), min_judged_periods));
    const Expected<SharpeEstimate> estimate = estimate_sharpe(periods.strategy);
    if (!estimate)
        return estimate.error();
    Skill skill{.sharpe = *estimate, .market_share = market_share_of(periods)};
    const double variance = sharpe_variance_without_skill(count);
    skill.sharpe_needed = expected_maximum_sharpe(trials, variance);
    skill.deflated = deflated_sharpe_ratio(*estimate, trials, variance);
    // If the strategy only holds the market, what remains is rounding error and costs.
    const std::vector<double> rest = beyond_market(periods, skill.market_share);
    const Expected<SharpeEstimate> beyond = estimate_sharpe(rest);
    if (beyond && beyond->return_std > 1e-9 * estimate->return_std)
        skill.deflated_beyond_market = deflated_sharpe_ratio(*beyond, trials, variance);
    if (const auto length = minimum_track_record_length(*estimate, skill.sharpe_needed, Skill::needed))
        skill.periods_needed = *length;
    return skill;
}

JudgedBacktest judge_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                              const BacktestOptions& options, std::size_t first, std::size_t trials,
                              std::uint64_t seed) {
    JudgedBacktest judged;
    judged.result = run_backtest(series, decisions, options);
    judged.periods = period_returns(series, judged.result, first, options.capital);
    BacktestEvaluation& evaluation = judged.evaluation;
    evaluation.trials = trials;
    evaluation.strategy = measure(series, judged.result, judged.periods, first, options.capital);

    BacktestOptions holding = options;
    holding.sizing = mean_size(series, judged.result, options);
    const std::vector<Decision> hold{{.known_at = series.bars[first].begin, .target_position = 1}};
    const BacktestResult held = run_backtest(series, hold, holding);
    judged.buy_and_hold = period_returns(series, held, first, options.capital);
    evaluation.buy_and_hold = measure(series, held, judged.buy_and_hold, first, options.capital);

    BacktestOptions free = options;
    free.costs.commission = free.costs.commission_share = free.costs.slippage = free.costs.slippage_share = 0;
    evaluation.profit_before_costs = run_backtest(series, decisions, free).equity.back() - options.capital;

    const Expected<Skill> skill = judge_skill(judged.periods, trials);
    if (skill)
        evaluation.skill = *skill;
    score_backtest(judged.periods, judged.buy_and_hold, seed, skill ? nullptr : &skill.error(), evaluation);
    return judged;
}

} // namespace rekindle::research
