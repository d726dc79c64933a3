#pragma once
/// The parts of collect_facts, one file each. All read through HostFiles and judge nothing; what cannot be
/// read is said in the fact. GPUs are found on the PCI bus first; the others add what they know of the same
/// card.

#include "host_files.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/host.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

using Variables = std::map<std::string, std::string>;

/// environment.cpp: all variables of this process, of `pid`, or of a recorded host (/proc/self/environ as a
/// plain file).
Fact<Variables> read_variables(HostFiles& files, std::int64_t pid);
/// Those that steer GPU software, and the others that decide what is loaded.
ProcessEnvironment steering_variables(const Fact<Variables>& all);

/// "/proc/PID" of this process; of a recorded host "/proc/self" where the record holds it as a folder; else
/// "".
std::string own_process_folder(HostFiles& files);

/// system.cpp: operating system, kernel, processor, memory, limits, IOMMU.
void read_system(HostFiles& files, System& system);
/// surroundings.cpp: hypervisor, WSL, container.
void read_surroundings(HostFiles& files, const Variables& variables, System& system);
/// permissions.cpp: the user, groups of this process and of the account, nodes of /dev.
void read_user(HostFiles& files, System& system);
void read_device_nodes(HostFiles& files, const std::vector<Gpu>& gpus, System& system);

/// pci.cpp: display and compute devices of the PCI bus, in the order of their addresses, with links and
/// bridges.
std::vector<Gpu> read_pci_gpus(HostFiles& files);
/// "/sys/bus/pci/devices/0000:03:00.0".
std::string pci_folder(std::string_view address);
/// drm.cpp: what the graphics driver tells of each GPU.
void read_drm(HostFiles& files, std::vector<Gpu>& gpus);
/// "gfx1036" of the version of the GC block (10.3.6); "" when it is not known.
/// Source: B.1 of the targets that Linux' amdgpu and amdkfd name, 6.12.
std::string gfx_of_gc_version(int major, int minor, int revision);

/// KFD's numbers of the GPUs, for its per-process files: address → gpu_id.
using KfdIds = std::map<std::string, std::uint64_t>;
/// kfd.cpp: what ROCm's kernel driver tells; GPUs that only KFD shows are added.
KfdIds read_kfd(HostFiles& files, Facts& facts);

/// "key value" lines of KFD's properties files. Lines of another form are left out.
std::map<std::string, std::uint64_t> parse_kfd_properties(std::string_view text);

/// What config space says of AtomicOps and ACS.
struct PciConfig {
    Fact<bool> routes_atomics; ///< DevCap2 bit 6
    Fact<bool> acs_redirects;  ///< ACS control bit 2
};
/// `bytes`: config space as sysfs gives it, 64 bytes without root, 4096 with. Facts name `source`.
PciConfig parse_pci_config(std::string_view bytes, const std::string& source);

} // namespace rekindle::doctor
