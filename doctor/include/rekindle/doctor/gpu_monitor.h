#pragma once
/// Reads load, memory, temperature, power, clocks, throttling and errors of every GPU again and again: from
/// sysfs, hwmon and fdinfo for AMD and Intel, from NVML for NVIDIA. Linux only.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// One GPU at one moment. A value that its driver does not report is unread, with the reason; it is never
/// replaced by zero.
struct GpuReading {
    std::string address; ///< "0000:03:00.0"
    std::string vendor;  ///< as Gpu::vendor
    std::string name;    ///< "Radeon RX 7900 XTX"
    Fact<double> load;   ///< percent of the time in which the GPU executed something, 0 to 100
    Fact<std::uint64_t> memory_used;
    Fact<std::uint64_t> memory_total;
    Fact<double> temperature;         ///< °C, at the edge of the chip
    Fact<double> hotspot_temperature; ///< °C, its hottest place
    Fact<double> power;               ///< W
    Fact<double> power_limit;         ///< W
    Fact<double> core_clock;          ///< MHz
    Fact<double> memory_clock;        ///< MHz
    /// What keeps the clocks below their maximum: "power", "temperature", "current", …; empty: nothing.
    Fact<std::vector<std::string>> throttling;
    Fact<std::uint64_t> memory_errors; ///< uncorrected, since the driver was loaded
    Fact<std::uint64_t> pcie_replays;  ///< retransmissions since the driver was loaded
    /// Processes that hold its memory, the largest first; of other users only where the driver shows them.
    std::vector<MemoryHolder> holders;
};

struct MonitorSample {
    std::vector<GpuReading> gpus; ///< in the same order in every sample
    /// Lines about errors of GPUs that the kernel log has gained since the previous sample.
    std::vector<std::string> new_errors;
    /// Limits of the whole sample: "the kernel log: Permission denied". The same in most samples.
    std::vector<std::string> limits;
};

struct MonitorOptions {
    std::filesystem::path root = "/";         ///< of a recorded host; NVML is used only for "/"
    std::chrono::milliseconds interval{1000}; ///< how often NVML is asked; 50 ms or more
    std::string program = "/proc/self/exe";   ///< started for NVML; its main() calls run_probe_child first
};

/// Starts a child process that reads the files of the host and, on this host, one that asks NVML; both end
/// with the object. A driver that stops answering makes its values unread and never blocks read() for more
/// than about two seconds. Not thread-safe.
class GpuMonitor {
  public:
    GpuMonitor(const MonitorOptions& options, const Knowledge& knowledge);
    GpuMonitor(const GpuMonitor&) = delete;
    GpuMonitor& operator=(const GpuMonitor&) = delete;
    ~GpuMonitor();

    /// Values that are computed from the difference of two readings, such as the load of Intel's GPUs, are
    /// unread in the first sample.
    MonitorSample read();

  private:
    class Reader;
    std::unique_ptr<Reader> reader_;
};

} // namespace rekindle::doctor
