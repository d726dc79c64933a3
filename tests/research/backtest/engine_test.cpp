/// The engine against the package backtesting (make_golden.py), a slow reference, and cases computed by hand.

#include "reference_backtest.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/research/backtest.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace rekindle::research {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t minute = 60;

/// One-minute bars from their open, high, low and close.
TradedSeries series_of(const std::vector<std::array<double, 4>>& prices) {
    TradedSeries series;
    series.contracts = {"A", "B"};
    for (const auto& [open, high, low, close] : prices) {
        const auto index = static_cast<std::int64_t>(series.bars.size());
        series.bars.push_back({.begin = index * minute,
                               .end = (index + 1) * minute,
                               .open = open,
                               .high = high,
                               .low = low,
                               .close = close});
    }
    return series;
}

double price_or_none(const Json& json) {
    return json.is_null() ? no_price : json.get<double>();
}

Decision decision_of(const Json& json) {
    Decision decision{.known_at = (json.at("bar").get<std::int64_t>() + 1) * minute,
                      .target_position = json.at("target_position"),
                      .stop_loss = price_or_none(json.at("stop_loss")),
                      .take_profit = price_or_none(json.at("take_profit"))};
    for (const auto& [key, kind] : {std::pair{"limit", OrderKind::limit}, {"stop", OrderKind::stop}})
        if (!json.at(key).is_null()) {
            decision.order = kind;
            decision.price = json.at(key);
        }
    return decision;
}

TEST(Backtest, EqualsThePackageBacktesting) {
    const Json golden = Json::parse(read_file(std::filesystem::path(REKINDLE_TEST_DATA) / "backtests.json"));
    for (const Json& one : golden.at("cases")) {
        SCOPED_TRACE(one.at("name"));
        const TradedSeries series =
            series_of(golden.at("bars").at(one.at("data")).get<std::vector<std::array<double, 4>>>());
        std::vector<Decision> decisions;
        for (const Json& decision : one.at("decisions"))
            decisions.push_back(decision_of(decision));
        BacktestOptions options{.capital = golden.at("capital"),
                                .costs = {.commission_share = one.at("commission")}};
        if (one.at("sizing") == "fraction")
            options.sizing = {.kind = SizingRule::Kind::fraction, .amount = 0.6};
        const BacktestResult own = run_backtest(series, decisions, options);
        ASSERT_EQ(own.equity.size(), one.at("equity").size());
        for (std::size_t i = 0; i < own.equity.size(); ++i)
            ASSERT_NEAR(own.equity[i], one.at("equity")[i], 0.005) << "bar " << i;
        ASSERT_EQ(own.trades.size(), one.at("trades").size());
        // The package lists trades in the order of their entries.
        std::vector<std::vector<double>> rows;
        for (const Trade& trade : own.trades)
            rows.push_back({static_cast<double>(trade.entry_bar), static_cast<double>(trade.exit_bar),
                            trade.quantity, trade.entry_price, trade.exit_price, trade.profit});
        auto expected = one.at("trades").get<std::vector<std::vector<double>>>();
        std::ranges::sort(rows);
        std::ranges::sort(expected);
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t k = 0; k < rows[i].size(); ++k)
                EXPECT_NEAR(rows[i][k], expected[i][k], k < 3 ? 0 : 0.005)
                    << "trade " << i << ", column " << k;
        EXPECT_EQ(own.refused, 0u);
    }
}

/// A random market with gaps and rolls. Prices are on a coarse grid, so that they often coincide.
TradedSeries random_series(PhiloxStream& random, std::size_t bars) {
    const auto step = [&](std::uint32_t most) {
        return 0.25 * (static_cast<double>(random.next_below(2 * most + 1)) - most);
    };
    TradedSeries series;
    series.contracts = {"A", "B", "C"};
    double last = 100;
    std::uint16_t contract = 0;
    for (std::size_t i = 0; i < bars; ++i) {
        TradedBar bar{.begin = static_cast<std::int64_t>(i) * minute,
                      .end = static_cast<std::int64_t>(i + 1) * minute};
        bar.open = last + (random.next_below(4) == 0 ? step(12) : step(1));
        if (contract < 2 && i > 0 && random.next_below(25) == 0) {
            bar.previous_contract = random.next_below(2) == 0 ? bar.open : no_price;
            bar.open += step(20);
            ++contract;
        }
        bar.contract = contract;
        bar.close = bar.open + step(6);
        bar.high = std::max(bar.open, bar.close) + std::abs(step(4));
        bar.low = std::min(bar.open, bar.close) - std::abs(step(4));
        last = bar.close;
        series.bars.push_back(bar);
    }
    return series;
}

