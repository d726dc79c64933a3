#include "reading/number.h"
#include "reading/tick.h"

#include <rekindle/base/philox.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace rekindle::market::reading {
namespace {

Decimal parsed(const std::string& text) {
    const auto value = parse_decimal(text);
    EXPECT_TRUE(value) << text;
    return value.value_or(Decimal{-1, 0, false});
}

// strtod is the reference: mantissa / 10^scale in one division is correctly rounded for mantissas up to 2^53.
TEST(Decimal, AgreesWithStrtod) {
    PhiloxStream random(7, RandomPurpose::test);
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t whole = random.next_below(1'000'000);
        const unsigned digits = random.next_below(9);
        std::string text = fmt::format("{}{}", random.next_below(2) ? "-" : "", whole);
        if (digits > 0)
            text += "." + std::to_string(random.next_u64()).substr(0, digits);
        if (random.next_below(8) == 0)
            text += fmt::format("e{}", static_cast<int>(random.next_below(7)) - 3);
        EXPECT_DOUBLE_EQ(parsed(text).value(), std::strtod(text.c_str(), nullptr)) << text;
    }
}

TEST(Decimal, KeepsDecimalsExactly) {
    EXPECT_EQ(parsed("4527.250").mantissa, 4'527'250);
    EXPECT_EQ(parsed("4527.250").scale, 3);
    EXPECT_EQ(parsed(" .5 ").mantissa, 5);
    EXPECT_EQ(parsed("5.").mantissa, 5);
    EXPECT_EQ(parsed("1.5e3").mantissa, 1500);
    EXPECT_EQ(parsed("25E-2").scale, 2);
    EXPECT_EQ(parsed("000000000000000000000012.5").mantissa, 125);
    EXPECT_FALSE(parsed("1234.56000000000005820766091346740722656250").exact);
    EXPECT_TRUE(parsed("1234.56000000000000000000000000").exact);
}

TEST(Decimal, RejectsEverythingElse) {
    for (const char* text : {"",     " ",    "-",   ".",    "-.",   "1.2.3", "1,5",
                             "nan",  "NaN",  "inf", "-inf", "0x10", "1e",    "1e+",
                             "e5",   "12a",  "1 2", "+5",   "--5",  "1e999", "99999999999999999999",
                             "1\t2", "\"5\""})
        EXPECT_FALSE(parse_decimal(text)) << text;
    EXPECT_FALSE(parse_decimal(std::string_view("1\0", 2)));
}

