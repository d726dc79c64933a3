/// Usage: rekindle_research_tool. Counts verdicts of backtests: how often a random walk shows an edge, and
/// how often a planted edge is found. Exit status 1 if a bound is violated.

#include <rekindle/base/philox.h>
#include <rekindle/research/performance.h>

#include <fmt/format.h>

#include <cmath>

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

Market make_market(std::uint32_t number, double explained) {
    PhiloxStream random(15, RandomPurpose::test, number);
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
        decisions.push_back({.known_at = market.series.bars[i].begin, .target = signals[i] > 0 ? 1.0 : -1.0});
    const BacktestOptions options{.sizing = {.kind = SizingRule::Kind::fraction, .amount = 0.9},
                                  .costs = {.commission_share = cost}};
    return judge_backtest(market.series, decisions, options, 1, trials).evaluation.evaluation.has_edge;
}

/// The best of several settings without skill, by its Sharpe ratio, judged as the best of that many.
bool best_has_edge(const Market& market, std::uint32_t number, std::size_t settings) {
    std::vector<double> best;
    double best_ratio = -1e9;
    for (std::size_t setting = 0; setting < settings; ++setting) {
        PhiloxStream random(16, RandomPurpose::test, number, setting);
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

bool report(const char* name, std::size_t edges, std::size_t series, double low, double high) {
    const double share = 100 * static_cast<double>(edges) / static_cast<double>(series);
    const bool passed = low <= share && share <= high;
    fmt::print("{}: {} of {} are edges, {:.1f} % (bound: {:g} to {:g} %): {}\n", name, edges, series, share,
               low, high, passed ? "passed" : "FAILED");
    return passed;
}

} // namespace

int main() {
    constexpr std::size_t walks = 1000, planted = 200, settings = 200;
    constexpr double most = 6.4, least = 80; // percent; 6.4: the 95 % bound of a test at 5 %
    std::size_t single = 0, best = 0, found = 0;
    for (std::uint32_t i = 0; i < walks; ++i) {
        const Market market = make_market(i, 0);
        single += has_edge(market, market.signals, 0, 1) ? 1 : 0;
        best += best_has_edge(market, i, settings) ? 1 : 0;
    }
    for (std::uint32_t i = 0; i < planted; ++i) {
        const Market market = make_market(100'000 + i, 0.05);
        found += has_edge(market, market.signals, 0.0001, 1) ? 1 : 0;
    }
    bool passed = report("random walks, one setting, without costs", single, walks, 0, most);
    passed &= report("random walks, the best of 200 settings, without costs", best, walks, 0, most);
    passed &= report("signals that explain 5 % of the variance, with costs", found, planted, least, 100);
    return passed ? 0 : 1;
}