std::vector<Decision> random_decisions(PhiloxStream& random, const TradedSeries& series) {
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < series.bars.size(); ++i) {
        if (random.next_below(3) != 0)
            continue;
        const double price = series.bars[i].close;
        const auto distance = [&] { return 0.25 * (1 + random.next_below(14)); };
        Decision decision{.known_at = series.bars[i].end - random.next_below(2) * random.next_below(60)};
        decision.target_position = static_cast<double>(random.next_below(7)) - 3;
        decision.order = static_cast<OrderKind>(random.next_below(3));
        const double sign = decision.target_position < 0 ? -1 : 1;
        decision.price = price + (random.next_below(2) == 0 ? 1 : -1) * distance();
        const double around = decision.order == OrderKind::market ? price : decision.price;
        if (random.next_below(2) == 0)
            decision.stop_loss = around - sign * distance();
        if (random.next_below(2) == 0)
            decision.take_profit = around + sign * distance();
        decisions.push_back(decision);
    }
    std::ranges::stable_sort(decisions, {}, &Decision::known_at);
    return decisions;
}

BacktestOptions random_options(PhiloxStream& random) {
    BacktestOptions options;
    options.capital = std::array{80.0, 250.0, 100'000.0}[random.next_below(3)];
    options.costs.point_value = 1 + random.next_below(3);
    options.costs.commission = 0.5 * random.next_below(3);
    options.costs.commission_share = 0.001 * random.next_below(3);
    options.costs.slippage = 0.25 * random.next_below(3);
    options.costs.slippage_share = 0.001 * random.next_below(2);
    options.costs.margin_share = 0.5 * random.next_below(3);
    return options;
}

void expect_equal(const BacktestResult& own, const BacktestResult& expected) {
    ASSERT_EQ(own.position, expected.position);
    for (std::size_t i = 0; i < own.equity.size(); ++i)
        ASSERT_NEAR(own.equity[i], expected.equity[i], 1e-6) << "bar " << i;
    ASSERT_EQ(own.trades.size(), expected.trades.size());
    for (std::size_t i = 0; i < own.trades.size(); ++i) {
        const Trade &a = own.trades[i], &b = expected.trades[i];
        ASSERT_EQ(std::tie(a.entry_bar, a.exit_bar, a.quantity, a.exit),
                  std::tie(b.entry_bar, b.exit_bar, b.quantity, b.exit))
            << "trade " << i;
        ASSERT_NEAR(a.entry_price, b.entry_price, 1e-9);
        ASSERT_NEAR(a.exit_price, b.exit_price, 1e-9);
        ASSERT_NEAR(a.commission, b.commission, 1e-9);
        ASSERT_NEAR(a.profit, b.profit, 1e-7);
    }
    EXPECT_NEAR(own.commission, expected.commission, 1e-6);
    EXPECT_EQ(own.refused, expected.refused);
}

TEST(Backtest, EqualsTheSlowReferenceOverRandomMarketsAndOrders) {
    constexpr std::uint32_t markets = 4000;
    std::size_t trades = 0, refused = 0, exits[6] = {};
    for (std::uint32_t market = 0; market < markets; ++market) {
        SCOPED_TRACE("market " + std::to_string(market));
        PhiloxStream random(2, RandomPurpose::test, market);
        const TradedSeries series = random_series(random, 60);
        const auto decisions = random_decisions(random, series);
        const BacktestOptions options = random_options(random);
        const BacktestResult own = run_backtest(series, decisions, options);
        expect_equal(own, reference_backtest(series, decisions, options));
        if (HasFatalFailure())
            return;
        trades += own.trades.size();
        refused += own.refused;
        for (const Trade& trade : own.trades)
            ++exits[static_cast<int>(trade.exit)];
    }
    EXPECT_GT(trades, 10'000u);
    EXPECT_GT(refused, 100u);
    for (const std::size_t count : exits)
        EXPECT_GT(count, 30u); // every exit reason occurred
}

TEST(Backtest, SeesNothingOfTheFuture) {
    for (std::uint32_t market = 0; market < 500; ++market) {
        PhiloxStream random(3, RandomPurpose::test, market);
        TradedSeries series = random_series(random, 60);
        const auto decisions = random_decisions(random, series);
        BacktestOptions options = random_options(random);
        options.sizing.kind = static_cast<SizingRule::Kind>(market % 4);
        options.sizing.amount = options.sizing.kind == SizingRule::Kind::fixed ? 1 : 0.3;
        options.sizing.lookback = 5;
        options.rebalance = market % 8 > 3;
        const BacktestResult whole = run_backtest(series, decisions, options);
        // Replacing the bars from `cut` on must not change anything before it.
        const std::size_t cut = 5 + random.next_below(50);
        std::vector<TradedBar> rest(series.bars.begin() + static_cast<std::ptrdiff_t>(cut),
                                    series.bars.end());
        std::ranges::reverse(rest);
        for (std::size_t i = 0; i < rest.size(); ++i) {
            rest[i].begin = series.bars[cut + i].begin;
            rest[i].end = series.bars[cut + i].end;
            rest[i].open *= 1.5;
            rest[i].high *= 1.6;
            rest[i].close *= 1.5;
            series.bars[cut + i] = rest[i];
        }
        const BacktestResult other = run_backtest(series, decisions, options);
        EXPECT_TRUE(std::equal(whole.equity.begin(), whole.equity.begin() + static_cast<std::ptrdiff_t>(cut),
                               other.equity.begin()))
            << "market " << market;
        EXPECT_TRUE(std::equal(whole.position.begin(),
                               whole.position.begin() + static_cast<std::ptrdiff_t>(cut),
                               other.position.begin()));
        // A truncated series closes its position at its last bar, but must not differ before that.
        series.bars.resize(cut);
        const BacktestResult truncated = run_backtest(series, decisions, options);
        EXPECT_TRUE(std::equal(truncated.equity.begin(), truncated.equity.end() - 1, whole.equity.begin()));
    }
}

const TradedSeries& rising() {
    static const TradedSeries series = series_of({{100, 101, 99, 100},
                                                  {101, 104, 100, 103},
                                                  {98, 105, 97, 104},
                                                  {110, 112, 108, 111},
                                                  {111, 111, 90, 92},
                                                  {92, 95, 91, 94}});
    return series;
}

TEST(Backtest, FillsMarketOrdersAtTheOpenAfterTheDecision) {
    // Known at the end of bar 0: bar 1 fills it. Known a second later: bar 2 does.
    for (const std::size_t late : {0u, 1u}) {
        const std::vector<Decision> decisions{
            {.known_at = minute + static_cast<std::int64_t>(late), .target_position = 2}};
        const BacktestResult result = run_backtest(
            rising(), decisions,
            {.costs = {.point_value = 50, .commission = 2.5, .slippage = 0.25, .margin_share = 0}});
        ASSERT_EQ(result.trades.size(), 1u);
        const Trade& trade = result.trades[0];
        EXPECT_EQ(trade.entry_bar, 1 + late);
        EXPECT_DOUBLE_EQ(trade.entry_price, (late ? 98 : 101) + 0.25);
        EXPECT_DOUBLE_EQ(trade.exit_price, 94 - 0.25);
        EXPECT_EQ(trade.exit, ExitReason::end_of_data);
        EXPECT_DOUBLE_EQ(trade.commission, 10);
        EXPECT_DOUBLE_EQ(trade.profit, 2 * 50 * (trade.exit_price - trade.entry_price) - 10);
        EXPECT_DOUBLE_EQ(result.equity.back(), 100'000 + trade.profit);
        EXPECT_DOUBLE_EQ(result.slippage, 2 * 2 * 50 * 0.25);
    }
}

TEST(Backtest, FillsAStopAtTheOpenOfAGap) {
    const std::vector<Decision> decisions{{.known_at = minute, .target_position = 1, .stop_loss = 100.5}};
    const auto result = run_backtest(
        series_of({{100, 101, 99, 100}, {101, 102, 101, 102}, {90, 95, 89, 91}, {91, 92, 90, 91}}), decisions,
        {});
    ASSERT_EQ(result.trades.size(), 1u);
    EXPECT_EQ(result.trades[0].exit, ExitReason::stop_loss);
    EXPECT_DOUBLE_EQ(result.trades[0].exit_price, 90);
    EXPECT_EQ(result.position, (std::vector<double>{0, 1, 0, 0}));
}

TEST(Backtest, PrefersTheStopLossWhereTheOrderIsUnknown) {
    const std::vector<Decision> decisions{
        {.known_at = minute, .target_position = 1, .stop_loss = 97, .take_profit = 105}};
    const auto exit_of = [&](std::array<double, 4> bar) {
        return run_backtest(series_of({{100, 100, 100, 100}, {100, 101, 99, 100}, bar, {100, 100, 100, 100}}),
                            decisions, {})
            .trades.at(0);
    };
    EXPECT_EQ(exit_of({100, 110, 90, 100}).exit, ExitReason::stop_loss);
    EXPECT_EQ(exit_of({106, 110, 90, 100}).exit, ExitReason::take_profit); // the bar opens beyond it
    EXPECT_DOUBLE_EQ(exit_of({106, 110, 90, 100}).exit_price, 106);
    EXPECT_DOUBLE_EQ(exit_of({100, 110, 98, 100}).exit_price, 105);
    EXPECT_EQ(exit_of({100, 101, 99, 100}).exit, ExitReason::end_of_data);
}

TEST(Backtest, RollsWithTheCostsOfBothContracts) {
    TradedSeries series = rising();
    for (std::size_t i = 3; i < series.bars.size(); ++i)
        series.bars[i].contract = 1;
    series.bars[3].previous_contract = 103; // the new contract opens 7 points above
    const std::vector<Decision> decisions{{.known_at = minute, .target_position = 1, .stop_loss = 90}};
    const auto result = run_backtest(series, decisions, {.costs = {.commission = 1, .slippage = 0.5}});
    ASSERT_EQ(result.trades.size(), 2u);
    EXPECT_EQ(result.trades[0].exit, ExitReason::roll);
    EXPECT_DOUBLE_EQ(result.trades[0].exit_price, 102.5);
    EXPECT_DOUBLE_EQ(result.trades[1].entry_price, 110.5);
    EXPECT_DOUBLE_EQ(result.commission, 4);
    EXPECT_EQ(result.trades[1].exit, ExitReason::stop_loss); // at 97: the stop moved with the contract
    EXPECT_DOUBLE_EQ(result.trades[1].exit_price, 96.5);
}

TEST(Backtest, DoesNotEnterAgainUntilTheTargetChanges) {
    std::vector<Decision> decisions;
    for (std::int64_t i = 1; i < 6; ++i)
        decisions.push_back({.known_at = i * minute, .target_position = 1, .stop_loss = i == 1 ? 99.5 : 50});
    const TradedSeries series = series_of(std::vector<std::array<double, 4>>(6, {100, 101, 99, 100}));
    EXPECT_EQ(run_backtest(series, decisions, {}).trades.size(), 1u);
    decisions[3].target_position = 2;
    EXPECT_EQ(run_backtest(series, decisions, {}).trades.size(), 3u); // 2 contracts from bar 4, 1 from bar 5
}

TEST(Backtest, SizesByEquityRiskAndVolatility) {
    const TradedSeries series = series_of({{100, 101, 99, 100},
                                           {100, 103, 99, 102},
                                           {102, 103, 100, 101},
                                           {101, 105, 101, 104},
                                           {104, 104, 103, 104},
                                           {104, 104, 103, 104}});
    const std::vector<Decision> decisions{
        {.known_at = 4 * minute, .target_position = -1, .stop_loss = 106.5}};
    const auto position = [&](SizingRule sizing) {
        return run_backtest(
                   series, decisions,
                   {.capital = 10'000, .sizing = sizing, .costs = {.point_value = 2, .margin_share = 0}})
            .position[4];
    };
    EXPECT_EQ(position({.kind = SizingRule::Kind::fraction, .amount = 0.5}), -24); // 5,000 / 208
    EXPECT_EQ(position({.kind = SizingRule::Kind::risk, .amount = 0.01}), -20);    // 100 / (2.5 · 2)
    EXPECT_EQ(position({.kind = SizingRule::Kind::risk, .amount = 0.01, .step = 8}), -16);
    // Changes 2, -1, 3: std sqrt(13/3); 525,960 bars a year.
    const double money = std::sqrt(13.0 / 3 * 525'960) * 2;
    EXPECT_DOUBLE_EQ(
        position({.kind = SizingRule::Kind::volatility, .amount = 30, .step = 0.1, .lookback = 3}),
        -0.1 * std::floor(10 * 30 * 10'000 / money));
    EXPECT_EQ(position({.kind = SizingRule::Kind::volatility, .amount = 30, .lookback = 4}), 0);
}

TEST(Backtest, RefusesWhatTheMarginDoesNotCoverAndClosesWhatItNoLongerCovers) {
    const std::vector<Decision> decisions{{.known_at = minute, .target_position = 11},
                                          {.known_at = 2 * minute, .target_position = 9}};
    const TradedSeries series = series_of({{100, 100, 100, 100},
                                           {100, 100, 100, 100},
                                           {100, 100, 60, 62},
                                           {62, 62, 40, 45},
                                           {45, 45, 45, 45},
                                           {45, 45, 45, 45}});
    const auto result = run_backtest(series, decisions, {.capital = 1000, .costs = {.margin_share = 1}});
    EXPECT_EQ(result.refused, 1u);
    EXPECT_EQ(result.position,
              (std::vector<double>{0, 0, 9, 9, 9, 0})); // 1000 - 9 · 55 covers half of 9 · 45
    const auto leveraged =
        run_backtest(series, std::vector<Decision>{{.known_at = minute, .target_position = 19}},
                     {.capital = 1000, .costs = {.margin_share = 0.5}});
    EXPECT_EQ(leveraged.trades.at(0).exit,
              ExitReason::margin_call); // 1000 - 19 · 38 does not cover a quarter of 19 · 62
    EXPECT_EQ(leveraged.position, (std::vector<double>{0, 19, 19, 0, 0, 0}));
}

TEST(Backtest, RefusesWrongDecisionsAndOptions) {
    const auto run = [](const Decision& decision, const BacktestOptions& options = {}) {
        run_backtest(rising(), std::vector<Decision>{decision}, options);
    };
    EXPECT_THROW(run({.target_position = std::nan("")}), Error);
    EXPECT_THROW(run({.target_position = 1, .order = OrderKind::limit}), Error);
    EXPECT_THROW(run({.target_position = 1, .order = OrderKind::limit, .price = 100, .stop_loss = 101}),
                 Error);
    EXPECT_THROW(run({.target_position = -1, .stop_loss = 90, .take_profit = 110}), Error);
    EXPECT_THROW(run({.target_position = 1}, {.capital = 0}), Error);
    EXPECT_THROW(run({.target_position = 1}, {.sizing = {.step = 0}}), Error);
    EXPECT_THROW(run({.target_position = 1}, {.costs = {.commission = -1}}), Error);
    EXPECT_THROW(run_backtest(rising(), std::vector<Decision>{{.known_at = 2}, {.known_at = 1}}, {}), Error);
    EXPECT_NO_THROW(run({.target_position = 1, .stop_loss = 90, .take_profit = 110}));
}

} // namespace
} // namespace rekindle::research
