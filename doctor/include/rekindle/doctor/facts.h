#pragma once
/// Everything that the doctor knows about a host, as it was read. Converts to and from JSON (facts_json.h):
/// a recorded host is a file of facts, and rules cannot distinguish it from a live one. Sizes are in bytes
/// unless the name says otherwise. A field that a collector could not read says why; a field that nothing
/// tried to read is empty.

#include <rekindle/doctor/fact.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// The version of the JSON form of Facts and of every `rekindle doctor --json`; increased when the meaning
/// of a field changes.
constexpr int facts_schema = 1;

/// A PCI Express connection as negotiated; speeds in GT/s per lane.
struct PciLink {
    double speed = 0;
    int width = 0;
    double max_speed = 0;
    int max_width = 0;
    friend bool operator==(const PciLink&, const PciLink&) = default;
};

/// A bridge or root port between a device and the CPU, nearest first.
struct PciBridge {
    std::string address; ///< "0000:00:01.1"
    Fact<PciLink> link;
    Fact<bool> routes_atomics; ///< DevCap2 bit 6 (AtomicOp routing), from config space
    Fact<bool> acs_redirects;  ///< ACS control: peer-to-peer requests are sent to the root complex
};

// A process that holds memory of a GPU.
struct MemoryHolder {
    std::int64_t pid = 0;
    std::string command; ///< name from /proc/PID/comm, "" when not readable
    std::uint64_t vram = 0;
    std::uint64_t gtt = 0;
    std::string source; ///< "/proc/4711/fdinfo/12", "/sys/class/kfd/kfd/proc/4711/vram_33441"
    bool own = false;   ///< belongs to the user who runs the doctor
};

/// One GPU. What KFD (ROCm), DRM and the NVIDIA driver say about the same GPU is joined by its PCI address.
struct Gpu {
    std::string address;         ///< "0000:03:00.0"; made up ("case:0") for facts from a posted text
    std::string vendor;          ///< "amd", "nvidia", "intel" or "other"
    Fact<std::string> pci_id;    ///< "1002:744c", lower case
    Fact<std::string> revision;  ///< PCI revision byte, "cc"; distinguishes a 5700 XT from a 5600 XT
    Fact<std::string> subsystem; ///< "1da2:e471"
    Fact<std::string> name; ///< as a driver or the user calls it; a name from the table of GPUs is not a fact
    Fact<std::string> gfx;  ///< "gfx1100": decoded from KFD's gfx_target_version or from ip_discovery. The
                            ///< real target, whatever overrides say
    Fact<std::string> runtime_gfx;        ///< as rocminfo or torch prints it: an override shows here
    Fact<std::string> compute_capability; ///< NVIDIA: "8.6"
    Fact<std::string> kernel_driver;      ///< "amdgpu", "nvidia", "nouveau", "vfio-pci", …
    Fact<std::string> card_node;          ///< "/dev/dri/card1"
    Fact<std::string> render_node;        ///< "/dev/dri/renderD128"
    Fact<int> kfd_node; ///< number of its KFD topology node; unread: why KFD does not list it
    /// "GPU-6f1e…": for ROCR_VISIBLE_DEVICES, from unique_id; of NVIDIA from the driver.
    Fact<std::string> uuid;
    Fact<bool> integrated; ///< shares system memory (KFD node with CPU cores or without its own VRAM bank, or
                           ///< a known PCI class)
    Fact<bool> boot_display; ///< boot_vga: it drives the first screen
    Fact<std::uint64_t> vram_total;
    Fact<std::uint64_t> vram_used;
    Fact<std::uint64_t> visible_vram_total; ///< what the host can map; ≈ vram_total with Resizable BAR
    Fact<std::uint64_t> gtt_total;
    Fact<std::uint64_t> gtt_used;
    Fact<int> compute_units;
    Fact<int> wavefront_size;
    Fact<int> mec_firmware; ///< KFD fw_version
    Fact<int> mes_firmware;
    Fact<bool> atomics;      ///< KFD io_links: 32- and 64-bit PCIe atomics to the CPU
    Fact<bool> peer_to_peer; ///< KFD io_links/p2p_links without the "no peer-to-peer" flag
    Fact<PciLink> link;
    std::vector<PciBridge> bridges;
    Fact<std::string> iommu_type; ///< "identity" (passthrough), "DMA", "DMA-FQ"
    Fact<int> busy_percent;
    Fact<double> temperature; ///< °C
    std::vector<MemoryHolder> holders;
};

