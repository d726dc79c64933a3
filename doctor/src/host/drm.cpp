#include "collectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

struct GcVersion {
    int major, minor, revision;
    friend bool operator==(const GcVersion&, const GcVersion&) = default;
};
struct GcTarget {
    GcVersion version;
    const char* gfx;
};
constexpr std::array gc_targets{
    GcTarget{{9, 0, 1}, "gfx900"},   GcTarget{{9, 1, 0}, "gfx902"},   GcTarget{{9, 2, 2}, "gfx902"},
    GcTarget{{9, 2, 1}, "gfx904"},   GcTarget{{9, 3, 0}, "gfx90c"},   GcTarget{{9, 4, 0}, "gfx906"},
    GcTarget{{9, 4, 1}, "gfx908"},   GcTarget{{9, 4, 2}, "gfx90a"},   GcTarget{{9, 4, 3}, "gfx942"},
    GcTarget{{9, 4, 4}, "gfx942"},   GcTarget{{9, 5, 0}, "gfx950"},   GcTarget{{10, 1, 10}, "gfx1010"},
    GcTarget{{10, 1, 2}, "gfx1011"}, GcTarget{{10, 1, 1}, "gfx1012"}, GcTarget{{10, 1, 3}, "gfx1013"},
    GcTarget{{10, 1, 4}, "gfx1013"}, GcTarget{{10, 3, 0}, "gfx1030"}, GcTarget{{10, 3, 2}, "gfx1031"},
    GcTarget{{10, 3, 4}, "gfx1032"}, GcTarget{{10, 3, 1}, "gfx1033"}, GcTarget{{10, 3, 5}, "gfx1034"},
    GcTarget{{10, 3, 3}, "gfx1035"}, GcTarget{{10, 3, 6}, "gfx1036"}, GcTarget{{10, 3, 7}, "gfx1036"},
    GcTarget{{11, 0, 0}, "gfx1100"}, GcTarget{{11, 0, 3}, "gfx1101"}, GcTarget{{11, 0, 2}, "gfx1102"},
    GcTarget{{11, 0, 1}, "gfx1103"}, GcTarget{{11, 0, 4}, "gfx1103"}, GcTarget{{11, 5, 0}, "gfx1150"},
    GcTarget{{11, 5, 1}, "gfx1151"}, GcTarget{{11, 5, 2}, "gfx1152"}, GcTarget{{11, 5, 3}, "gfx1153"},
    GcTarget{{12, 0, 0}, "gfx1200"}, GcTarget{{12, 0, 1}, "gfx1201"}};

Fact<std::string> gfx_from_discovery(HostFiles& files, const std::string& folder) {
    const std::string block = folder + "/ip_discovery/die/0/GC/0";
    const Fact<int> major = files.number<int>(block + "/major");
    if (!major)
        return Fact<std::string>::failed(major.unread, block);
    const int minor = files.number<int>(block + "/minor").value_or(-1);
    const int revision = files.number<int>(block + "/revision").value_or(-1);
    const std::string gfx = gfx_of_gc_version(*major, minor, revision);
    if (gfx.empty())
        return Fact<std::string>::failed(fmt::format("GC {}.{}.{} is unknown", *major, minor, revision),
                                         block);
    return {gfx, block};
}

/// Metrics of the power firmware: layouts 2 and 3 are those of integrated GPUs, layout 1 that of discrete
/// GPUs. Source: Linux, kgd_pp_interface.h (gpu_metrics_v1_*: dGPU, v2_* and v3_*: APU).
Fact<bool> integrated_by_metrics(HostFiles& files, const std::string& folder) {
    return derive<bool>(files.read_part(folder + "/gpu_metrics", 0, 4),
                        [](const std::string& head) -> std::optional<bool> {
                            if (head.size() < 4 || head[2] < 1 || head[2] > 3)
                                return std::nullopt;
                            return head[2] != 1;
                        });
}

void read_nodes(HostFiles& files, const std::string& folder, Gpu& gpu) {
    const Fact<std::vector<FolderEntry>> nodes = files.list(folder + "/drm");
    if (!nodes) {
        gpu.card_node = gpu.render_node = Fact<std::string>::failed(nodes.unread, nodes.source);
        return;
    }
    for (const FolderEntry& entry : *nodes) {
        if (entry.name.starts_with("card") && !gpu.card_node)
            gpu.card_node = {"/dev/dri/" + entry.name, nodes.source};
        else if (entry.name.starts_with("renderD") && !gpu.render_node)
            gpu.render_node = {"/dev/dri/" + entry.name, nodes.source};
    }
}

void read_memory(HostFiles& files, const std::string& folder, Gpu& gpu) {
    const auto bytes = [&](const char* name) { return files.number<std::uint64_t>(folder + "/" + name); };
    gpu.vram_total = bytes("mem_info_vram_total");
    gpu.vram_used = bytes("mem_info_vram_used");
    gpu.visible_vram_total = bytes("mem_info_vis_vram_total");
    gpu.gtt_total = bytes("mem_info_gtt_total");
    gpu.gtt_used = bytes("mem_info_gtt_used");
}

void read_temperature(HostFiles& files, const std::string& folder, Gpu& gpu) {
    for (const std::string& name : files.names(folder + "/hwmon")) {
        const Fact<int> millidegrees =
            files.number<int>(fmt::format("{}/hwmon/{}/temp1_input", folder, name));
        gpu.temperature =
            derive<double>(millidegrees, [](int value) { return std::optional(value / 1000.0); });
        if (gpu.temperature)
            return;
    }
}

void read_amdgpu(HostFiles& files, const std::string& folder, Gpu& gpu) {
    read_memory(files, folder, gpu);
    read_temperature(files, folder, gpu);
    gpu.gfx = gfx_from_discovery(files, folder);
    gpu.busy_percent = files.number<int>(folder + "/gpu_busy_percent");
    if (const Fact<int> firmware = files.number<int>(folder + "/fw_version/mes_fw_version", 16);
        firmware.is(0))
        gpu.mes_firmware = {}; // a chip without MES
    else
        gpu.mes_firmware = firmware;
    if (const Fact<std::string> name = files.line(folder + "/product_name"); name.known())
        gpu.name = name; // only some boards store their name
    const Fact<std::uint64_t> unique = files.number<std::uint64_t>(folder + "/unique_id", 16);
    if (unique.known() && *unique != 0)
        gpu.uuid = {fmt::format("GPU-{:016x}", *unique), unique.source};
    if (!gpu.integrated)
        gpu.integrated = integrated_by_metrics(files, folder);
}

} // namespace

std::string gfx_of_gc_version(int major, int minor, int revision) {
    const auto found = std::find_if(gc_targets.begin(), gc_targets.end(), [&](const GcTarget& target) {
        return target.version == GcVersion{major, minor, revision};
    });
    return found == gc_targets.end() ? "" : found->gfx;
}

void read_drm(HostFiles& files, std::vector<Gpu>& gpus) {
    for (Gpu& gpu : gpus) {
        const std::string folder = pci_folder(gpu.address);
        read_nodes(files, folder, gpu);
        if (gpu.kernel_driver.is("amdgpu"))
            read_amdgpu(files, folder, gpu);
    }
}

} // namespace rekindle::doctor
