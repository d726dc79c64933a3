#include "measure.h"

#include <rekindle/research/performance.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rekindle::research {

namespace {

constexpr double days_per_year = 365.25;

std::string period_name(double per_year) {
    if (per_year > 150 && per_year < 370)
        return "trading day";
    if (per_year > 45 && per_year < 55)
        return "week";
    return per_year > 11 && per_year < 13 ? "month" : "period";
}

/// The change of the price over a bar, in points of the contract that is held.
double change_of(const TradedSeries& series, std::size_t bar) {
    const TradedBar &now = series.bars[bar], &before = series.bars[bar - 1];
    if (now.contract == before.contract)
        return now.close - before.close;
    const double old_price = std::isnan(now.previous_contract) ? before.close : now.previous_contract;
    return old_price - before.close + now.close - now.open;
}

} // namespace

PeriodReturns period_returns(const TradedSeries& series, const BacktestResult& result, std::size_t first,
                             double capital) {
    PeriodReturns periods;
    double equity = first > 0 ? result.equity[first - 1] : capital;
    double price = first > 0 ? series.bars[first - 1].close : series.bars[first].open;
    double change = 0;
    for (std::size_t bar = first; bar < series.bars.size(); ++bar) {
        change += bar > 0 ? change_of(series, bar) : series.bars[bar].close - series.bars[bar].open;
        if (bar + 1 < series.bars.size() && series.bars[bar + 1].date == series.bars[bar].date)
            continue;
        periods.dates.push_back(series.bars[bar].date);
        periods.equity.push_back(result.equity[bar]);
        periods.position.push_back(result.position[bar]);
        periods.strategy.push_back(equity > 0 ? result.equity[bar] / equity - 1 : 0);
        periods.market.push_back(price != 0 ? change / std::abs(price) : 0);
        equity = result.equity[bar];
        price = series.bars[bar].close;
        change = 0;
    }
    name_periods(periods);
    return periods;
}

void name_periods(PeriodReturns& periods) {
    const double days = std::max<double>(1, periods.dates.back() - periods.dates.front());
    periods.per_year =
        std::max<double>(1, static_cast<double>(periods.dates.size()) - 1) / days * days_per_year;
    periods.name = period_name(periods.per_year);
}

void measure_returns(const PeriodReturns& periods, Performance& figures) {
    const double years = static_cast<double>(periods.strategy.size()) / periods.per_year;
    figures.annual_return =
        figures.total_return > -1 ? std::pow(1 + figures.total_return, 1 / years) - 1 : -1;
    const Expected<SharpeEstimate> estimate = estimate_sharpe(periods.strategy);
    if (!estimate)
        return;
    figures.annual_std = estimate->return_std * std::sqrt(periods.per_year);
    const std::size_t lags = std::min(usual_lags(periods.strategy.size()), periods.strategy.size() - 1);
    const Expected<double> factor =
        sharpe_aggregation_factor(static_cast<std::size_t>(std::max(1.0, std::round(periods.per_year))),
                                  autocorrelations(periods.strategy, lags));
    figures.annual_sharpe = estimate->ratio * (factor ? *factor : std::sqrt(periods.per_year));
}

void measure_drawdown_length(const PeriodReturns& periods, Performance& figures) {
    double best = figures.capital;
    std::size_t below = 0;
    for (const double equity : periods.equity) {
        below = equity < best ? below + 1 : 0;
        best = std::max(best, equity);
        figures.longest_drawdown = std::max(figures.longest_drawdown, below);
    }
}

void average_trades(Performance& figures) {
    if (figures.trades == 0)
        return;
    figures.mean_profit = (figures.gains - figures.losses) / static_cast<double>(figures.trades);
    figures.profit_factor =
        figures.losses > 0 ? figures.gains / figures.losses : std::numeric_limits<double>::infinity();
}

namespace {

void measure_trades(const BacktestResult& result, Performance& figures) {
    for (const Trade& trade : result.trades) {
        figures.winners += trade.profit > 0 ? 1 : 0;
        (trade.profit > 0 ? figures.gains : figures.losses) += std::abs(trade.profit);
    }
    figures.trades = result.trades.size();
    average_trades(figures);
}

} // namespace

Performance measure(const TradedSeries& series, const BacktestResult& result, const PeriodReturns& periods,
                    std::size_t first, double capital) {
    Performance figures{.capital = capital, .profit = result.equity.back() - capital};
    figures.total_return = figures.profit / capital;
    double highest = capital, sum = 0;
    for (std::size_t bar = first; bar < series.bars.size(); ++bar) {
        highest = std::max(highest, result.equity[bar]);
        figures.largest_drawdown = std::max(figures.largest_drawdown, 1 - result.equity[bar] / highest);
        figures.long_exposure += result.position[bar] > 0 ? 1 : 0;
        figures.short_exposure += result.position[bar] < 0 ? 1 : 0;
        sum += result.equity[bar];
    }
    const auto bars = static_cast<double>(series.bars.size() - first);
    figures.long_exposure /= bars;
    figures.short_exposure /= bars;
    figures.exposure = figures.long_exposure + figures.short_exposure;
    const double years = static_cast<double>(periods.strategy.size()) / periods.per_year;
    figures.turnover = sum > 0 ? result.traded_value / (sum / bars) / years : 0;
    measure_drawdown_length(periods, figures);
    measure_returns(periods, figures);
    measure_trades(result, figures);
    figures.commission = result.commission;
    figures.slippage = result.slippage;
    figures.refused = result.refused;
    figures.unsized = result.unsized;
    return figures;
}

} // namespace rekindle::research
