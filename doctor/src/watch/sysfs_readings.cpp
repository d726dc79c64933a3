#include "watch/sysfs_readings.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace rekindle::doctor {

namespace {

using Clock = std::chrono::steady_clock;

/// The number in the file, divided by `unit`.
Fact<double> scaled(HostFiles& files, const std::string& path, double unit) {
    return derive<double>(files.number<std::int64_t>(path),
                          [unit](std::int64_t value) { return std::optional(double(value) / unit); });
}

/// The number in the first file that can be read. If none can, reports why the first one failed.
Fact<double> scaled_first(HostFiles& files, const std::vector<std::string>& paths, double unit) {
    Fact<double> first;
    for (const std::string& path : paths) {
        Fact<double> one = scaled(files, path, unit);
        if (one)
            return one;
        if (first.unread.empty())
            first = std::move(one);
    }
    return first;
}

/// The device's hwmon folder; "" if it has none.
std::string hwmon_of(HostFiles& files, const std::string& folder) {
    for (const std::string& name : files.names(folder + "/hwmon"))
        if (name.starts_with("hwmon"))
            return fmt::format("{}/hwmon/{}", folder, name);
    return "";
}

/// The temperature of the sensor with this label ("edge", "junction", "pkg").
Fact<double> temperature_labeled(HostFiles& files, const std::string& hwmon, std::string_view label) {
    for (int i = 1; i <= 4; ++i) {
        const std::string file = fmt::format("{}/temp{}", hwmon, i);
        if (files.line(file + "_label").is(std::string(label)))
            return scaled(files, file + "_input", 1e3);
    }
    return Fact<double>::failed(fmt::format("the driver has no sensor \"{}\"", label), hwmon);
}

struct ThrottleBit {
    int first, last; ///< bits of indep_throttle_status
    const char* reason;
};
/// Source: Linux, drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h (SMU_THROTTLER_*_BIT).
constexpr std::array throttle_bits{ThrottleBit{0, 7, "power"},
                                   ThrottleBit{16, 22, "current"},
                                   ThrottleBit{23, 23, "voltage"},
                                   ThrottleBit{32, 37, "temperature"},
                                   ThrottleBit{38, 41, "voltage regulator temperature"},
                                   ThrottleBit{42, 45, "temperature"},
                                   ThrottleBit{46, 47, "processor hot signal"},
                                   ThrottleBit{56, 57, "reliability"}};

Fact<std::uint64_t> ras_errors(HostFiles& files, const std::string& folder) {
    return derive<std::uint64_t>(files.read(folder + "/ras/umc_err_count"),
                                 [](const std::string& text) -> std::optional<std::uint64_t> {
                                     for (const std::string_view line : split(text, '\n'))
                                         if (line.starts_with("ue:")) // codespell:ignore
                                             return parse_number<std::uint64_t>(trim(line.substr(3)));
                                     return std::nullopt;
                                 });
}

Fact<double> dpm_clock(HostFiles& files, const std::string& hwmon_file, const std::string& dpm_file) {
    const Fact<double> exact = scaled(files, hwmon_file, 1e6);
    return exact ? exact : derive<double>(files.read(dpm_file), [](const std::string& text) {
        return active_clock(text);
    });
}

void read_amdgpu(HostFiles& files, const std::string& folder, GpuReading& reading) {
    const std::string hwmon = hwmon_of(files, folder);
    reading.load = scaled(files, folder + "/gpu_busy_percent", 1);
    reading.memory_used = files.number<std::uint64_t>(folder + "/mem_info_vram_used");
    reading.memory_total = files.number<std::uint64_t>(folder + "/mem_info_vram_total");
    reading.temperature = scaled(files, hwmon + "/temp1_input", 1e3);
    reading.hotspot_temperature = temperature_labeled(files, hwmon, "junction");
    reading.power = scaled_first(files, {hwmon + "/power1_average", hwmon + "/power1_input"}, 1e6);
    reading.power_limit = scaled(files, hwmon + "/power1_cap", 1e6);
    reading.core_clock = dpm_clock(files, hwmon + "/freq1_input", folder + "/pp_dpm_sclk");
    reading.memory_clock = dpm_clock(files, hwmon + "/freq2_input", folder + "/pp_dpm_mclk");
    const std::string metrics = folder + "/gpu_metrics";
    const Fact<std::string> bytes = files.read_part(metrics, 0, 4096);
    reading.throttling = bytes ? throttling_of_metrics(*bytes, metrics)
                               : Fact<std::vector<std::string>>::failed(bytes.unread, metrics);
    reading.memory_errors = ras_errors(files, folder);
    reading.pcie_replays = files.number<std::uint64_t>(folder + "/pcie_replay_count");
}

/// xe and i915 have one file for each reason, named `prefix` plus the reason, which contains 1 while the
/// reason applies.
Fact<std::vector<std::string>> intel_throttling(HostFiles& files, const std::string& folder,
                                                std::string_view prefix) {
    const auto entries = files.list(folder);
    if (!entries)
        return Fact<std::vector<std::string>>::failed(entries.unread, folder);
    std::vector<std::string> reasons;
    bool any = false;
    for (const FolderEntry& entry : *entries) {
        if (!entry.name.starts_with(prefix))
            continue;
        any = true;
        const std::string reason = entry.name.substr(prefix.size());
        if (reason != "status" && files.number<int>(fmt::format("{}/{}", folder, entry.name)).is(1))
            reasons.push_back(reason);
    }
    if (!any)
        return Fact<std::vector<std::string>>::failed("the driver reports no reasons", folder);
    return {reasons, folder};
}

Fact<double> power_from_energy(HostFiles& files, const std::string& hwmon, double seconds,
                               EarlierReading& earlier) {
    const Fact<double> energy = scaled(files, hwmon + "/energy1_input", 1);
    const std::optional<double> before = std::exchange(earlier.energy, energy.value);
    if (!energy)
        return energy;
    if (!files.live() || !before)
        return Fact<double>::failed(needs_two_readings, energy.source);
    return {std::max(0.0, *energy - *before) / 1e6 / seconds, energy.source};
}

void read_intel(HostFiles& files, const Gpu& gpu, double seconds, EarlierReading& earlier,
                GpuReading& reading) {
    const std::string folder = pci_folder(gpu.address);
    const std::string hwmon = hwmon_of(files, folder);
    const std::string card = gpu.card_node.value_or("/dev/dri/card0").substr(9);
    const std::string gt = fmt::format("{}/drm/{}/gt/gt0", folder, card);
    const std::string frequency = folder + "/tile0/gt0/freq0";
    const bool xe = gpu.kernel_driver.is("xe");
    reading.memory_used = Fact<std::uint64_t>::failed("the driver reports memory of processes only", folder);
    reading.memory_total = Fact<std::uint64_t>::failed("the driver does not report it", folder);
    reading.temperature =
        xe ? temperature_labeled(files, hwmon, "pkg") : scaled(files, hwmon + "/temp1_input", 1e3);
    reading.power = power_from_energy(files, hwmon, seconds, earlier);
    reading.power_limit = scaled(files, hwmon + "/power1_max", 1e6);
    reading.core_clock = scaled_first(files,
                                      {xe ? frequency + "/act_freq" : gt + "/rps_act_freq_mhz",
                                       fmt::format("{}/drm/{}/gt_act_freq_mhz", folder, card)},
                                      1);
    reading.throttling = xe ? intel_throttling(files, frequency + "/throttle", "reason_")
                            : intel_throttling(files, gt, "throttle_reason_");
}

/// The load in percent between two readings: that of the busiest engine, summed over the engine's clients.
std::optional<double> busiest(const std::map<std::pair<std::uint64_t, std::string>, EngineUse>& before,
                              const std::map<std::pair<std::uint64_t, std::string>, EngineUse>& now,
                              double seconds) {
    std::map<std::string, double> shares;
    for (const auto& [key, use] : now) {
        const auto earlier = before.find(key);
        const EngineUse first = earlier == before.end() ? EngineUse{} : earlier->second;
        const double busy = use.busy < first.busy ? 0 : double(use.busy - first.busy);
        double& share = shares[key.second];
        if (use.total == 0)
            share += busy / (seconds * 1e9);
        else if (use.total > first.total && first.total != 0)
            share += busy / double(use.total - first.total);
    }
    double highest = 0;
    for (const auto& [engine, share] : shares)
        highest = std::max(highest, share);
    return std::min(100.0, highest * 100);
}

Fact<double> load_from_clients(HostFiles& files, const Gpu& gpu, const EngineUses& uses, bool first,
                               double seconds, EarlierReading& earlier) {
    const std::string source = "/proc/*/fdinfo";
    const auto found = uses.find(gpu.address);
    const auto before =
        std::exchange(earlier.engines, found == uses.end() ? decltype(earlier.engines){} : found->second);
    if (!files.live() || first)
        return Fact<double>::failed(needs_two_readings, source);
    if (earlier.engines.empty())
        return Fact<double>::failed("no visible process uses the GPU", source);
    return derive<double>(Fact<int>(0, source),
                          [&](int) { return busiest(before, earlier.engines, seconds); });
}

} // namespace