TEST(Ticks, ExactRoundedAndOffTick) {
    const TickConverter quarter(TickSize{0.25});
    Ticks ticks = 0;
    EXPECT_EQ(quarter.convert(parsed("4527.25"), ticks), PriceStatus::exact);
    EXPECT_EQ(ticks, 18109);
    EXPECT_EQ(quarter.convert(parsed("4527.2500000"), ticks), PriceStatus::exact);
    EXPECT_EQ(quarter.convert(parsed("4527.2504"), ticks), PriceStatus::rounded);
    EXPECT_EQ(quarter.convert(parsed("4527.2549"), ticks), PriceStatus::noisy);
    EXPECT_EQ(ticks, 18109);
    EXPECT_EQ(quarter.convert(parsed("4527.2451"), ticks), PriceStatus::noisy);
    EXPECT_EQ(quarter.convert(parsed("4527.2551"), ticks), PriceStatus::off_tick);
    EXPECT_EQ(quarter.convert(parsed("4527.2449"), ticks), PriceStatus::off_tick);
    EXPECT_EQ(quarter.convert(parsed("0.001"), ticks), PriceStatus::off_tick);
    EXPECT_EQ(quarter.convert(parsed("536870911.5"), ticks), PriceStatus::exact);
    EXPECT_EQ(ticks, 2'147'483'646);
    EXPECT_EQ(quarter.convert(parsed("536870912"), ticks), PriceStatus::too_large);
    EXPECT_EQ(quarter.convert(parsed("999999999999999999"), ticks), PriceStatus::too_large);
}

// Whole numbers of ticks written as decimals are read back exactly.
TEST(Ticks, EveryTickIsReadBack) {
    PhiloxStream random(8, RandomPurpose::test);
    for (const double points : {0.25, 0.01, 0.005, 0.00001, 0.03125, 0.0078125, 1.0, 2.5, 5.0, 0.1}) {
        const TickConverter converter(TickSize{points});
        for (int i = 0; i < 2000; ++i) {
            const auto expected = static_cast<Ticks>(1 + random.next_below(1'000'000));
            Ticks ticks = 0;
            const std::string text = fmt::format("{:.8f}", static_cast<double>(expected) * points);
            EXPECT_EQ(converter.convert(parsed(text), ticks), PriceStatus::exact)
                << text << " tick " << points;
            EXPECT_EQ(ticks, expected) << text;
        }
    }
}

TEST(Ticks, ValidSizes) {
    EXPECT_TRUE(TickConverter::is_usable_tick({1e-9}));
    EXPECT_TRUE(TickConverter::is_usable_tick({0.03125}));
    for (const double size : {0.0, -0.25, 1e-10, 1e10, 1.0 / 3.0, std::nan(""), HUGE_VAL})
        EXPECT_FALSE(TickConverter::is_usable_tick({size})) << size;
}

std::vector<Decimal> prices_on_grid(double points, int count, bool as_float, std::uint32_t first,
                                    std::uint32_t range) {
    PhiloxStream random(9, RandomPurpose::test);
    std::vector<Decimal> prices;
    for (int i = 0; i < count; ++i) {
        const double price = (first + random.next_below(range)) * points;
        prices.push_back(parsed(as_float ? fmt::format("{:.9g}", static_cast<float>(price))
                                         : fmt::format("{:.8f}", price)));
    }
    return prices;
}

TEST(InferTick, FindsTheGrid) {
    EXPECT_EQ(infer_tick(prices_on_grid(0.25, 1000, false, 16000, 4000))->points, 0.25);
    EXPECT_EQ(infer_tick(prices_on_grid(0.01, 5000, true, 120'000, 130'000))->points, 0.01);
    EXPECT_EQ(infer_tick(prices_on_grid(0.00001, 5000, false, 104'000, 20'000))->points, 0.00001);
    EXPECT_EQ(infer_tick(prices_on_grid(0.03125, 1000, false, 3000, 1000))->points, 0.03125);
    EXPECT_EQ(infer_tick(prices_on_grid(0.0078125, 1000, false, 14'000, 1000))->points, 0.0078125);
    EXPECT_EQ(infer_tick(prices_on_grid(0.1, 1000, false, 18'000, 2000))->points, 0.1);
    EXPECT_EQ(infer_tick(prices_on_grid(5, 1000, false, 5000, 2000))->points, 5);
    EXPECT_EQ(infer_tick(prices_on_grid(2.5, 1000, false, 5000, 2000))->points, 2.5);
}

TEST(InferTick, ToleratesOneInAThousand) {
    auto prices = prices_on_grid(0.25, 4000, false, 16000, 4000);
    for (int i = 0; i < 4; ++i)
        prices.push_back(parsed("4527.13"));
    EXPECT_EQ(infer_tick(prices)->points, 0.25);
    prices.push_back(parsed("4527.13"));
    EXPECT_EQ(infer_tick(prices)->points, 0.01);
    EXPECT_FALSE(infer_tick({}));
}

// 100.25 is within 2 % of a tick of 100, but that must not make 100 the tick.
TEST(InferTick, NoiseIsNotRelativeToCoarseTicks) {
    EXPECT_EQ(infer_tick(std::vector{parsed("100.25"), parsed("101"), parsed("99.75")})->points, 0.25);
}

} // namespace
} // namespace rekindle::market::reading
