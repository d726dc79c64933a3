#pragma once
/// The parts of collect_facts, one file each. All read through HostFiles and judge nothing; a fact that
/// cannot be read says why. GPUs are found on the PCI bus first; the other collectors add what they know
/// about the same GPU.

#include "host_files.h"

#include <rekindle/doctor/facts.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

class LibrarySearch;

using Variables = std::map<std::string, std::string>;

inline bool mentions(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// environment.cpp: all variables of this process, of `pid`, or of a recorded host (/proc/self/environ as a
/// plain file).
Fact<Variables> read_variables(HostFiles& files, std::int64_t pid);
/// The variables that affect GPU software, and those that decide which libraries are loaded.
ProcessEnvironment steering_variables(const Fact<Variables>& all);

/// "/proc/PID" of this process; "/proc/self" for a recorded host, where the recording has it as a folder;
/// else "".
std::string own_process_folder(HostFiles& files);

/// system.cpp: operating system, kernel, CPU, memory, limits, IOMMU.
void read_system(HostFiles& files, System& system);
/// surroundings.cpp: hypervisor, WSL, container.
void read_surroundings(HostFiles& files, const Variables& variables, System& system);
/// permissions.cpp: the user, groups of this process and of the account, device nodes in /dev.
void read_user(HostFiles& files, System& system);
void read_device_nodes(HostFiles& files, const std::vector<Gpu>& gpus, System& system);

/// pci.cpp: display and compute devices on the PCI bus, in the order of their addresses, with links and
/// bridges.
std::vector<Gpu> read_pci_gpus(HostFiles& files);
/// "/sys/bus/pci/devices/0000:03:00.0".
std::string pci_folder(std::string_view address);
/// drm.cpp: what the kernel's graphics driver reports for each GPU.
void read_drm(HostFiles& files, std::vector<Gpu>& gpus);
/// "gfx1036" for the version of the GC block (10.3.6); "" when it is unknown. Source: B.1 of the targets
/// that Linux' amdgpu and amdkfd name, 6.12.
std::string gfx_of_gc_version(int major, int minor, int revision);

/// KFD's ids of the GPUs, for its per-process files: address → gpu_id.
using KfdIds = std::map<std::string, std::uint64_t>;
/// kfd.cpp: what ROCm's kernel driver reports; GPUs that only KFD shows are added.
KfdIds read_kfd(HostFiles& files, Facts& facts);

/// "key value" lines of KFD's properties files. Lines of any other form are skipped.
std::map<std::string, std::uint64_t> parse_kfd_properties(std::string_view text);

/// AtomicOps and ACS capabilities in config space.
struct PciConfig {
    Fact<bool> routes_atomics; ///< DevCap2 bit 6
    Fact<bool> acs_redirects;  ///< ACS control bit 2
};
/// `bytes`: config space as sysfs returns it, 64 bytes without root, 4096 with. Facts name `source`.
PciConfig parse_pci_config(std::string_view bytes, const std::string& source);

/// modules.cpp: kernel modules with their parameters, modprobe.d, dkms, firmware.
void read_drivers(HostFiles& files, const std::vector<Gpu>& gpus, Drivers& drivers);
/// Lines about GPU modules (options, blacklist, install, softdep) as "path:line: text".
std::vector<std::string> parse_modprobe(std::string_view text, std::string_view path);

/// kernel_log.cpp: the ring buffer, or else the logs in /var/log since the last boot.
void read_kernel_log(HostFiles& files, const std::vector<Gpu>& gpus, KernelLog& log);
/// Records of /dev/kmsg as dmesg prints them: "[    5.678901] text".
std::vector<std::string> parse_kernel_records(std::string_view records);
/// The last 2000 lines that name a GPU driver, a GPU or one of its bridges, or a process that was killed.
std::vector<std::string> graphics_lines(const std::vector<std::string>& lines, const std::vector<Gpu>& gpus);

/// rocm.cpp: installations, linker paths, tools, package sources.
void read_rocm(HostFiles& files, const Variables& variables, RocmUserSpace& rocm);

/// How long a DRM client has used an engine. i915 counts nanoseconds, xe counts cycles.
/// Source: Linux, Documentation/gpu/drm-usage-stats.rst.
struct EngineUse {
    std::uint64_t busy = 0;  ///< nanoseconds if `total` is 0, else cycles
    std::uint64_t total = 0; ///< cycles that the engine has run for all clients and while idle; 0 if unknown
};
/// GPU address → (client, engine) → use.
using EngineUses = std::map<std::string, std::map<std::pair<std::uint64_t, std::string>, EngineUse>>;

/// holders.cpp: finds the processes that hold GPU memory in KFD's and DRM's files for each process. If `uses`
/// is not null, adds how long each DRM client has used the engines.
void read_holders(HostFiles& files, const KfdIds& ids, Facts& facts, EngineUses* uses = nullptr);
/// A DRM client of a process, from /proc/PID/fdinfo/N.
struct DrmClient {
    std::string address; ///< "" when it is not a DRM client
    std::uint64_t id = 0;
    std::uint64_t vram = 0;
    std::uint64_t gtt = 0;
    std::map<std::string, EngineUse> engines;
};
DrmClient parse_fdinfo(std::string_view text);

/// nvidia.cpp: versions of NVIDIA's module and libraries, names and UUIDs of its GPUs.
void read_nvidia(HostFiles& files, LibrarySearch& libraries, Facts& facts);
/// "550.90.07" in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 …"; "" when there
/// is none.
std::string nvidia_version(std::string_view text);
/// "12.4" for driver 550.90.07; unread for an unknown driver branch.
Fact<std::string> newest_cuda(const Fact<std::string>& driver);

/// vulkan.cpp: the loader, driver manifests in its order, what their libraries lack, implicit layers that
/// would load.
void read_vulkan(HostFiles& files, LibrarySearch& libraries, const Variables& variables, Vulkan& vulkan);
struct VulkanManifest {
    std::string library; ///< a soname, or a path, absolute or relative to the manifest
    std::string api_version;
};
std::optional<VulkanManifest> parse_vulkan_driver(std::string_view text);
struct VulkanLayer {
    std::string name;
    Variables enable;  ///< loads only where all have these values
    Variables disable; ///< does not load where one is set
};
std::vector<VulkanLayer> parse_vulkan_layers(std::string_view text);

} // namespace rekindle::doctor
