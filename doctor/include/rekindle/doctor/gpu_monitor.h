#pragma once
/// Samples the load, memory, temperature, power, clocks, throttling and errors of every GPU. AMD's and
/// Intel's values come from sysfs, hwmon and fdinfo; NVIDIA's come from NVML. Linux only.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Why a value that is computed from two readings is unread in the first one, and always unread on a recorded
/// host.
constexpr std::string_view needs_two_readings = "needs two readings of a running host";

/// One GPU at one moment. If its driver does not report a value, that value is unread and has the reason; it
/// is never 0 instead.
struct GpuReading {
    std::string address;              ///< "0000:03:00.0"
    std::string vendor;               ///< as Gpu::vendor
    std::string name;                 ///< "Radeon RX 7900 XTX"
    Fact<double> load;                ///< percent of the time that the GPU was busy, 0 to 100
    Fact<std::uint64_t> memory_used;  ///< bytes of the GPU's own memory
    Fact<std::uint64_t> memory_total; ///< bytes
    Fact<double> temperature;         ///< °C, at the edge of the chip
    Fact<double> hotspot_temperature; ///< °C, at its hottest spot
    Fact<double> power;               ///< W
    Fact<double> power_limit;         ///< W
    Fact<double> core_clock;          ///< MHz
    Fact<double> memory_clock;        ///< MHz
    /// What currently limits the clocks: "power", "temperature", "current", …; an empty list if nothing does.
    Fact<std::vector<std::string>> throttling;
    Fact<std::uint64_t> memory_errors; ///< uncorrectable ones since the driver was loaded
    Fact<std::uint64_t> pcie_replays;  ///< PCIe packets that were sent again since the driver was loaded
    /// Processes that hold memory of this GPU, largest first. Other users' processes are included only if the
    /// driver shows them.
    std::vector<MemoryHolder> holders;
};

struct MonitorSample {
    std::vector<GpuReading> gpus; ///< in the same order in every sample
    /// Lines about GPU errors and killed processes that are new in the kernel log.
    std::vector<std::string> new_errors;
    /// What the whole sample lacks, and why: "errors in the kernel log are not shown: Permission denied".
    /// Most samples repeat the same lines.
    std::vector<std::string> limits;
};

struct MonitorOptions {
    std::filesystem::path root = "/"; ///< "/", or the root of a recorded host, for which NVML is not used
    std::chrono::milliseconds interval{1000}; ///< time between two readings of NVML, at least 50 ms
    /// Started as the child that reads NVML; its main() must call run_probe_child first.
    std::string program = "/proc/self/exe";
    std::string nvml = "libnvidia-ml.so.1"; ///< NVML's library: a path, or a name for the dynamic linker
};

/// Starts one child process that reads files and, unless the host is a recorded one, a second one that reads
/// NVML. The destructor ends both. If a driver stops answering, its values become unread, and read() returns
/// after at most about two seconds. Keeps a reference to the knowledge. Not thread-safe.
class GpuMonitor {
  public:
    GpuMonitor(const MonitorOptions& options, const Knowledge& knowledge);
    GpuMonitor(const GpuMonitor&) = delete;
    GpuMonitor& operator=(const GpuMonitor&) = delete;
    ~GpuMonitor();

    /// In the first sample, values that are computed from two readings, such as the load of Intel's GPUs, are
    /// unread (`needs_two_readings`). Looks for new errors in the kernel log at most every 5 seconds.
    MonitorSample read();

  private:
    class Reader;
    std::unique_ptr<Reader> reader_;
};

} // namespace rekindle::doctor
