/// The kernels' own exp, tanh, erf and log1p compared with the C library in double; dropout masks compared
/// with the rule.

#include "cpu/instruction_set.h"
#include "cpu/plan.h"

#include <rekindle/base/philox.h>
#include <rekindle/mlp/dropout.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;

constexpr InstructionSet all_sets[] = {InstructionSet::x86_64, InstructionSet::x86_64_v3,
                                       InstructionSet::x86_64_v4};

template <class Plan>
concept HasNetwork = requires(Plan plan) { static_cast<Plan>(plan).network(); };
static_assert(HasNetwork<const cpu::Plan&> && !HasNetwork<cpu::Plan&&>);

struct Checked {
    const char* name;
    void (*cpu::KernelTable::*kernel)(const float*, float*, std::size_t);
    double (*exact)(double);
    float low, high;
};

double unit_in_last_place(double value) {
    const float magnitude = std::max(std::abs(static_cast<float>(value)), std::numeric_limits<float>::min());
    return static_cast<double>(std::nextafter(magnitude, std::numeric_limits<float>::infinity())) - magnitude;
}

/// Evenly spaced points, and points concentrated near zero.
std::vector<float> points(float low, float high) {
    constexpr int count = 200'000;
    std::vector<float> xs;
    for (int i = 0; i < count; ++i) {
        const float x = low + (high - low) * static_cast<float>(i) / count;
        xs.push_back(x);
        xs.push_back(x * x * x / (high * high));
    }
    return xs;
}

TEST(Functions, AreWithinTwoUlp) {
    const Checked checks[] = {
        {"exp", &cpu::KernelTable::exp, std::exp, -86.9f, 88.2f},
        {"tanh", &cpu::KernelTable::tanh, std::tanh, -12.0f, 12.0f},
        {"erf", &cpu::KernelTable::erf, std::erf, -5.0f, 5.0f},
        {"log1p", &cpu::KernelTable::log1p, std::log1p, 0.0f, 1.0f},
    };
    for (const InstructionSet set : all_sets) {
        if (!supported(set))
            continue;
        for (const Checked& check : checks) {
            const std::vector<float> xs = points(check.low, check.high);
            std::vector<float> ys(xs.size());
            (cpu::kernels(set).*check.kernel)(xs.data(), ys.data(), xs.size());
            double worst = 0;
            for (std::size_t i = 0; i < xs.size(); ++i) {
                if (std::abs(xs[i]) < std::numeric_limits<float>::min())
                    continue; // subnormal: flushed in training
                const double exact = check.exact(static_cast<double>(xs[i]));
                worst = std::max(worst, std::abs(ys[i] - exact) / unit_in_last_place(exact));
            }
            EXPECT_LE(worst, 2.0) << check.name << " on " << name(set);
            RecordProperty(std::string(check.name) + "_" + std::string(name(set)), std::to_string(worst));
        }
    }
}

TEST(Functions, SpecialValues) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> xs{std::numeric_limits<float>::quiet_NaN(),
                                infinity,
                                -infinity,
                                0.0f,
                                -0.0f,
                                200.0f,
                                -200.0f,
                                1e30f,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0};
    std::vector<float> ys(xs.size());
    for (const InstructionSet set : all_sets) {
        if (!supported(set))
            continue;
        const cpu::KernelTable& kernels = cpu::kernels(set);
        kernels.exp(xs.data(), ys.data(), xs.size());
        EXPECT_TRUE(std::isnan(ys[0]));
        EXPECT_GT(ys[1], 2e38f);
        EXPECT_GT(ys[2], 0);
        EXPECT_LT(ys[2], 2e-38f);
        EXPECT_EQ(ys[3], 1);
        kernels.tanh(xs.data(), ys.data(), xs.size());
        EXPECT_TRUE(std::isnan(ys[0]));
        EXPECT_EQ(ys[1], 1);
        EXPECT_EQ(ys[2], -1);
        EXPECT_EQ(ys[3], 0);
        EXPECT_TRUE(std::signbit(ys[4]));
        kernels.erf(xs.data(), ys.data(), xs.size());
        EXPECT_TRUE(std::isnan(ys[0]));
        EXPECT_EQ(ys[5], 1);
        EXPECT_EQ(ys[6], -1);
    }
}

