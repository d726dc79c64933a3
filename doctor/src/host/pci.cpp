#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace rekindle::doctor {

namespace {

constexpr unsigned vendor_amd = 0x1002, vendor_amd_cpu = 0x1022, vendor_nvidia = 0x10de,
                   vendor_intel = 0x8086;
constexpr unsigned class_display = 0x03, class_accelerator = 0x12;

std::string vendor_name(unsigned vendor) {
    switch (vendor) {
    case vendor_amd:
        return "amd";
    case vendor_nvidia:
        return "nvidia";
    case vendor_intel:
        return "intel";
    default:
        return "other";
    }
}

bool is_address(std::string_view text) { // "0000:03:00.0"
    constexpr std::string_view form = "hhhh:hh:hh.h";
    const auto fits = [](char c, char shape) {
        return shape == 'h' ? std::string_view("0123456789abcdef").find(c) != std::string_view::npos
                            : c == shape;
    };
    return text.size() == form.size() && std::equal(text.begin(), text.end(), form.begin(), fits);
}

/// Two of sysfs' hexadecimal files as "1002:744c".
Fact<std::string> id_pair(HostFiles& files, const std::string& folder, const char* first,
                          const char* second) {
    const Fact<unsigned> vendor = files.number<unsigned>(folder + "/" + first, 16);
    const Fact<unsigned> device = files.number<unsigned>(folder + "/" + second, 16);
    if (!vendor || !device) {
        const Fact<unsigned>& missing = vendor ? device : vendor;
        return Fact<std::string>::failed(missing.unread, missing.source);
    }
    return {fmt::format("{:04x}:{:04x}", *vendor, *device), device.source};
}

/// "16.0 GT/s PCIe" → 16.
std::optional<double> speed_of(const std::string& text) {
    double speed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    return error == std::errc{} ? std::optional(speed) : std::nullopt;
}

Fact<PciLink> read_link(HostFiles& files, const std::string& folder) {
    PciLink link;
    const auto speed = [&](const char* name) {
        return derive<double>(files.line(folder + "/" + name), speed_of);
    };
    const Fact<double> now = speed("current_link_speed");
    const Fact<int> width = files.number<int>(folder + "/current_link_width");
    if (!now || !width)
        return Fact<PciLink>::failed(now ? width.unread : now.unread, now ? width.source : now.source);
    link.speed = *now;
    link.width = *width;
    link.max_speed = speed("max_link_speed").value_or(0);
    link.max_width = files.number<int>(folder + "/max_link_width").value_or(0);
    return {link, folder};
}

PciBridge read_bridge(HostFiles& files, const std::string& address) {
    const std::string folder = pci_folder(address);
    PciBridge bridge;
    bridge.address = address;
    bridge.link = read_link(files, folder);
    const Fact<std::string> config = files.read_part(folder + "/config", 0, 4096);
    if (config) {
        PciConfig parsed = parse_pci_config(*config, config.source);
        bridge.routes_atomics = std::move(parsed.routes_atomics);
        bridge.acs_redirects = std::move(parsed.acs_redirects);
    } else {
        bridge.routes_atomics = Fact<bool>::failed(config.unread, config.source);
        bridge.acs_redirects = bridge.routes_atomics;
    }
    return bridge;
}

/// The devices above this one in its path in /sys/devices, nearest first.
std::vector<PciBridge> read_bridges(HostFiles& files, const std::string& folder) {
    std::vector<PciBridge> bridges;
    const std::string path = files.resolve(folder).value_or("");
    if (!path.starts_with("/sys/devices/"))
        return bridges;
    std::vector<std::string_view> parts = split(path, '/');
    parts.pop_back();
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
        if (is_address(*part))
            bridges.push_back(read_bridge(files, std::string(*part)));
    return bridges;
}

/// An integrated GPU shares its PCI slot with other parts of the CPU (its security processor, USB); a
/// discrete GPU shares its slot only with functions of its own card.
void read_integrated(HostFiles& files, Gpu& gpu, const std::vector<std::string>& addresses) {
    const std::string slot = gpu.address.substr(0, gpu.address.rfind('.'));
    if (gpu.vendor == "intel") {
        gpu.integrated = {slot == "0000:00:02", pci_folder(gpu.address)};
        return;
    }
    if (gpu.vendor == "nvidia") {
        gpu.integrated = {false, pci_folder(gpu.address)}; // integrated ones are not on the PCI bus
        return;
    }
    if (gpu.vendor != "amd")
        return;
    for (const std::string& other : addresses) {
        if (other == gpu.address || !other.starts_with(slot))
            continue;
        const std::string file = pci_folder(other) + "/vendor";
        if (files.number<unsigned>(file, 16).is(vendor_amd_cpu))
            gpu.integrated = {true, file};
    }
}

Gpu read_gpu(HostFiles& files, const std::string& address, unsigned vendor) {
    const std::string folder = pci_folder(address);
    Gpu gpu;
    gpu.address = address;
    gpu.vendor = vendor_name(vendor);
    gpu.pci_id = id_pair(files, folder, "vendor", "device");
    gpu.subsystem = id_pair(files, folder, "subsystem_vendor", "subsystem_device");
    gpu.revision =
        derive<std::string>(files.number<unsigned>(folder + "/revision", 16),
                            [](unsigned revision) { return std::optional(fmt::format("{:02x}", revision)); });
    const Fact<std::string> driver = files.link(folder + "/driver");
    gpu.kernel_driver = driver.known()
                            ? Fact<std::string>(driver->substr(driver->rfind('/') + 1), driver.source)
                            : Fact<std::string>::failed("no driver is bound", driver.source);
    const Fact<int> boot = files.number<int>(folder + "/boot_vga");
    if (boot.known()) // only VGA controllers have the file
        gpu.boot_display = {*boot != 0, boot.source};
    gpu.link = read_link(files, folder);
    gpu.bridges = read_bridges(files, folder);
    if (const Fact<std::string> type = files.line(folder + "/iommu_group/type"); type.known())
        gpu.iommu_type = type; // without an IOMMU there is no group
    return gpu;
}

/// Little-endian numbers in config space; 0 beyond its end.
class ConfigSpace {
  public:
    explicit ConfigSpace(std::string_view bytes) : bytes_(bytes) {}
    unsigned byte(std::size_t at) const {
        return at < bytes_.size() ? static_cast<unsigned char>(bytes_[at]) : 0U;
    }
    unsigned word(std::size_t at) const { return byte(at) | byte(at + 1) << 8; }
    std::uint32_t dword(std::size_t at) const {
        return word(at) | static_cast<std::uint32_t>(word(at + 2)) << 16;
    }

