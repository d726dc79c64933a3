#pragma once
/// Makes small trees that look like a Linux host to collect_facts: the parts of /sys, /proc, /dev and /etc
/// that the tests need.

#include <rekindle/doctor/host.h>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <temporary_folder.h>

namespace rekindle::doctor::fixtures {

class HostTree {
  public:
    const std::filesystem::path& root() const { return folder_.path(); }

    std::filesystem::path make_parent(std::string_view path) const {
        const std::filesystem::path place = root() / std::filesystem::path(path).relative_path();
        std::filesystem::create_directories(place.parent_path());
        return place;
    }
    void file(std::string_view path, std::string_view content) const {
        std::ofstream(make_parent(path), std::ios::binary) << content;
    }
    void link(std::string_view path, std::string_view target) const {
        std::filesystem::create_symlink(target, make_parent(path));
    }
    void folder(std::string_view path) const { std::filesystem::create_directories(make_parent(path)); }

  private:
    rekindle::test::TemporaryFolder folder_;
};

/// One device on the PCI bus; its folder is where sysfs has it, below its bridges.
struct PciDevice {
    std::string address;
    unsigned vendor = 0x1002, device = 0, revision = 0, class_code = 0x030000;
    std::string parents; ///< "pci0000:00/0000:00:01.1"
    std::string driver = {};

    std::string folder() const { return fmt::format("/sys/devices/{}/{}", parents, address); }
};

inline void add_device(const HostTree& tree, const PciDevice& device) {
    const std::string folder = device.folder();
    tree.link("/sys/bus/pci/devices/" + device.address, "../../.." + folder.substr(4));
    tree.file(folder + "/vendor", fmt::format("{:#06x}\n", device.vendor));
    tree.file(folder + "/device", fmt::format("{:#06x}\n", device.device));
    tree.file(folder + "/subsystem_vendor", "0x1da2\n");
    tree.file(folder + "/subsystem_device", "0xe471\n");
    tree.file(folder + "/revision", fmt::format("{:#04x}\n", device.revision));
    tree.file(folder + "/class", fmt::format("{:#08x}\n", device.class_code));
    tree.file(folder + "/current_link_speed", "16.0 GT/s PCIe\n");
    tree.file(folder + "/current_link_width", "16\n");
    tree.file(folder + "/max_link_speed", "16.0 GT/s PCIe\n");
    tree.file(folder + "/max_link_width", "16\n");
    if (!device.driver.empty())
        tree.link(folder + "/driver", "../../../../bus/pci/drivers/" + device.driver);
}

/// The values that amdgpu and KFD show for a GPU.
struct AmdGpu {
    PciDevice pci;
    int minor = 0; ///< card<minor>, renderD<128 + minor>
    int node = 0;  ///< KFD's node number; 0: KFD does not list it
    std::uint64_t vram = 0, visible = 0;
    int gfx_version = 0; ///< 110000
    int units = 0;
    int gc_major = 0, gc_minor = 0, gc_revision = 0;
    int firmware = 0;
    int link_flags = 1;
};

inline void add_amd_gpu(const HostTree& tree, const AmdGpu& gpu) {
    add_device(tree, gpu.pci);
    const std::string folder = gpu.pci.folder();
    tree.folder(fmt::format("{}/drm/card{}", folder, gpu.minor));
    tree.folder(fmt::format("{}/drm/renderD{}", folder, 128 + gpu.minor));
    tree.file(folder + "/boot_vga", gpu.minor == 0 ? "1\n" : "0\n");
    tree.file(folder + "/mem_info_vram_total", fmt::format("{}\n", gpu.vram));
    tree.file(folder + "/mem_info_vram_used", "12582912\n");
    tree.file(folder + "/mem_info_vis_vram_total", fmt::format("{}\n", gpu.visible));
    tree.file(folder + "/mem_info_gtt_total", "33567866880\n");
    tree.file(folder + "/mem_info_gtt_used", "16777216\n");
    tree.file(folder + "/gpu_busy_percent", "3\n");
    tree.file(folder + "/hwmon/hwmon4/temp1_input", "41000\n");
    tree.file(folder + "/unique_id",
              fmt::format("{:x}\n", 0x6f1e2d3c4b5a6978ULL + static_cast<unsigned>(gpu.minor)));
    const std::string block = folder + "/ip_discovery/die/0/GC/0/";
    tree.file(block + "major", fmt::format("{}\n", gpu.gc_major));
    tree.file(block + "minor", fmt::format("{}\n", gpu.gc_minor));
    tree.file(block + "revision", fmt::format("{}\n", gpu.gc_revision));
    if (gpu.node == 0)
        return;
    const std::string node = fmt::format("/sys/class/kfd/kfd/topology/nodes/{}", gpu.node);
    unsigned bus = 0, slot = 0, function = 0;
    std::sscanf(gpu.pci.address.c_str(), "%*x:%x:%x.%x", &bus, &slot, &function);
    tree.file(node + "/gpu_id", fmt::format("{}\n", 33000 + gpu.node));
    tree.file(node + "/properties",
              fmt::format("cpu_cores_count 0\nsimd_count {}\nsimd_per_cu 2\nwave_front_size 32\n"
                          "gfx_target_version {}\nvendor_id 4098\ndevice_id {}\nlocation_id {}\ndomain 0\n"
                          "drm_render_minor {}\nfw_version {}\nunique_id 8007345678901234567\n",
                          gpu.units * 2, gpu.gfx_version, gpu.pci.device, bus << 8 | slot << 3 | function,
                          128 + gpu.minor, gpu.firmware));
    tree.file(node + "/mem_banks/0/properties", fmt::format("heap_type {}\nsize_in_bytes {}\nflags 0\n",
                                                            gpu.visible == gpu.vram ? 1 : 2, gpu.vram));
    tree.file(node + "/io_links/0/properties",
              fmt::format("type 2\nnode_from {}\nnode_to 0\nflags {}\n", gpu.node, gpu.link_flags));
}

/// The CPU's own KFD node and the empty folders that every Linux system has.
inline void add_processor(const HostTree& tree) {
    const std::string node = "/sys/class/kfd/kfd/topology/nodes/0";
    tree.file(node + "/gpu_id", "0\n");
    tree.file(node + "/properties", "cpu_cores_count 16\nsimd_count 0\nmem_banks_count 1\n");
}

/// The facts of this host, without those of Python environments.
inline Facts facts_of(const HostTree& tree) {
    return collect_facts({.root = tree.root(), .find_pythons = false});
}

} // namespace rekindle::doctor::fixtures
