#include "probes/driver_library.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

namespace rekindle::doctor {

namespace {

/// Structures and constants of NVML's ABI. Source: NVIDIA, NVML API Reference.
struct PciInfo {
    std::array<char, 16> legacy_address;
    unsigned domain, bus, device, pci_device, subsystem;
    std::array<char, 32> address;
};
struct Utilization {
    unsigned gpu, memory; ///< percent
};
/// `used` includes what the driver reserves.
struct Memory {
    unsigned long long total, free, used;
};
/// `used` is what processes hold, as nvidia-smi prints it. From driver 510 on.
struct Memory2 {
    unsigned version = sizeof(Memory2) | 2U << 24U;
    unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};
struct Process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};
using Device = void*;
constexpr unsigned long long not_available = ~0ULL;

std::string nvml_name(const SharedLibrary& library, int status) {
    const auto name = library.find<const char*(int)>("nvmlErrorString");
    const char* text = name != nullptr ? name(status) : nullptr;
    return text != nullptr ? text : "";
}

/// Reads one device. A value is stored as "power" = "312.5"; if NVML does not give it, "?power" holds the
/// reason.
class DeviceReading {
  public:
    DeviceReading(const DriverLibrary& nvml, Device device, ProbeResult& result)
        : nvml_(nvml), device_(device), result_(result) {}

    bool has(const char* function) const { return nvml_.file().find<int()>(function) != nullptr; }
    /// Calls function(device, arguments…) and returns whether it succeeded. If not, stores the reason under
    /// each key.
    template <class... Arguments>
    bool ask(const std::vector<std::string>& keys, const char* function, Arguments... arguments) {
        const std::string why = problem(function, arguments...);
        if (why.empty())
            return true;
        for (const std::string& key : keys)
            result_.values["?" + key] = why;
        return false;
    }
    template <class T>
    void enter(const std::string& key, T value) {
        result_.values[key] = fmt::format("{}", value);
    }
    /// Stores the unsigned number that `function` returns, divided by `unit`.
    void number(const std::string& key, const char* function, double unit = 1) {
        unsigned value = 0;
        if (ask({key}, function, &value))
            enter(key, value / unit);
    }
    void clock(const std::string& key, int domain) {
        unsigned value = 0;
        if (ask({key}, "nvmlDeviceGetClockInfo", domain, &value))
            enter(key, value);
    }
    /// Stores the processes that `function` lists, with the bytes of GPU memory that each holds; 0 if
    /// unknown.
    void processes(const char* function) {
        std::array<Process, 256> list{};
        unsigned count = list.size();
        if (!ask({"processes"}, function, &count, list.data()))
            return;
        for (unsigned i = 0; i < std::min<std::size_t>(count, list.size()); ++i)
            enter(fmt::format("process {}", list[i].pid),
                  list[i].memory == not_available ? 0 : list[i].memory);
    }

  private:
    template <class... Arguments>
    std::string problem(const char* function, Arguments... arguments) const {
        if (!has(function))
            return fmt::format("this NVML has no {}", function);
        const int status = nvml_.status_of(function, device_, arguments...);
        return status == 0 ? "" : fmt::format("{}: {}", function, nvml_.text_of(status));
    }