Fact<std::vector<std::string>> throttling_of_metrics(std::string_view bytes, const std::string& source) {
    using Reasons = Fact<std::vector<std::string>>;
    if (bytes.size() < 4)
        return Reasons::failed("shorter than its header", source);
    const int format = static_cast<unsigned char>(bytes[2]);
    const int content = static_cast<unsigned char>(bytes[3]);
    const std::size_t offset = format == 1 && content == 3                   ? 112
                               : format == 2 && content >= 2 && content <= 4 ? 120
                                                                             : 0;
    if (offset == 0)
        return Reasons::failed(
            fmt::format("in layout {}.{} the meaning of the bits depends on the GPU", format, content),
            source);
    if (bytes.size() < offset + sizeof(std::uint64_t))
        return Reasons::failed("shorter than its layout", source);
    std::uint64_t status = 0;
    std::memcpy(&status, bytes.data() + offset, sizeof status); // the file and the host are little-endian
    if (status == ~std::uint64_t{0})
        return Reasons::failed("the firmware does not report it", source);
    std::vector<std::string> reasons;
    for (const ThrottleBit& bit : throttle_bits)
        for (int i = bit.first; i <= bit.last; ++i)
            if ((status >> i & 1) != 0 && std::ranges::find(reasons, bit.reason) == reasons.end())
                reasons.emplace_back(bit.reason);
    return {reasons, source};
}

