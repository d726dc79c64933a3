#pragma once
/// Measures what a backtest earned, what the market did meanwhile, and whether the difference is more than
/// luck.

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

/// A backtest by period. A period is a session (a day or week), or one bar if a bar is longer than a session.
struct PeriodReturns {
    std::vector<std::int32_t> dates; ///< one per period, as TradedBar::date
    std::vector<double> equity;      ///< money at its end
    std::vector<double> position;    ///< contracts at its end
    std::vector<double> strategy;    ///< equity / equity at the end of the period before - 1
    std::vector<double> market;      ///< price change / price at the end of the period before; excludes rolls
    double per_year = 0;             ///< periods in a year of this data
    std::string name;                ///< "trading day", "week", "month" or "period"
};

/// The periods from bar `first` on. The first period's returns start from the equity and price at the end of
/// the period before. Once equity has fallen to 0, returns are 0. Preconditions: `result` belongs to
/// `series`, and first < series.bars.size().
PeriodReturns period_returns(const TradedSeries& series, const BacktestResult& result, std::size_t first,
                             double capital);

/// The figures of one backtest, as shares rather than percentages. Figures about trades are 0 without trades.
struct Performance {
    double capital = 0, profit = 0; ///< money
    double total_return = 0;
    double annual_return = 0;         ///< geometric; -1 after a total loss
    double annual_std = 0;            ///< of the returns, without autocorrelation
    double annual_sharpe = 0;         ///< with autocorrelation (Lo, 2002); 0 if the returns do not vary
    double largest_drawdown = 0;      ///< from the highest equity so far, measured at bars; at least 0
    std::size_t longest_drawdown = 0; ///< in periods below the highest equity so far
    /// Share of bars with a position at their close.
    double exposure = 0, long_exposure = 0, short_exposure = 0;
    double turnover = 0; ///< traded value per year / mean equity
    std::size_t trades = 0, winners = 0;
    double mean_profit = 0;       ///< per trade
    double profit_factor = 0;     ///< sum of gains / sum of losses; infinite without a loss
    double gains = 0, losses = 0; ///< money: sums over the trades, both at least 0
    double commission = 0, slippage = 0;
    std::size_t refused = 0, unsized = 0;
};

Performance measure(const TradedSeries& series, const BacktestResult& result, const PeriodReturns& periods,
                    std::size_t first, double capital);

/// The probabilities that decide the verdict: an edge requires both deflated Sharpe ratios to reach `needed`.
struct Skill {
    static constexpr double needed = 0.95;
    SharpeEstimate sharpe;    ///< of the strategy's returns
    double market_share = 0;  ///< β: slope of the strategy's returns on the market's (least squares)
    double sharpe_needed = 0; ///< per period: the ratio that luck alone gives the best of the trials
    double deflated = 0;      ///< deflated Sharpe ratio of the returns
    double deflated_beyond_market = 0;         ///< deflated Sharpe ratio of returns - β · market
    std::optional<double> periods_needed = {}; ///< minimum track record length; empty if no length is enough
};

/// Tests whether the returns show skill. Returns the reason instead if there are fewer than 30 periods or the
/// returns do not vary. Assumes that the trials' ratios vary as those of strategies without skill do.
/// Precondition: trials >= 1.
Expected<Skill> judge_skill(const PeriodReturns& periods, std::size_t trials);

/// The judgment of a backtest, which a report shows first.
struct BacktestEvaluation {
    Performance strategy;
    Performance buy_and_hold; ///< with the strategy's mean size and costs
    double profit_before_costs = 0;
    std::size_t trials = 1;
    std::optional<Skill> skill;
    trainer::Evaluation evaluation; ///< verdict and scores with intervals; its rows are periods
};

/// A backtest, its baseline, and its judgment.
struct JudgedBacktest {
    BacktestResult result;
    PeriodReturns periods;
    PeriodReturns buy_and_hold;
    BacktestEvaluation evaluation;
};

/// Runs the decisions, the baselines, and the tests. `first` is the first bar of the judged period, `trials`
/// is the number of settings that were tried, including this one. `seed` seeds the bootstrap.
JudgedBacktest judge_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                              const BacktestOptions& options, std::size_t first, std::size_t trials,
                              std::uint64_t seed = 0);

/// The sum of backtests of different instruments, each with an account of its own, and its judgment. At most
/// one period per date; where an instrument has none, its equity stays. `position` counts the instruments
/// held long minus those held short, `market` is the mean of the instruments' returns (0 where one has no
/// period), and drawdowns are measured at the ends of periods. `result` is empty. Precondition: at least one
/// part.
JudgedBacktest combine_backtests(std::span<const JudgedBacktest> parts, std::size_t trials,
                                 std::uint64_t seed = 0);

} // namespace rekindle::research
