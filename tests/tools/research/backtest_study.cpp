/// Measures how often a backtest shows an edge, on random walks and on series with a planted edge.
///
///     rekindle_backtest_study [RANDOM_WALKS [PLANTED]]        (default 1,000 and 200)
///
/// A strategy is long or short for 500 days by the sign of a signal. In a random walk, returns are
/// independent of the signal, and there are no costs, which would hide false claims. The walks are judged
/// twice: with one signal, and with the best of 200, given that there were 200. In a planted series, the
/// signal explains 5 % of the variance of the day's return, and each fill costs 0.01 % of its value. Exits
/// with status 1 if a bound of study.h is violated.

#include "study.h"

#include <rekindle/base/philox.h>
#include <rekindle/research/performance.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using namespace rekindle;
using namespace rekindle::research;

constexpr std::int64_t day = 86'400;
constexpr std::size_t days = 500;
constexpr double change_std = 0.01; ///< of a day, as a share of the price

/// A random walk of daily bars and, for each day, a signal that explains `explained` of the variance of its
/// return.
struct Market {
    TradedSeries series;
    std::vector<double> signals;
};

Market make_market(std::uint64_t number, double explained) {
    PhiloxStream random(15, RandomPurpose::test, static_cast<std::uint32_t>(number));
    Market market;
    market.series.contracts = {""};
    double price = 1000;
    for (std::size_t i = 0; i < days; ++i) {
        const double signal = random.next_normal();
        const double change = std::sqrt(explained) * signal + std::sqrt(1 - explained) * random.next_normal();
        TradedBar bar{.begin = static_cast<std::int64_t>(i) * day,
                      .end = static_cast<std::int64_t>(i + 1) * day,
                      .open = price};
        price *= 1 + change_std * change;
        bar.close = price;
        bar.high = std::max(bar.open, bar.close);
        bar.low = std::min(bar.open, bar.close);
        bar.date = static_cast<std::int32_t>(i);
        market.series.bars.push_back(bar);
        market.signals.push_back(signal);
    }
    return market;
}

/// Long or short by the sign of the signal, which is known when the day begins.
bool has_edge(const Market& market, std::span<const double> signals, double cost, std::size_t trials) {
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < days; ++i)
        decisions.push_back(
            {.known_at = market.series.bars[i].begin, .target_position = signals[i] > 0 ? 1.0 : -1.0});
    const BacktestOptions options{.sizing = {.kind = SizingRule::Kind::fraction, .amount = 0.9},
                                  .costs = {.commission_share = cost}};
    return judge_backtest(market.series, decisions, options, 1, trials).evaluation.evaluation.has_edge;
}

/// The best of several settings without skill, by its Sharpe ratio, judged as the best of that many.
bool best_has_edge(const Market& market, std::uint64_t number, std::size_t settings) {
    std::vector<double> best;
    double best_ratio = -1e9;
    for (std::size_t setting = 0; setting < settings; ++setting) {
        PhiloxStream random(16, RandomPurpose::test, static_cast<std::uint32_t>(number), setting);
        std::vector<double> signals(days), returns;
        for (double& signal : signals)
            signal = random.next_normal();
        for (std::size_t i = 1; i < days; ++i) {
            const TradedBar& bar = market.series.bars[i];
            returns.push_back((signals[i] > 0 ? 1 : -1) * (bar.close / bar.open - 1));
        }
        if (const double ratio = estimate_sharpe(returns).value().ratio; ratio > best_ratio) {
            best_ratio = ratio;
            best = signals;
        }
    }
    return has_edge(market, best, 0, settings);
}

} // namespace

int main(int count, char** arguments) {
    constexpr std::size_t settings = 200;
    constexpr double cost = 0.0001; ///< of a fill in a planted series, as a share of its value
    const int one = study::run(count, arguments, "one setting", [](std::uint64_t seed, double r_squared) {
        const Market market = make_market(seed, r_squared);
        return has_edge(market, market.signals, r_squared > 0 ? cost : 0, 1);
    });
    const bool best = study::few_walks_have_an_edge(
        count, arguments, fmt::format("the best of {} settings", settings),
        [](std::uint64_t seed, double) { return best_has_edge(make_market(seed, 0), seed, settings); });
    return best ? one : EXIT_FAILURE;
}
