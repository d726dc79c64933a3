#include "devices.h"

#include <rekindle/products/calibration.h>
#include <rekindle/products/fit.h>

namespace rekindle::products {
namespace {

/// The estimates of a device, as if they had been measured there, with an error of at most `noise`.
std::vector<Sample> samples_of(const DeviceParameters& device, double noise) {
    std::mt19937 random(3);
    std::vector<Sample> samples;
    for (const ElementType type : {ElementType::float32, ElementType::float16})
        for (const std::int64_t size : {64, 300, 1024, 3000})
            for (const Plan& plan : possible_plans(device, ProductShape{type, size, size, 1024, 1})) {
                const ProductShape shape{type, size, size, 1024, 1};
                const double factor = std::uniform_real_distribution<double>(1 - noise, 1 + noise)(random);
                samples.push_back({shape, plan, estimate(device, shape, plan) * factor});
            }
    return samples;
}

TEST(Fit, FindsTheRatesOfAnotherDevice) {
    const DeviceParameters usual = test::invented(60, 32, true);
    DeviceParameters other = usual;
    other.float32_rate *= 0.4;
    other.unit_rate *= 0.3;
    other.cache_bandwidth *= 1.7;
    other.launch_seconds *= 2;
    const std::vector<Sample> samples = samples_of(other, 0.02);
    EXPECT_GT(misfit(usual, samples), 0.3);
    const DeviceParameters found = fit(usual, samples);
    EXPECT_LT(misfit(found, samples), 0.03);
    EXPECT_NEAR(found.float32_rate / other.float32_rate, 1, 0.1);
    EXPECT_NEAR(found.unit_rate / other.unit_rate, 1, 0.1);
    EXPECT_EQ(found.compute_units, usual.compute_units);
}

TEST(Fit, ChangesOnlyTheRatesThatItIsGiven) {
    const DeviceParameters usual = test::invented(60, 32, true);
    DeviceParameters other = usual;
    other.float32_rate *= 0.5;
    const std::array which{rates[0]};
    const DeviceParameters found = fit(usual, samples_of(other, 0), which);
    DeviceParameters expected = usual;
    expected.float32_rate = found.float32_rate;
    EXPECT_EQ(found, expected);
    EXPECT_NEAR(found.float32_rate / other.float32_rate, 1, 0.02);
}

TEST(Calibration, RejectsImplausibleRates) {
    const DeviceParameters usual = test::invented(60, 32, true);
    EXPECT_EQ(implausible(usual, 0.1), "");
    DeviceParameters wrong = usual;
    wrong.memory_bandwidth *= 1e9;
    EXPECT_NE(implausible(wrong, 0.1).find("memory_bandwidth"), std::string::npos);
    wrong = usual;
    wrong.launch_seconds = 0;
    EXPECT_NE(implausible(wrong, 0.1), "");
    EXPECT_NE(implausible(usual, 2), "");
    EXPECT_NE(implausible(usual, NAN), "");
}

} // namespace
} // namespace rekindle::products
