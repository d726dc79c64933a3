#pragma once
/// What the cost model knows about a device.

#include <rekindle/runtime/device.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace rekindle::products {

/// The limits of a device, and the rates that determine how long its workgroups take. Plain numbers: tests
/// invent devices.
struct DeviceParameters {
    kernels::Features claimed; ///< by the driver
    kernels::Features usable;  ///< those of them that passed the self-test
    std::uint32_t minimum_subgroup = 32, maximum_subgroup = 32;
    std::uint32_t shared_bytes = 48 << 10; ///< of one workgroup
    std::uint32_t compute_units = 64;
    bool is_cpu = false; ///< the driver runs kernels on the CPU; it takes seconds to compile large ones

    double float32_rate = 0;     ///< multiply-adds per second of one compute unit with the float32 tiles
    double wide_rate = 0;        ///< the same with wide float32 tiles
    double float16_rate = 0;     ///< the same with kernels that multiply float16 directly
    double unit_rate = 0;        ///< the same on matrix units
    double cache_bandwidth = 0;  ///< bytes per second that one compute unit loads from the shared cache
    double memory_bandwidth = 0; ///< bytes per second of the device's memory, for all compute units together
    double slice_latency = 0;    ///< seconds from the loads of a slice on matrix units to their first use
    double group_seconds = 0;    ///< seconds to start and end a workgroup
    double launch_seconds = 0;   ///< seconds that a launch takes if it waits for the one before it

    friend bool operator==(const DeviceParameters&, const DeviceParameters&) = default;
};

/// A rate that calibration and `fit` may change. A value outside least to most cannot be right on any device,
/// not even on a CPU that emulates a GPU.
struct Rate {
    std::string_view name; ///< as in files and log lines
    double DeviceParameters::*value;
    double least, most;
};
inline constexpr std::array rates{Rate{"float32_rate", &DeviceParameters::float32_rate, 1e6, 1e13},
                                  Rate{"wide_rate", &DeviceParameters::wide_rate, 1e6, 1e13},
                                  Rate{"float16_rate", &DeviceParameters::float16_rate, 1e6, 1e13},
                                  Rate{"unit_rate", &DeviceParameters::unit_rate, 1e6, 1e14},
                                  Rate{"cache_bandwidth", &DeviceParameters::cache_bandwidth, 1e6, 1e13},
                                  Rate{"memory_bandwidth", &DeviceParameters::memory_bandwidth, 1e8, 1e14},
                                  Rate{"slice_latency", &DeviceParameters::slice_latency, 1e-9, 1},
                                  Rate{"group_seconds", &DeviceParameters::group_seconds, 1e-10, 1},
                                  Rate{"launch_seconds", &DeviceParameters::launch_seconds, 1e-8, 0.1}};

/// The limits that the driver reports, with the rates of NVIDIA's H100 and H200 for each compute unit. A CPU
/// driver gets half the wide_rate, because it takes seconds to compile a wide tile.
DeviceParameters default_parameters(const runtime::DeviceInfo& device, kernels::Features usable);
/// The rates of NVIDIA's H100 and H200, for a device with this many compute units.
void set_default_rates(DeviceParameters& parameters);

/// "float32_rate=1.4e+11 unit_rate=…": every rate, on one line.
std::string rates_text(const DeviceParameters& parameters);
/// "usable=… claimed=… minimum_subgroup=32 …": the limits and the rates, on one line.
std::string text_of(const DeviceParameters& parameters);
/// Sets the rates from such a line. False, and no change, if one is missing or is not a positive number.
bool read_rates(DeviceParameters& parameters, std::string_view text);

} // namespace rekindle::products
