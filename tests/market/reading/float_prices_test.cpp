/// Prices that were stored as 32-bit floats at some point: they are read if the float still determines the
/// tick, and not otherwise. The reference is the C library's conversion to float and printf.

#include "reading/number.h"
#include "reading/reading_support.h"
#include "reading/tick.h"

#include <rekindle/base/philox.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

namespace rekindle::market::reading {
namespace {

/// The distance from a float to the next one.
double spacing_at(double price) {
    const auto image = static_cast<float>(price);
    return static_cast<double>(std::nextafterf(image, HUGE_VALF)) - static_cast<double>(image);
}

/// A float as exports print it: %f as in vendors' CSV files, nine significant digits, and all digits of the
/// double.
std::vector<std::string> printed(double price) {
    const auto image = static_cast<double>(static_cast<float>(price));
    std::vector<std::string> texts{fmt::format("{:.9g}", image), fmt::format("{:.17g}", image),
                                   fmt::format("{:.12f}", image)};
    if (spacing_at(price) >= 4e-6) // too few digits do not identify the float
        texts.push_back(fmt::format("{:.6f}", image));
    std::erase_if(texts, [](const std::string& text) { return text.find('e') != std::string::npos; });
    return texts;
}

struct Cell {
    double magnitude, tick;
};

/// Magnitudes from 1e-4 to 1e6 and tick sizes of which a price is at most 2^31 ticks.
std::vector<Cell> cells() {
    std::vector<Cell> all;
    for (double magnitude = 1e-4; magnitude < 2e6; magnitude *= std::sqrt(10.0))
        for (const TickSize tick : tick_candidates())
            if (tick.points <= magnitude / 10 && magnitude / tick.points < 1e9)
                all.push_back({magnitude, tick.points});
    return all;
}

TEST(FloatPrices, EveryTickThatAFloatDeterminesIsRead) {
    PhiloxStream random(21, RandomPurpose::test);
    std::size_t determined = 0, undetermined = 0;
    for (const auto& [magnitude, tick] : cells()) {
        const TickConverter converter(TickSize{tick});
        for (int i = 0; i < 60; ++i) {
            const auto ticks = static_cast<Ticks>(magnitude / tick * (0.5 + random.next_double()));
            const double price = ticks * tick;
            for (const std::string& text : printed(price)) {
                const auto value = parse_decimal(text);
                ASSERT_TRUE(value) << text;
                Ticks read = 0;
                const PriceStatus status = converter.convert(*value, read);
                if (spacing_at(price) <= tick) {
                    ++determined;
                    EXPECT_TRUE(status == PriceStatus::exact || status == PriceStatus::rounded ||
                                status == PriceStatus::noisy)
                        << text << " tick " << tick;
                    EXPECT_EQ(read, ticks) << text << " tick " << tick;
                } else if (status != PriceStatus::off_tick) {
                    // Accepted only if it is close to a tick, never as a guess.
                    EXPECT_LE(std::abs(read * tick - value->value()), 0.0201 * tick) << text;
                    ++undetermined;
                }
            }
        }
    }
    EXPECT_GT(determined, 50'000u);
    EXPECT_GT(undetermined, 100u);
}

TEST(FloatPrices, PricesBetweenTicksAreNotRounded) {
    PhiloxStream random(22, RandomPurpose::test);
    for (const auto& [magnitude, tick] : cells()) {
        const TickConverter converter(TickSize{tick});
        for (const double part : {0.1, 0.25, 0.5, 0.75}) {
            const double price = (std::floor(magnitude / tick * (0.5 + random.next_double())) + part) * tick;
            if (spacing_at(price) > tick / 20)
                continue; // the float's rounding error would hide the distance to the tick
            for (const std::string& text : printed(price)) {
                Ticks read = 0;
                EXPECT_EQ(converter.convert(*parse_decimal(text), read), PriceStatus::off_tick)
                    << text << " tick " << tick;
            }
        }
    }
}

TEST(FloatPrices, TheTickIsInferredFromFloats) {
    PhiloxStream random(23, RandomPurpose::test);
    for (const auto& [magnitude, tick] : {Cell{4200, 0.01},
                                          {16'000, 0.01},
                                          {60'000, 0.01},
                                          {4500, 0.25},
                                          {110, 0.0078125},
                                          {1.1, 0.00001},
                                          {0.0002, 1e-8},
                                          {150, 0.001},
                                          {1'000'000, 0.5},
                                          {30'000, 5},
                                          {40'000, 1},
                                          {0.35, 0.0001}}) {
        for (const std::size_t style : {0u, 1u, 2u}) {
            std::vector<Decimal> prices;
            for (int i = 0; i < 3000; ++i)
                prices.push_back(
                    *parse_decimal(printed(std::floor(magnitude / tick * (0.7 + 0.6 * random.next_double())) *
                                           tick)[style % printed(magnitude).size()]));
            const auto inferred = infer_tick(prices);
            ASSERT_TRUE(inferred) << magnitude << " " << tick;
            EXPECT_EQ(inferred->points, tick) << magnitude;
        }
    }
}

// Exact decimals of a fine tick are not mistaken for floats of a coarser one.
TEST(FloatPrices, ExactDecimalsKeepTheirTick) {
    PhiloxStream random(24, RandomPurpose::test);
    for (const double magnitude : {100.0, 5000.0, 67'000.0, 250'000.0, 900'000.0}) {
        std::vector<Decimal> prices;
        for (int i = 0; i < 40; ++i)
            prices.push_back(
                *parse_decimal(fmt::format("{:.2f}", magnitude * (1 + 0.01 * random.next_double()))));
        EXPECT_EQ(infer_tick(prices)->points, 0.01) << magnitude;
    }
}

} // namespace
} // namespace rekindle::market::reading

namespace rekindle::market {
namespace {

// Two rows of the S&P 500 as exported by Yahoo: 4189.51 is 4189.509766 as a float.
TEST(FloatPrices, YahooIndexIsRead) {
    const ReadResult result = read_text("Date,Open,High,Low,Close,Adj Close,Volume\n"
                                        "2021-05-24,4170.160156,4209.520020,4170.160156,4197.049805,"
                                        "4197.049805,2947400000\n"
                                        "2021-05-25,4205.939941,4213.419922,4182.520020,4189.509766,"
                                        "4189.509766,3420870000\n");
    EXPECT_EQ(result.report.tick.points, 0.01);
    EXPECT_THAT(result.bars.columns().close, testing::ElementsAre(419705, 418951));
    EXPECT_EQ(result.report.prices_rounded, 8u);
}

} // namespace
} // namespace rekindle::market
