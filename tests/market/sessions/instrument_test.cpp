#include "sessions/bar_builder.h"
#include "sessions/instrument.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/session_plan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <contract_names.h>

namespace rekindle::market {
namespace {

using fixtures::BarBuilder;
using fixtures::new_york;
using testing::HasSubstr;

TEST(ContractIdentity, ContractsOfOneInstrument) {
    for (const char* name : test::contracts_of_es)
        EXPECT_EQ(identify_contract(name), (ContractIdentity{"ES", true, ""})) << name;
    for (const auto& [name, number] : test::names_of_es)
        EXPECT_EQ(identify_contract(name), (ContractIdentity{"ES", false, number})) << name;
    for (const auto& [name, instrument] : test::other_contracts)
        EXPECT_EQ(identify_contract(name), (ContractIdentity{instrument, true, ""})) << name;
}

TEST(ContractIdentity, DifferentInstrumentsAreDistinguished) {
    const auto& names = test::different_instruments;
    for (std::size_t i = 0; i < names.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            EXPECT_NE(identify_contract(names[i]).instrument, identify_contract(names[k]).instrument)
                << names[i] << " " << names[k];
}

/// Two contracts one after another, ten bars per day.
BarTable chained(const char* first, Ticks first_price, const char* second, Ticks second_price,
                 int pause = 1) {
    BarBuilder builder({first, second});
    for (int minute = 600; minute < 610; ++minute) {
        builder.add(new_york(make_date(2025, 3, 10), minute), first_price, 5, 0);
        builder.add(new_york(make_date(2025, 3, 10) + pause, minute), second_price, 5, 1);
    }
    return builder.table();
}

std::string refusal(const BarTable& bars, bool mixed = false) {
    try {
        plan_sessions(bars, {}, HolidayCalendar::embedded(), RollMethod::volume, mixed);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.render();
    }
    return "";
}

TEST(Instruments, AreNotChainedAsARoll) {
    for (const bool mixed : {false, true}) {
        const std::string text = refusal(chained("BTCUSDT", 4'700'000, "ES 03-25", 570'000), mixed);
        EXPECT_THAT(text, HasSubstr("different instruments, \"BTCUSDT\" and \"ES 03-25\""));
        EXPECT_THAT(text, HasSubstr("--contract"));
    }
    EXPECT_THAT(refusal(chained("SPY", 47'000, "QQQ", 40'000)), HasSubstr("\"SPY\" and \"QQQ\""));
    EXPECT_EQ(refusal(chained("ES 03-25", 570'000, "ES 06-25", 575'000)), "");
}

// Names that differ only in a number may or may not be contracts of one instrument; the prices decide.
TEST(Instruments, PricesDecideIfNamesDoNot) {
    EXPECT_EQ(refusal(chained("ES1!", 570'000, "ES2!", 575'000)), "");
    EXPECT_THAT(refusal(chained("US500", 570'000, "US30", 4'200'000)),
                HasSubstr("prices are about 142500.0 and 1050000.0 points")); // ticks of 0.25
    EXPECT_THAT(refusal(chained("VX 03-25", 1500, "VX 04-25", 3100)), HasSubstr("\"VX 03-25\""));
    EXPECT_EQ(refusal(chained("VX 03-25", 1500, "VX 04-25", 2100)), "");
    // Prices are not compared across an unknown gap, so there is no contradiction.
    EXPECT_EQ(refusal(chained("ES 03-25", 200'000, "ES 03-26", 570'000, 300)), "");
}

} // namespace
} // namespace rekindle::market
