#pragma once
/// Finds the rates of a device from measured times, with the cost model itself.

#include <rekindle/products/plan.h>

#include <span>
#include <variant>
#include <vector>

namespace rekindle::products {

/// A product or a convolution that was timed with one plan.
struct Sample {
    std::variant<ProductShape, ConvolutionShape> shape;
    Plan plan;
    double seconds = 0;
};

/// The cost model's time for the sample.
double estimate(const DeviceParameters& device, const Sample& sample);

/// The root of the mean square of ln(estimate / seconds).
double misfit(const DeviceParameters& device, std::span<const Sample> samples);

/// Changes the given rates so that the misfit becomes small: each is multiplied by factors that shrink until
/// no factor helps, and stays within a factor of 16 of its initial value. Deterministic; a few thousand
/// estimates of each sample.
DeviceParameters fit(DeviceParameters start, std::span<const Sample> samples,
                     std::span<const Rate> which = rates);

} // namespace rekindle::products
