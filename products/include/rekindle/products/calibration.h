#pragma once
/// Measures the rates of a device.

#include <rekindle/products/device_parameters.h>
#include <rekindle/products/fit.h>
#include <rekindle/runtime/device.h>

#include <optional>
#include <string>

namespace rekindle::products {

/// The device's parameters, with measured rates where possible. Reads the rates from the tuning results of
/// this device and driver build (REKINDLE_CACHE_DIR/tuning). If there are none, measures the rates and stores
/// them there; processes that start meanwhile wait for them. Replaces a damaged file, after a warning. On a
/// GPU, measuring takes at most about one second, plus the time to compile up to eight kernels. Returns the
/// default rates if REKINDLE_CALIBRATE is 0, on a CPU driver unless it is 1, and without a cache folder. Also
/// returns them, after a warning, if measuring fails, gives implausible values, or cannot be stored.
DeviceParameters calibrated_parameters(runtime::Device& device, const runtime::LogCallback& log);

/// Runs products and small launches, and scales the rates by their times; the memory's bandwidth keeps its
/// default. Opens the device once more for that time, so that it does not affect the caller's memory,
/// statistics and profiler. Throws runtime::Error if the device cannot run them, or if the rates are
/// implausible.
DeviceParameters measure_rates(const runtime::DeviceInfo& device, const DeviceParameters& start);

/// Explains why measured rates cannot be right: one is outside its range, or estimates with them are far from
/// the measured times. Empty if they are plausible.
std::string implausible(const DeviceParameters& measured, double misfit);

} // namespace rekindle::products
