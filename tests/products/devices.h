#pragma once
/// Invented devices for the planner, and shapes to plan.

#include <rekindle/products/plan.h>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace rekindle::products::test {

struct InventedDevice {
    std::string name;
    DeviceParameters parameters;
};

inline kernels::Features all_features() {
    return kernels::Features((1u << 20) - 1);
}
inline kernels::Features without_units(kernels::Features features = all_features()) {
    return features.without({kernels::Feature::cooperative_matrix, kernels::Feature::matrix_16x16x16,
                             kernels::Feature::matrix_8x16x16, kernels::Feature::matrix_8x8x16,
                             kernels::Feature::matrix_8x8x8, kernels::Feature::bfloat16_units,
                             kernels::Feature::matrix_quads, kernels::Feature::matrix_columns});
}

/// speed: as a multiple of the default rates of multiplication; traffic: of those of memory and cache.
inline DeviceParameters invented(std::uint32_t compute_units, std::uint32_t subgroup, bool units,
                                 double speed = 1, double traffic = 1) {
    DeviceParameters device{.claimed = units ? all_features() : without_units(),
                            .usable = units ? all_features() : without_units(),
                            .minimum_subgroup = subgroup,
                            .maximum_subgroup = subgroup,
                            .shared_bytes = units ? 64u << 10 : 32u << 10,
                            .compute_units = compute_units};
    set_default_rates(device);
    device.float32_rate *= speed;
    device.wide_rate *= speed;
    device.float16_rate *= speed;
    device.unit_rate *= speed;
    device.cache_bandwidth *= traffic;
    device.memory_bandwidth *= traffic;
    return device;
}

/// With 20, 60, 84 and 132 compute units, subgroups of 32 and 64, with and without matrix units.
inline std::vector<InventedDevice> invented_devices() {
    std::vector<InventedDevice> devices;
    for (const std::uint32_t compute_units : {20u, 60u, 84u, 132u})
        for (const std::uint32_t subgroup : {32u, 64u})
            for (const bool units : {false, true})
                devices.push_back({std::to_string(compute_units) + " compute units, subgroups of " +
                                       std::to_string(subgroup) + (units ? ", matrix units" : ""),
                                   invented(compute_units, subgroup, units, compute_units == 20 ? 0.4 : 1,
                                            compute_units == 60 ? 0.5 : 1)});
    return devices;
}

/// Sizes on a logarithmic scale, all types.
inline std::vector<ProductShape> random_products(int count) {
    std::mt19937 random(7);
    std::vector<ProductShape> shapes;
    const auto size = [&](double most) {
        return static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution<double>(0, most)(random)));
    };
    for (int i = 0; i < count; ++i)
        shapes.push_back(
            {static_cast<ElementType>(i % 5), size(14), size(14), size(22), 1 + size(8) * (i % 3)});
    return shapes;
}

inline std::vector<ConvolutionShape> random_convolutions(int count) {
    std::mt19937 random(8);
    std::vector<ConvolutionShape> shapes;
    const auto below = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
    for (int i = 0; i < count; ++i) {
        const std::int64_t channels = 8 * below(64), outputs = 8 * below(64), taps = below(3) * below(3);
        const std::int64_t images = below(64), pixels = images * below(3000), gathered = channels * taps;
        const auto pass = static_cast<ConvolutionPass>(i % 3);
        const bool of_weight = pass == ConvolutionPass::weight_gradient;
        shapes.push_back({.type = static_cast<ElementType>(i % 5),
                          .pass = pass,
                          .m = outputs,
                          .n = of_weight ? gathered : pixels,
                          .k = of_weight ? pixels : gathered,
                          .groups = i % 4 == 0 ? 4 : 1,
                          .channels = channels,
                          .taps = taps,
                          .images = of_weight ? 1 : images});
    }
    return shapes;
}

inline std::string text(const ProductShape& s) {
    return std::string(name(s.type)) + " " + std::to_string(s.batch) + " x " + std::to_string(s.m) + "x" +
           std::to_string(s.n) + "x" + std::to_string(s.k);
}
inline std::string text(const ConvolutionShape& s) {
    return std::string(name(s.type)) + " convolution " + std::to_string(s.groups) + " x " +
           std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

} // namespace rekindle::products::test
