#include <rekindle/foundation/error.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/trading_costs.h>

#include <gtest/gtest.h>

namespace rekindle::market {
namespace {

std::string list_of(const std::string& costs) {
    return "format: rekindle-trading-costs/1\nchecked: 2026-11-26\ncosts:\n  OTHER: {source: a}\n" + costs;
}

TEST(TradingCosts, HoldsForEveryInstrument) {
    const TradingCostsTable& table = TradingCostsTable::embedded();
    EXPECT_GT(table.checked(), 20'000);
    for (const Instrument& instrument : InstrumentTable::embedded().all()) {
        const TradingCosts& costs = table.of(instrument.symbol);
        EXPECT_EQ(costs.symbol, instrument.symbol);
        // Trading is never free, and slippage in ticks needs a tick.
        EXPECT_GT(costs.commission + costs.commission_percent, 0) << instrument.symbol;
        EXPECT_GT(costs.slippage_ticks + costs.slippage_percent, 0) << instrument.symbol;
        EXPECT_TRUE(costs.slippage_ticks == 0 || instrument.tick > 0) << instrument.symbol;
        EXPECT_GT(costs.margin_percent, 0) << instrument.symbol;
        EXPECT_LE(costs.margin_percent, 100) << instrument.symbol;
    }
    EXPECT_EQ(table.of("es").commission, table.of("ES").commission);
    EXPECT_TRUE(table.of("no such").symbol.empty());
    EXPECT_GT(table.of("").commission_percent, 0);
}

TEST(TradingCosts, AreReadFromAFile) {
    const auto table = TradingCostsTable::parse(
        list_of("  LE: {commission: 3, slippage_ticks: 2, margin_percent: 5, source: b}\n"), "costs.yaml");
    EXPECT_EQ(table.all().size(), 1u);
    EXPECT_EQ(table.of("LE").commission, 3);
    EXPECT_EQ(table.of("LE").slippage_ticks, 2);
    EXPECT_EQ(table.of("LE").commission_percent, 0);
    EXPECT_EQ(table.of("ES").margin_percent, 100);
}

TEST(TradingCosts, AreRefusedWithTheLine) {
    const auto where = [](const std::string& yaml) {
        try {
            TradingCostsTable::parse(yaml, "costs.yaml");
        } catch (const Error& error) {
            return error.where();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(where(list_of("  LE: {commission: -3, source: b}\n")), "costs.yaml:5");
    EXPECT_EQ(where(list_of("  LE: {commission: x, source: b}\n")), "costs.yaml:5");
    EXPECT_EQ(where(list_of("  LE: {fee: 3, source: b}\n")), "costs.yaml:5");
    EXPECT_EQ(where(list_of("  LE: {commission: 3}\n")), "costs.yaml:5");
    EXPECT_EQ(where(list_of("  LE: {source: b}\n  le: {source: b}\n")), "costs.yaml:6");
    EXPECT_EQ(where("format: rekindle-trading-costs/1\nchecked: 2026-11-26\ncosts: {LE: {source: b}}\n"),
              "costs.yaml");
    EXPECT_EQ(where("format: other/1\n"), "costs.yaml");
    EXPECT_EQ(where("format: rekindle-trading-costs/1\ncosts: {OTHER: {source: b}}\n"), "costs.yaml");
    EXPECT_EQ(where(": ["), "costs.yaml:1");
}

} // namespace
} // namespace rekindle::market
