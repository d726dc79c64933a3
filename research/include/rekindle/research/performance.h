#pragma once
/// What a backtest earned, what the market did meanwhile, and whether the difference is more than luck.

#include <rekindle/research/backtest.h>
#include <rekindle/research/sharpe.h>
#include <rekindle/trainer/scores.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::research {

/// A backtest in periods: the sessions of the bars (days or weeks), or single bars that are longer.
struct PeriodReturns {
    std::vector<std::int32_t> dates; ///< of each period, as TradedBar::date
    std::vector<double> equity;      ///< money at its end
    std::vector<double> position;    ///< contracts at its end
    std::vector<double> strategy;    ///< equity / equity at the end of the period before - 1
    std::vector<double> market; ///< price change / price at the end of the period before; rolls do not count
    double per_year = 0;        ///< periods in a year of this data
    std::string name;           ///< "trading day", "week", "month" or "period"
};

/// The periods from bar `first` on; the period before gives the first equity and price. Returns after equity
/// fell to 0 are 0. Precondition: result is of this series, first < series.bars.size().
PeriodReturns period_returns(const TradedSeries& series, const BacktestResult& result, std::size_t first,
                             double capital);

/// Figures of one backtest. Shares, not percent. Those of trades are 0 without trades.
struct Performance {
    double capital = 0, profit = 0; ///< money
    double total_return = 0;
    double annual_return = 0;         ///< geometric; -1 after a total loss
    double annual_std = 0;            ///< of the returns, without autocorrelation
    double annual_sharpe = 0;         ///< with autocorrelation (Lo, 2002); 0 if the returns do not vary
    double largest_drawdown = 0;      ///< from the highest equity so far, of bars; at least 0
    std::size_t longest_drawdown = 0; ///< periods below the highest equity so far
    double exposure = 0, long_exposure = 0,
           short_exposure = 0; ///< share of bars with a position at their close
    double turnover = 0;       ///< traded value a year / mean equity
    std::size_t trades = 0, winners = 0;
    double mean_profit = 0;   ///< of a trade
    double profit_factor = 0; ///< gains / losses of trades; infinite without a loss
    double commission = 0, slippage = 0;
    std::size_t refused = 0, unsized = 0;
};

Performance measure(const TradedSeries& series, const BacktestResult& result, const PeriodReturns& periods,
                    std::size_t first, double capital);

/// The probabilities that decide the verdict; each needs to reach `needed`.
struct Skill {
    static constexpr double needed = 0.95;
    SharpeEstimate sharpe;    ///< of the strategy's returns
    double market_share = 0;  ///< β: return of the strategy per return of the market (least squares)
    double sharpe_needed = 0; ///< per period: what the best of the trials reaches by luck
    double deflated = 0;      ///< deflated Sharpe ratio of the returns
    double deflated_beyond_market = 0;         ///< and of returns - β · market
    std::optional<double> periods_needed = {}; ///< minimum track record length; empty if no length is enough
};

/// Or the reason why it cannot be told: fewer than 30 periods, or returns that do not vary. The variance of
/// the trials' ratios is that without skill. Precondition: trials >= 1.
Expected<Skill> judge_skill(const PeriodReturns& periods, std::size_t trials);

/// A judged backtest: what a report shows first.
struct BacktestEvaluation {
    Performance strategy;
    Performance buy_and_hold; ///< of the strategy's mean size, with its costs
    double profit_before_costs = 0;
    std::size_t trials = 1;
    std::optional<Skill> skill;
    trainer::Evaluation evaluation; ///< verdict, and scores with intervals; rows are periods
};

/// Runs the decisions, the baselines, and the tests. `first` is the first bar that counts; `trials` the
/// number of settings that were tried, this one included; `seed` is that of the bootstrap.
struct JudgedBacktest {
    BacktestResult result;
    PeriodReturns periods;
    PeriodReturns buy_and_hold;
    BacktestEvaluation evaluation;
};
JudgedBacktest judge_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                              const BacktestOptions& options, std::size_t first, std::size_t trials,
                              std::uint64_t seed = 0);

} // namespace rekindle::research