    /// Position of a capability, 0 when there is none. Loops in the list end the search.
    std::size_t capability(unsigned id) const {
        std::size_t at = byte(0x34) & ~3U;
        for (int steps = 0; at >= 0x40 && steps < 48; ++steps) {
            if (byte(at) == id)
                return at;
            at = byte(at + 1) & ~3U;
        }
        return 0;
    }
    std::size_t extended_capability(unsigned id) const {
        std::size_t at = 0x100;
        for (int steps = 0; at >= 0x100 && steps < 480; ++steps) {
            const std::uint32_t head = dword(at);
            if (head == 0)
                return 0;
            if ((head & 0xffff) == id)
                return at;
            at = (head >> 20) & ~3U;
        }
        return 0;
    }

  private:
    std::string_view bytes_;
};

} // namespace

std::string pci_folder(std::string_view address) {
    return fmt::format("/sys/bus/pci/devices/{}", address);
}

PciConfig parse_pci_config(std::string_view bytes, const std::string& source) {
    constexpr std::size_t header = 64, ordinary = 256;
    constexpr unsigned express = 0x10, access_control = 0x0d;
    PciConfig config;
    if (bytes.size() < header || ConfigSpace(bytes).word(0) == 0xffff) {
        config.routes_atomics = config.acs_redirects =
            Fact<bool>::failed("the device does not respond", source);
        return config;
    }
    if (bytes.size() < ordinary) {
        config.routes_atomics = config.acs_redirects =
            Fact<bool>::failed("Permission denied: only root may read beyond the first 64 bytes", source);
        return config;
    }
    const ConfigSpace space(bytes);
    const std::size_t at = space.capability(express);
    const bool second_version = at != 0 && (space.word(at + 2) & 0xf) >= 2; // version 1 has no DevCap2
    config.routes_atomics = {second_version && (space.dword(at + 0x24) >> 6 & 1) != 0, source};
    if (bytes.size() <= ordinary) {
        config.acs_redirects = Fact<bool>::failed("there is no extended config space", source);
        return config;
    }
    const std::size_t control = space.extended_capability(access_control);
    config.acs_redirects = {control != 0 && (space.word(control + 6) >> 2 & 1) != 0, source};
    return config;
}

std::vector<Gpu> read_pci_gpus(HostFiles& files) {
    std::vector<Gpu> gpus;
    std::vector<std::string> addresses = files.names("/sys/bus/pci/devices");
    std::erase_if(addresses, [](const std::string& name) { return !is_address(name); });
    std::sort(addresses.begin(), addresses.end());
    for (const std::string& address : addresses) {
        const std::string folder = pci_folder(address);
        const unsigned base = files.number<unsigned>(folder + "/class", 16).value_or(0) >> 16;
        if (base != class_display && base != class_accelerator)
            continue;
        const unsigned vendor = files.number<unsigned>(folder + "/vendor", 16).value_or(0);
        if (base == class_accelerator && vendor != vendor_amd && vendor != vendor_nvidia)
            continue;
        gpus.push_back(read_gpu(files, address, vendor));
        read_integrated(files, gpus.back(), addresses);
    }
    return gpus;
}

} // namespace rekindle::doctor
