/// Figures and verdicts of backtests.

#include <rekindle/base/philox.h>
#include <rekindle/research/performance.h>

#include <gtest/gtest.h>

#include <cmath>

namespace rekindle::research {
namespace {

constexpr std::int64_t day = 86'400;

/// Bars for every calendar day, whose closes change by these amounts and which open at the previous close.
TradedSeries daily_bars(const std::vector<double>& changes, double start = 1000) {
    TradedSeries series;
    series.contracts = {""};
    double price = start;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        TradedBar bar{.begin = static_cast<std::int64_t>(i) * day,
                      .end = static_cast<std::int64_t>(i + 1) * day,
                      .open = price};
        price += changes[i];
        bar.close = price;
        bar.high = std::max(bar.open, bar.close);
        bar.low = std::min(bar.open, bar.close);
        bar.date = static_cast<std::int32_t>(i);
        series.bars.push_back(bar);
    }
    return series;
}

std::vector<double> normal_changes(std::uint32_t series, std::size_t count, double average = 0) {
    PhiloxStream random(4, RandomPurpose::test, series);
    std::vector<double> changes(count);
    for (double& change : changes)
        change = average + 5 * random.next_normal();
    return changes;
}

std::vector<Decision> signs(const TradedSeries& series, const auto& sign) {
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < series.bars.size(); ++i)
        decisions.push_back({.known_at = series.bars[i].begin, .target_position = sign(i)});
    return decisions;
}

TEST(Performance, IsMeasuredByHand) {
    const TradedSeries series = daily_bars({0, 100, -50, 0, 150, -100});
    const std::vector<Decision> decisions{{.known_at = day, .target_position = 2},
                                          {.known_at = 4 * day, .target_position = -1}};
    const BacktestOptions options{.capital = 1000, .costs = {.commission = 1, .margin_share = 0}};
    const JudgedBacktest judged = judge_backtest(series, decisions, options, 1, 1);
    const Performance& own = judged.evaluation.strategy;
    // Equity: 998 + 200, - 100, 0, sold (2) and short (1) - 150, + 100 and closed (1).
    const std::vector<double> equity{1198, 1098, 1098, 945, 1044};
    EXPECT_EQ(judged.periods.equity, equity);
    EXPECT_DOUBLE_EQ(own.profit, 44);
    EXPECT_DOUBLE_EQ(own.total_return, 0.044);
    EXPECT_DOUBLE_EQ(own.largest_drawdown, 1 - 945.0 / 1198);
    EXPECT_EQ(own.longest_drawdown, 4u);
    EXPECT_DOUBLE_EQ(own.long_exposure, 0.6);
    EXPECT_DOUBLE_EQ(own.short_exposure, 0.2); // closed at the last bar
    EXPECT_EQ(own.trades, 2u);
    EXPECT_EQ(own.winners, 1u);
    EXPECT_DOUBLE_EQ(own.mean_profit, 22);
    EXPECT_DOUBLE_EQ(own.profit_factor, 96.0 / 52);
    EXPECT_DOUBLE_EQ(own.commission, 6);
    EXPECT_DOUBLE_EQ(judged.evaluation.profit_before_costs, 50);
    EXPECT_DOUBLE_EQ(judged.periods.market[0], 0.1);
    EXPECT_DOUBLE_EQ(judged.periods.strategy[0], 0.198);
    EXPECT_EQ(judged.evaluation.evaluation.verdict.label, "Too little data");
    EXPECT_FALSE(judged.evaluation.evaluation.has_edge);
}

TEST(Performance, LeavesTheRollOutOfTheMarketsReturn) {
    TradedSeries series = daily_bars({0, 10, 10, 10});
    for (std::size_t i = 2; i < 4; ++i) {
        TradedBar& bar = series.bars[i];
        bar.contract = 1;
        for (double* price : {&bar.open, &bar.high, &bar.low, &bar.close})
            *price += 500;
    }
    series.bars[2].previous_contract = 1010;
    series.contracts = {"A", "B"};
    const auto periods = period_returns(series, run_backtest(series, {}, {}), 0, 100'000);
    EXPECT_DOUBLE_EQ(periods.market[2], 10.0 / 1010);
}

TEST(Performance, JoinsTheBarsOfASession) {
    TradedSeries series = daily_bars({0, 10, 20, 30, 40});
    for (std::size_t i = 0; i < 5; ++i)
        series.bars[i].date = static_cast<std::int32_t>(i / 2);
    const auto periods = period_returns(series, run_backtest(series, {}, {}), 0, 100'000);
    EXPECT_EQ(periods.dates, (std::vector<std::int32_t>{0, 1, 2}));
    EXPECT_DOUBLE_EQ(periods.market[1], 50.0 / 1010);
}

TEST(Verdict, FindsSkillButNotTheMarketsRise) {
    const TradedSeries flat = daily_bars(normal_changes(1, 600));
    const auto knows = judge_backtest(flat,
                                      signs(flat,
                                            [&](std::size_t i) {
                                                // Right on 3 of 5 days.
                                                const double change = flat.bars[i].close - flat.bars[i].open;
                                                return (change > 0) == (i % 5 < 3) ? 1.0 : -1.0;
                                            }),
                                      {}, 1, 1);
    EXPECT_EQ(knows.evaluation.evaluation.verdict.label, "Edge");
    EXPECT_TRUE(knows.evaluation.evaluation.has_edge);
    // If it is the best of a million settings, the same result is not enough.
    EXPECT_FALSE(judge_backtest(flat,
                                signs(flat,
                                      [&](std::size_t i) {
                                          const double change = flat.bars[i].close - flat.bars[i].open;
                                          return (change > 0) == (i % 5 < 3) ? 1.0 : -1.0;
                                      }),
                                {}, 1, 1'000'000'000'000)
                     .evaluation.evaluation.has_edge);

    const TradedSeries rising = daily_bars(normal_changes(2, 600, 1.5));
    const auto holds = judge_backtest(rising, signs(rising, [](std::size_t) { return 1.0; }), {}, 1, 1);
    EXPECT_GT(holds.evaluation.skill->deflated, 0.99);
    EXPECT_FALSE(holds.evaluation.evaluation.has_edge);
    EXPECT_TRUE(holds.evaluation.evaluation.verdict.text().find("no more than its share of the market") !=
                std::string::npos)
        << holds.evaluation.evaluation.verdict.text();
}

TEST(Verdict, SaysWhyThereIsNone) {
    const TradedSeries series = daily_bars(normal_changes(3, 200));
    const auto idle = judge_backtest(series, signs(series, [](std::size_t) { return 0.0; }), {}, 1, 1);
    EXPECT_EQ(idle.evaluation.evaluation.verdict.label, "No trades");
    const auto poor =
        judge_backtest(series, signs(series, [](std::size_t) { return 1.0; }), {.capital = 10}, 1, 1);
    EXPECT_EQ(poor.evaluation.evaluation.verdict.label, "No trades");
    EXPECT_NE(poor.evaluation.evaluation.verdict.text().find("margin"), std::string::npos);
    TradedSeries few = series;
    few.bars.resize(20);
    const auto little =
        judge_backtest(few, signs(few, [](std::size_t i) { return i % 2 ? 1.0 : -1.0; }), {}, 1, 1);
    EXPECT_EQ(little.evaluation.evaluation.verdict.label, "Too little data");
    for (const trainer::Score& score : little.evaluation.evaluation.scores)
        EXPECT_FALSE(score.without_interval.empty()) << score.name;
}

} // namespace
} // namespace rekindle::research
