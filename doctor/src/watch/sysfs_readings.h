#pragma once
/// Readings from the files of amdgpu, i915 and xe. Sources: Linux, Documentation/gpu/amdgpu/thermal.rst and
/// Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon.

#include "host/collectors.h"

#include <rekindle/doctor/gpu_monitor.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace rekindle::doctor {

/// What must be remembered of a GPU between two readings.
struct EarlierReading {
    std::chrono::steady_clock::time_point when{};
    std::optional<double> energy; ///< µJ
    /// Of the client and its engine: nanoseconds or cycles that it was busy.
    std::map<std::pair<std::uint64_t, std::string>, EngineUse> engines;
};

/// Fills in what the files of the kernel driver say. Computes rates with `earlier`, which it replaces.
void read_from_files(HostFiles& files, const Gpu& gpu, const EngineUses& uses, EarlierReading& earlier,
                     GpuReading& reading);

/// The reasons for throttling in the file gpu_metrics. Only layouts 1.3 and 2.2 to 2.4 have bits that mean
/// the same for every GPU.
Fact<std::vector<std::string>> throttling_of_metrics(std::string_view bytes, const std::string& source);

/// The clock of the line that ends with '*' in pp_dpm_sclk or pp_dpm_mclk, in MHz.
std::optional<double> active_clock(std::string_view text);

} // namespace rekindle::doctor