/// The kernels' masks for a dropout of `width` units.
std::vector<float> kernel_factors(InstructionSet set, const DropoutPosition& first, std::size_t width,
                                  std::size_t rows, double rate) {
    const Layer linear{.kind = Layer::Kind::linear, .name = "a", .inputs = 1, .outputs = width};
    ModelDescription model{.inputs = 1, .layers = {linear}};
    model.layers.resize(first.layer,
                        {.kind = Layer::Kind::activation, .name = {}, .inputs = width, .outputs = width});
    model.layers.push_back(
        {.kind = Layer::Kind::dropout, .name = {}, .inputs = width, .outputs = width, .dropout_rate = rate});
    model.layers.push_back({.kind = Layer::Kind::linear, .name = "b", .inputs = width, .outputs = 1});
    const cpu::Plan plan(model, TrainingSpec{});
    const cpu::Stage& stage = plan.stages().front();
    std::vector<float> factors(cpu::block_rows * stage.output_stride);
    cpu::kernels(set).dropout_factors(stage.dropout, first.seed, first.batch, first.row, rows,
                                      stage.output_stride, factors.data());
    return factors;
}

TEST(Dropout, KernelsFollowTheRule) {
    for (const InstructionSet set : all_sets) {
        if (!supported(set))
            continue;
        for (const std::size_t width : {1u, 7u, 16u, 20u, 33u, 48u, 64u, 128u, 200u}) {
            const DropoutPosition first{0x0123456789ABCDEFu, 4, (std::uint64_t{3} << 32) + 5, 128, 0};
            const std::vector<float> factors = kernel_factors(set, first, width, 37, 0.3);
            for (std::uint32_t row = 0; row < 37; ++row)
                for (std::uint32_t unit = 0; unit < width; ++unit) {
                    DropoutPosition at = first;
                    at.row += row;
                    at.unit = unit;
                    const float expected = dropout_keeps(at, 0.3) ? dropout_scale(0.3) : 0.0f;
                    ASSERT_EQ(factors[row * cpu::padded(width) + unit], expected)
                        << width << " " << row << " " << unit;
                }
        }
    }
}

TEST(Dropout, MatchesThePhiloxStreamInTheHeader) {
    const std::uint64_t seed = 0xFEDCBA9876543210u, batch = (std::uint64_t{1} << 32) + 9;
    const std::uint32_t layer = 6, row = 17;
    PhiloxStream stream(seed ^ std::uint64_t{layer} << 32, RandomPurpose::dropout,
                        static_cast<std::uint32_t>(batch), row | (batch >> 32) << 32);
    for (std::uint32_t unit = 0; unit < 40; ++unit)
        EXPECT_EQ(dropout_keeps({seed, layer, batch, row, unit}, 0.4),
                  stream.next_u32() >= dropout_threshold(0.4));
}

TEST(Dropout, KeepsTheRightFraction) {
    int kept = 0;
    for (std::uint32_t row = 0; row < 1000; ++row)
        for (std::uint32_t unit = 0; unit < 100; ++unit)
            kept += dropout_keeps({1, 2, 3, row, unit}, 0.4);
    EXPECT_NEAR(kept, 60000, 800); // five σ
    EXPECT_EQ(dropout_threshold(0), 0u);
    EXPECT_EQ(dropout_threshold(0.5), 0x80000000u);
    EXPECT_EQ(dropout_threshold(std::nextafter(1.0, 0.0)), 0xFFFFFFFFu);
    EXPECT_EQ(dropout_scale(0.5), 2.0f);
}

} // namespace
