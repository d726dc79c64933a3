#include "judgment.h"
#include "measure.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace rekindle::research {

namespace {

using PeriodsOf = PeriodReturns JudgedBacktest::*;
using FiguresOf = Performance BacktestEvaluation::*;

int sign(double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

PeriodReturns combined_periods(std::span<const JudgedBacktest> parts, PeriodsOf of) {
    struct Account {
        const PeriodReturns& periods;
        double equity = 0;
        int side = 0;
        std::size_t next = 0;
    };
    std::set<std::int32_t> dates;
    std::vector<Account> accounts;
    double capital = 0;
    for (const JudgedBacktest& part : parts) {
        accounts.push_back({part.*of, part.evaluation.strategy.capital});
        capital += part.evaluation.strategy.capital;
        dates.insert((part.*of).dates.begin(), (part.*of).dates.end());
    }
    PeriodReturns all;
    double before = capital;
    for (const std::int32_t date : dates) {
        double equity = 0, market = 0;
        int side = 0;
        for (Account& account : accounts) {
            const PeriodReturns& own = account.periods;
            for (; account.next < own.dates.size() && own.dates[account.next] <= date; ++account.next) {
                account.equity = own.equity[account.next];
                account.side = sign(own.position[account.next]);
                market += own.market[account.next];
            }
            equity += account.equity;
            side += account.side;
        }
        all.dates.push_back(date);
        all.equity.push_back(equity);
        all.position.push_back(side);
        all.strategy.push_back(before > 0 ? equity / before - 1 : 0);
        all.market.push_back(market / static_cast<double>(parts.size()));
        before = equity;
    }
    name_periods(all);
    return all;
}

double mean_equity(const PeriodReturns& periods) {
    return std::accumulate(periods.equity.begin(), periods.equity.end(), 0.0) /
           static_cast<double>(periods.equity.size());
}

Performance combined_figures(std::span<const JudgedBacktest> parts, PeriodsOf of, FiguresOf figures,
                             const PeriodReturns& periods) {
    Performance all;
    double traded_per_year = 0;
    for (const JudgedBacktest& part : parts) {
        const Performance& own = part.evaluation.*figures;
        all.capital += own.capital;
        all.profit += own.profit;
        all.exposure += own.exposure;
        all.long_exposure += own.long_exposure;
        all.short_exposure += own.short_exposure;
        all.trades += own.trades;
        all.winners += own.winners;
        all.gains += own.gains;
        all.losses += own.losses;
        all.commission += own.commission;
        all.slippage += own.slippage;
        all.refused += own.refused;
        all.unsized += own.unsized;
        traded_per_year += own.turnover * mean_equity(part.*of);
    }
    const auto count = static_cast<double>(parts.size());
    for (double Performance::*share :
         {&Performance::exposure, &Performance::long_exposure, &Performance::short_exposure})
        all.*share /= count;
    all.total_return = all.profit / all.capital;
    const double mean = mean_equity(periods);
    all.turnover = mean > 0 ? traded_per_year / mean : 0;
    double highest = all.capital;
    for (const double equity : periods.equity) {
        highest = std::max(highest, equity);
        all.largest_drawdown = std::max(all.largest_drawdown, 1 - equity / highest);
    }
    measure_drawdown_length(periods, all);
    measure_returns(periods, all);
    average_trades(all);
    return all;
}

} // namespace

JudgedBacktest combine_backtests(std::span<const JudgedBacktest> parts, std::size_t trials,
                                 std::uint64_t seed) {
    JudgedBacktest all;
    all.periods = combined_periods(parts, &JudgedBacktest::periods);
    all.buy_and_hold = combined_periods(parts, &JudgedBacktest::buy_and_hold);
    BacktestEvaluation& evaluation = all.evaluation;
    evaluation.trials = trials;
    evaluation.strategy =
        combined_figures(parts, &JudgedBacktest::periods, &BacktestEvaluation::strategy, all.periods);
    evaluation.buy_and_hold = combined_figures(parts, &JudgedBacktest::buy_and_hold,
                                               &BacktestEvaluation::buy_and_hold, all.buy_and_hold);
    for (const JudgedBacktest& part : parts)
        evaluation.profit_before_costs += part.evaluation.profit_before_costs;
    const Expected<Skill> skill = judge_skill(all.periods, trials);
    if (skill)
        evaluation.skill = *skill;
    score_backtest(all.periods, all.buy_and_hold, seed, skill ? nullptr : &skill.error(), evaluation);
    return all;
}

} // namespace rekindle::research