/// A file in /dev that GPU programs open.
struct DeviceNode {
    std::string path;
    bool exists = false;
    Fact<int> mode; ///< permission bits, 0660
    Fact<int> owner;
    Fact<int> group;
    Fact<std::string> group_name;
    Fact<bool> usable; ///< this process can open it for reading and writing; unread: errno's text ("Operation
                       ///< not permitted")
};

struct System {
    Fact<std::string> os_id;        ///< "ubuntu"
    Fact<std::string> os_version;   ///< "24.04"
    Fact<std::string> os_name;      ///< "Ubuntu 24.04.1 LTS"
    Fact<std::string> kernel;       ///< "6.8.0-45-generic"
    Fact<std::string> architecture; ///< "x86_64"
    Fact<std::string> glibc;        ///< "2.35"
    Fact<std::string> processor;
    Fact<std::string> hypervisor; ///< "kvm", "vmware", "none", …
    Fact<int> wsl;                ///< 0: not WSL; 1 or 2
    Fact<std::string> container;  ///< "none", "docker", "podman", "singularity", "lxc", "systemd-nspawn",
                                  ///< "kubernetes", "other"
    Fact<bool> rootless;          ///< user namespace in which the host's groups are not mapped
    Fact<std::uint64_t> memory_total;
    Fact<std::uint64_t> memory_available;
    Fact<std::uint64_t> swap_total;
    Fact<std::uint64_t> shared_memory_total; ///< size of /dev/shm
    Fact<std::uint64_t> shared_memory_free;
    Fact<std::uint64_t> open_files_limit; ///< soft
    Fact<std::uint64_t> open_files_hard_limit;
    Fact<std::uint64_t> locked_memory_limit; ///< soft; 2^64-1: unlimited
    Fact<std::string> kernel_command_line;
    Fact<std::string> host_name;
    Fact<int> user_id; ///< effective, of this process
    Fact<std::string> user_name;
    Fact<std::vector<int>> groups; ///< supplementary and effective groups *of this process*
    Fact<std::vector<std::string>> group_names;
    /// The user's groups in /etc/group: possibly more than the session has.
    Fact<std::vector<std::string>> account_groups;
    Fact<std::map<std::string, int>> known_groups; ///< from /etc/group: render, video
    Fact<bool> iommu_enabled;
    /// Processes whose open files this process may not see: they may hold GPU memory.
    Fact<int> hidden_processes;
    std::vector<DeviceNode> device_nodes; ///< /dev/kfd, /dev/dri/*, /dev/dxg, /dev/nvidia*
};

struct KernelModule {
    std::string name; ///< "amdgpu"
    Fact<bool> loaded;
    Fact<std::string> version; ///< only out-of-tree builds have one
    std::map<std::string, std::string> parameters;
    Fact<std::string> dkms; ///< line from dkms status
};

struct Drivers {
    std::vector<KernelModule> modules;         ///< amdgpu, nvidia, nouveau, …
    std::vector<std::string> modprobe_options; ///< "/etc/modprobe.d/a.conf:3: options amdgpu mtype_local=1"
    Fact<std::string> firmware_package;        ///< version of linux-firmware
    Fact<std::vector<std::string>> firmware_files; ///< names below /lib/firmware/amdgpu
    Fact<std::string> nvidia_module;               ///< "550.90.07", of the loaded module
    Fact<std::string> nvidia_library;              ///< "550.107.02", from libcuda/libnvidia-ml in user space
    Fact<std::string> nvidia_cuda;                 ///< newest CUDA that the driver can run, "12.4"
};

/// Lines of the kernel log that name a GPU driver, a GPU or one of its bridges, or a process that the
/// kernel killed; oldest first, unchanged.
struct KernelLog {
    Fact<std::vector<std::string>> lines;
};

struct RocmInstallation {
    std::string path;          ///< "/opt/rocm-6.2.0"
    Fact<std::string> version; ///< "6.2.0"
    /// rocRAND and libstdc++ headers that MIOpen's run-time compiler needs, where found.
    Fact<std::string> miopen_headers;
};

