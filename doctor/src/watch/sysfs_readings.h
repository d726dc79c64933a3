#pragma once
/// Reads the files that amdgpu, i915 and xe provide. Sources: Linux, Documentation/gpu/amdgpu/thermal.rst and
/// Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon.

#include "host/collectors.h"

#include <rekindle/doctor/gpu_monitor.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace rekindle::doctor {

/// Counters of one GPU at its previous reading, from which rates are computed.
struct EarlierReading {
    std::chrono::steady_clock::time_point when{};
    std::optional<double> energy; ///< µJ
    /// (DRM client, engine) → how long the client has used the engine.
    std::map<std::pair<std::uint64_t, std::string>, EngineUse> engines;
};

/// Fills `reading` from the kernel driver's files. Computes rates from the change since `earlier`, then
/// stores the current counters there.
void read_from_files(HostFiles& files, const Gpu& gpu, const EngineUses& uses, EarlierReading& earlier,
                     GpuReading& reading);

/// Decodes why the firmware throttles, from the contents of the file gpu_metrics. Fails unless the layout is
/// 1.3 or 2.2 to 2.4: only in these do the bits mean the same for every GPU.
Fact<std::vector<std::string>> throttling_of_metrics(std::string_view bytes, const std::string& source);

/// The current clock in MHz: pp_dpm_sclk and pp_dpm_mclk mark its line with '*' at the end.
std::optional<double> active_clock(std::string_view text);

} // namespace rekindle::doctor