    const DriverLibrary& nvml_;
    Device device_;
    ProbeResult& result_;
};

/// "00000000:1B:00.0" → "0000:1b:00.0".
std::string kernel_address(const PciInfo& pci) {
    return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

void read_memory(DeviceReading& reading) {
    Memory2 newer;
    Memory older{};
    if (reading.has("nvmlDeviceGetMemoryInfo_v2")) {
        if (!reading.ask({"memory_used", "memory_total"}, "nvmlDeviceGetMemoryInfo_v2", &newer))
            return;
        older = {newer.total, newer.free, newer.used};
    } else if (!reading.ask({"memory_used", "memory_total"}, "nvmlDeviceGetMemoryInfo", &older)) {
        return;
    }
    reading.enter("memory_used", older.used);
    reading.enter("memory_total", older.total);
}

void read_values(DeviceReading& reading) {
    Utilization utilization{};
    if (reading.ask({"load"}, "nvmlDeviceGetUtilizationRates", &utilization))
        reading.enter("load", utilization.gpu);
    read_memory(reading);
    unsigned temperature = 0;
    constexpr int gpu_sensor = 0;
    if (reading.ask({"temperature"}, "nvmlDeviceGetTemperature", gpu_sensor, &temperature))
        reading.enter("temperature", temperature);
    reading.number("power", "nvmlDeviceGetPowerUsage", 1e3);
    reading.number("power_limit", "nvmlDeviceGetEnforcedPowerLimit", 1e3);
    constexpr int graphics_clock = 0;
    constexpr int memory_clock = 2;
    reading.clock("core_clock", graphics_clock);
    reading.clock("memory_clock", memory_clock);
    unsigned long long reasons = 0;
    if (reading.ask({"throttling"}, "nvmlDeviceGetCurrentClocksThrottleReasons", &reasons))
        reading.enter("throttling", reasons);
    unsigned long long errors = 0;
    constexpr int uncorrected = 1;
    constexpr int since_loaded = 0;
    if (reading.ask({"memory_errors"}, "nvmlDeviceGetTotalEccErrors", uncorrected, since_loaded, &errors))
        reading.enter("memory_errors", errors);
    reading.number("pcie_replays", "nvmlDeviceGetPcieReplayCounter");
}

ProbeResult read_device(const DriverLibrary& nvml, unsigned index, const ProbeReport& report) {
    Device device = nullptr;
    nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device);
    PciInfo pci{};
    ProbeResult result = report.result(fmt::format("nvml:{}", index));
    DeviceReading reading(nvml, device, result);
    if (reading.ask({"address"}, "nvmlDeviceGetPciInfo_v3", &pci))
        result.device = kernel_address(pci);
    std::array<char, 96> name{};
    if (reading.ask({"name"}, "nvmlDeviceGetName", name.data(), static_cast<unsigned>(name.size() - 1)))
        result.values["name"] = name.data();
    read_values(reading);
    reading.processes("nvmlDeviceGetComputeRunningProcesses_v3");
    reading.processes("nvmlDeviceGetGraphicsRunningProcesses_v3");
    return result;
}

/// If the device cannot be opened, its result holds only the reason ("?"), so that the other GPUs are still
/// read.
ProbeResult read_device_or_reason(const DriverLibrary& nvml, unsigned index, const ProbeReport& report) {
    try {
        return read_device(nvml, index, report);
    } catch (const CallFailed& failure) {
        ProbeResult result = report.result(fmt::format("nvml:{}", index));
        result.values["?"] = fmt::format("{}: {}", failure.what(), failure.code());
        return result;
    }
}

} // namespace

void probe_nvml_readings(const ProbeRequest& request, const ProbeReport& report) {
    const std::string library = request.first("library");
    const std::vector<std::string> names{library.empty() ? "libnvidia-ml.so.1" : library};
    report.at("loading " + names.front());
    const std::vector<std::string> folders{"/usr/lib/wsl/lib"};
    const DriverLibrary nvml(SharedLibrary::open(names, folders), report, nvml_name);
    if (!nvml.file())
        return report.skipped(report.result(), nvml.file().problem());
    try {
        nvml.call("nvmlInit_v2");
        for (;;) {
            unsigned count = 0;
            nvml.call("nvmlDeviceGetCount_v2", &count);
            for (unsigned index = 0; index < std::min(count, 64U); ++index)
                report.passed(read_device_or_reason(nvml, index, report));
            report.passed(report.result()); // ends the sample
            std::this_thread::sleep_for(std::chrono::milliseconds(std::max(50, request.number("interval"))));
        }
    } catch (const CallFailed& failure) {
        report.failed(report.result(), failure.what(), failure.code());
    }
}

} // namespace rekindle::doctor