std::optional<double> active_clock(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
        const std::string_view trimmed = trim(line);
        const std::size_t colon = trimmed.find(':');
        if (!trimmed.ends_with('*') || colon == std::string_view::npos)
            continue;
        const std::string_view value = trim(trimmed.substr(colon + 1));
        return parse_number<std::int64_t>(value.substr(0, value.find_first_not_of("0123456789")));
    }
    return std::nullopt;
}

void read_from_files(HostFiles& files, const Gpu& gpu, const EngineUses& uses, EarlierReading& earlier,
                     GpuReading& reading) {
    const Clock::time_point now = Clock::now();
    const bool first = earlier.when == Clock::time_point{};
    const double seconds =
        std::max(1e-3, std::chrono::duration<double>(now - std::exchange(earlier.when, now)).count());
    const Fact<double> load = load_from_clients(files, gpu, uses, first, seconds, earlier);
    if (gpu.kernel_driver.is("amdgpu"))
        read_amdgpu(files, pci_folder(gpu.address), reading);
    else if (gpu.kernel_driver.is("i915") || gpu.kernel_driver.is("xe"))
        read_intel(files, gpu, seconds, earlier, reading);
    if (!reading.load && gpu.vendor == "intel")
        reading.load = load;
}

} // namespace rekindle::doctor