struct RocmUserSpace {
    std::vector<RocmInstallation> installations;
    std::vector<std::string> linker_paths;    ///< files of /etc/ld.so.conf.d that name ROCm, "file: path"
    std::map<std::string, std::string> tools; ///< rocminfo, amd-smi, hipcc → path
    std::vector<std::string> package_sources; ///< lines of apt/dnf sources that name ROCm
};

/// The gfx targets (or CUDA sm_ targets) that a file actually contains.
struct LibraryTargets {
    std::string path;
    std::string part; ///< "torch", "rocblas", "hipblaslt", "miopen", "aotriton", "extension", "kpack", "rccl"
    /// "gfx1100", "gfx90a:xnack-", "gfx10-3-generic"; sorted, without duplicates.
    std::vector<std::string> targets;
    /// Target → size of its code, where it is known (a nearly empty one is a defect).
    std::map<std::string, std::uint64_t> bytes;
    std::string unread; ///< why it, or some part of it, could not be read
};

struct PythonPackage {
    std::string name;      ///< normalized: "torch", "bitsandbytes"
    std::string version;   ///< "2.5.1+rocm6.2"
    std::string installer; ///< "pip", "conda", "uv"
    std::string source;    ///< path of the dist-info folder
    /// URL that it was installed from, if recorded (direct_url.json); an index is not recorded.
    std::string origin;
};

/// One Python and what it would train with. Read from its files; nothing is imported or run.
struct PythonEnvironment {
    std::string path;                    ///< of the environment (prefix)
    std::string interpreter;             ///< of the program
    std::string kind;                    ///< "venv", "conda", "system", "user"
    std::string found_by;                ///< "--python", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "home folder"
    bool active = false;                 ///< the one that `python3` would start, or the one named by --python
    Fact<std::string> version;           ///< "3.10"
    Fact<std::string> torch;             ///< "2.5.1+rocm6.2"
    Fact<std::string> torch_kind;        ///< "rocm", "cuda", "cpu", "xpu"
    Fact<std::string> torch_hip;         ///< torch.version.hip, "6.2.41133-dd7f95766"
    Fact<std::string> torch_cuda;        ///< torch.version.cuda, "12.4"
    Fact<std::string> rocm_style;        ///< "bundled" (the wheel contains its ROCm), "packages" (rocm-sdk-*,
                                         ///< TheRock), "system" (links /opt/rocm)
    std::vector<PythonPackage> packages; ///< those that matter for training on a GPU
    std::vector<LibraryTargets> libraries;
    std::vector<std::string> private_backends; ///< packages that register a PrivateUse1 device
    Fact<std::vector<std::string>> problems; ///< in the files themselves: broken links, missing libraries; a
                                             ///< space in the path is not one
};

/// A Vulkan driver manifest (ICD), in the order in which the loader reads them.
struct VulkanDriver {
    std::string manifest;
    Fact<std::string> library; ///< path as resolved
    Fact<std::string> api_version;
    Fact<bool> library_exists;
    std::vector<std::string> missing_libraries; ///< sonames that the library needs and the host does not have
};

struct Vulkan {
    Fact<std::string> loader; ///< path of libvulkan.so.1; unread: not found
    std::vector<VulkanDriver> drivers;
    std::vector<std::string> layers; ///< implicit layers that would load
};

/// Environment variables that affect GPU software.
struct ProcessEnvironment {
    std::string source; ///< "this process", "process 4711", "the posted facts"
    Fact<std::map<std::string, std::string>> variables;
};

struct Facts {
    int schema = facts_schema;
    std::string program; ///< version of Rekindle that read them
    std::string read_at; ///< "2026-11-21T13:00:00Z"
    std::string origin;  ///< "this host", "--root DIR", "a posted case"
    System system;
    std::vector<Gpu> gpus;
    Fact<bool> kfd; ///< /sys/class/kfd is there
    Drivers drivers;
    KernelLog kernel_log;
    RocmUserSpace rocm;
    std::vector<PythonEnvironment> pythons;
    Vulkan vulkan;
    ProcessEnvironment environment;
    /// Free text of a posted case that fits no field: "Singularity", "2 GPUs behind a riser"
    std::vector<std::string> notes;
};

} // namespace rekindle::doctor
