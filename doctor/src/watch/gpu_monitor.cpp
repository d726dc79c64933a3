#include "host/collectors.h"
#include "rules/host_view.h"
#include "watch/nvml_feed.h"
#include "watch/sysfs_readings.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/gpu_monitor.h>

#include <fmt/format.h>

#include <algorithm>
#include <re2/re2.h>
#include <set>

namespace rekindle::doctor {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_kernel_logs{5};

/// Whether a line of the kernel log reports a GPU error or a killed process.
bool tells_of_an_error(const std::string& line) {
    static const RE2 pattern(
        R"((?i)(NVRM: Xid|gpu reset|ring \S+ timeout|gpu hang|page fault|fallen off the bus|uncorrectable|\*ERROR\*|AER:.*error|out of memory: killed))");
    return RE2::PartialMatch(line, pattern);
}

/// Marks every value as unread for this reason.
void fail_all(GpuReading& reading, const std::string& reason) {
    const auto fail = [&]<class T>(Fact<T>& fact) { fact = Fact<T>::failed(reason, reading.address); };
    for (Fact<double>* fact :
         {&reading.load, &reading.temperature, &reading.hotspot_temperature, &reading.power,
          &reading.power_limit, &reading.core_clock, &reading.memory_clock})
        fail(*fact);
    for (Fact<std::uint64_t>* fact :
         {&reading.memory_used, &reading.memory_total, &reading.memory_errors, &reading.pcie_replays})
        fail(*fact);
    fail(reading.throttling);
}

} // namespace

class GpuMonitor::Reader {
  public:
    Reader(const MonitorOptions& options, const Knowledge& knowledge)
        : files_(options.root == "/" ? "/" : options.root.string()), knowledge_(knowledge) {
        facts_.gpus = read_pci_gpus(files_);
        read_drm(files_, facts_.gpus);
        kfd_ids_ = read_kfd(files_, facts_);
        read_user(files_, facts_.system);
        if (files_.live())
            nvml_.emplace(options);
        take_names();
        take_kernel_log();
    }

    MonitorSample read() {
        MonitorSample sample;
        EngineUses uses;
        for (Gpu& gpu : facts_.gpus)
            gpu.holders.clear();
        read_holders(files_, kfd_ids_, facts_, &uses);
        const std::vector<ProbeResult> nvml = nvml_ ? nvml_->newest() : std::vector<ProbeResult>{};
        add_gpus_of_nvml(nvml);
        for (const Gpu& gpu : facts_.gpus)
            sample.gpus.push_back(read_gpu(gpu, uses, nvml));
        if (Clock::now() - last_kernel_log_ >= between_kernel_logs)
            sample.new_errors = take_kernel_log();
        sample.limits = limits();
        return sample;
    }

  private:
    GpuReading read_gpu(const Gpu& gpu, const EngineUses& uses, const std::vector<ProbeResult>& nvml) {
        GpuReading reading{.address = gpu.address, .vendor = gpu.vendor, .name = names_[gpu.address]};
        fail_all(reading, gpu.kernel_driver ? fmt::format("{} does not report it", *gpu.kernel_driver)
                                            : "no kernel driver is bound to the GPU");
        reading.holders = gpu.holders;
        if (gpu.vendor == "nvidia")
            read_nvidia(gpu, nvml, reading);
        else
            read_from_files(files_, gpu, uses, earlier_[gpu.address], reading);
        for (MemoryHolder& holder : reading.holders)
            if (holder.command.empty())
                holder.command = files_.line(fmt::format("/proc/{}/comm", holder.pid)).value_or("");
        std::ranges::stable_sort(reading.holders, std::greater{}, &MemoryHolder::vram);
        return reading;
    }

    void read_nvidia(const Gpu& gpu, const std::vector<ProbeResult>& nvml, GpuReading& reading) {
        const auto found = std::ranges::find(nvml, gpu.address, &ProbeResult::device);
        const std::string problem = nvml_ ? nvml_->problem() : "NVML is not used for a recorded host";
        if (!problem.empty())
            fail_all(reading, problem);
        else if (found != nvml.end())
            read_from_nvml(*found, reading);
        else if (gpu.kernel_driver.is("nvidia"))
            fail_all(reading, "NVML does not list this GPU");
    }

    /// Adds the GPUs that NVML lists and the PCI bus does not: under WSL and in some containers, only NVML
    /// shows them.
    void add_gpus_of_nvml(const std::vector<ProbeResult>& nvml) {
        for (const ProbeResult& device : nvml) {
            if (device.device.starts_with("nvml:") ||
                std::ranges::find(facts_.gpus, device.device, &Gpu::address) != facts_.gpus.end())
                continue;
            Gpu gpu{.address = device.device, .vendor = "nvidia"};
            gpu.kernel_driver = {"nvidia", "NVML"};
            const auto name = device.values.find("name");
            names_[gpu.address] = name == device.values.end() ? "NVIDIA GPU" : name->second;
            facts_.gpus.push_back(std::move(gpu));
        }
    }

    void take_names() {
        const HostView view = view_of(facts_, {}, knowledge_);
        for (const Gpu& gpu : facts_.gpus)
            names_[gpu.address] = name_of(view, gpu);
    }

    /// Returns the error lines that are new since the previous call. The first call only remembers those that
    /// are there.
    std::vector<std::string> take_kernel_log() {
        const bool first = last_kernel_log_ == Clock::time_point{};
        last_kernel_log_ = Clock::now();
        KernelLog log;
        read_kernel_log(files_, facts_.gpus, log);
        kernel_log_problem_ = log.lines.unread;
        std::vector<std::string> fresh;
        for (const std::string& line : log.lines.value_or({}))
            if (tells_of_an_error(line) && known_errors_.insert(line).second && !first)
                fresh.push_back(line);
        return fresh;
    }

    std::vector<std::string> limits() const {
        std::vector<std::string> limits;
        if (facts_.gpus.empty())
            limits.emplace_back(nvml_ && !nvml_->absent()
                                    ? fmt::format("no GPU was found ({})", nvml_->problem())
                                    : "no GPU was found on the PCI bus, and NVIDIA's library NVML is not "
                                      "installed");
        if (!kernel_log_problem_.empty())
            limits.push_back(fmt::format("errors in the kernel log are not shown: {}", kernel_log_problem_));
        if (const int hidden = facts_.system.hidden_processes.value_or(0); hidden > 0 && has_fdinfo())
            limits.push_back(
                fmt::format("{} of other users: their GPU memory is not shown",
                            counted(static_cast<std::uint64_t>(hidden), "process", "processes")));
        return limits;
    }

    bool has_fdinfo() const {
        return std::ranges::any_of(facts_.gpus, [](const Gpu& gpu) { return gpu.vendor != "nvidia"; });
    }

    HostFiles files_;
    const Knowledge& knowledge_;
    Facts facts_; ///< only the GPUs, the processes that hold their memory, and the user
    KfdIds kfd_ids_;
    std::optional<NvmlFeed> nvml_;
    std::map<std::string, std::string> names_; ///< address → name
    std::map<std::string, EarlierReading> earlier_;
    Clock::time_point last_kernel_log_{};
    std::string kernel_log_problem_;
    std::set<std::string> known_errors_;
};

GpuMonitor::GpuMonitor(const MonitorOptions& options, const Knowledge& knowledge)
    : reader_(std::make_unique<Reader>(options, knowledge)) {}
GpuMonitor::~GpuMonitor() = default;

MonitorSample GpuMonitor::read() {
    return reader_->read();
}

} // namespace rekindle::doctor
