#include "host_matrix.h"

#include <fmt/format.h>

#include <array>
#include <set>

namespace rekindle::doctor::fixtures {

namespace {

const std::string source = "constructed";

struct SystemRow {
    const char* name;
    const char* system;
    const char* os_id;
    const char* os_version;
    const char* package_manager;
    const char* container;
};

constexpr std::array systems{
    SystemRow{"Ubuntu", "linux", "ubuntu", "24.04", "apt", "none"},
    SystemRow{"Debian", "linux", "debian", "12", "apt", "none"},
    SystemRow{"Mint", "linux", "linuxmint", "22", "apt", "none"},
    SystemRow{"Fedora", "linux", "fedora", "41", "dnf", "none"},
    SystemRow{"Rocky", "linux", "rocky", "9", "dnf", "none"},
    SystemRow{"Arch", "linux", "arch", "", "pacman", "none"},
    SystemRow{"openSUSE", "linux", "opensuse-tumbleweed", "", "zypper", "none"},
    SystemRow{"NixOS", "linux", "nixos", "24.11", "", "none"},
    SystemRow{"WSL with Ubuntu", "wsl", "ubuntu", "22.04", "apt", "none"},
    SystemRow{"WSL with Fedora", "wsl", "fedora", "41", "dnf", "none"},
    SystemRow{"Windows", "windows", "windows", "11", "", "none"},
    SystemRow{"Docker with Ubuntu", "linux", "ubuntu", "22.04", "apt", "docker"},
    SystemRow{"Docker with Debian", "linux", "debian", "12", "apt", "docker"},
    SystemRow{"Docker in WSL", "wsl", "ubuntu", "22.04", "apt", "docker"},
    SystemRow{"Podman with Fedora", "linux", "fedora", "41", "dnf", "podman"},
    SystemRow{"Kubernetes", "linux", "ubuntu", "22.04", "apt", "kubernetes"},
    SystemRow{"Singularity", "linux", "rocky", "9", "dnf", "singularity"},
    SystemRow{"an unnamed system", "", "", "", "", ""},
};

/// These are combined with fewer GPUs and wheels than `systems`, so that the test stays fast.
constexpr std::array further_systems{
    SystemRow{"Pop!_OS", "linux", "pop", "24.04", "apt", "none"},
    SystemRow{"Red Hat", "linux", "rhel", "9.4", "dnf", "none"},
    SystemRow{"Amazon Linux", "linux", "amzn", "2023", "dnf", "none"},
    SystemRow{"Alpine", "linux", "alpine", "3.20", "apk", "none"},
    SystemRow{"Manjaro", "linux", "manjaro", "", "pacman", "none"},
    SystemRow{"SUSE", "linux", "sles", "15.6", "zypper", "none"},
    SystemRow{"WSL with Debian", "wsl", "debian", "12", "apt", "none"},
    SystemRow{"WSL with openSUSE", "wsl", "opensuse-leap", "15.6", "zypper", "none"},
    SystemRow{"Docker with Alpine", "linux", "alpine", "3.20", "apk", "docker"},
    SystemRow{"Podman with Arch", "linux", "arch", "", "pacman", "podman"},
    SystemRow{"Apptainer", "linux", "ubuntu", "22.04", "apt", "singularity"},
};

struct Card {
    const char* vendor;
    const char* name;
    const char* gfx;        ///< of AMD
    const char* capability; ///< of NVIDIA
    bool integrated;
};
constexpr Card rx_7900_xt{"amd", "AMD Radeon RX 7900 XT", "gfx1100", "", false};
constexpr Card rx_5600_xt{"amd", "AMD Radeon RX 5600 XT", "gfx1010", "", false};
constexpr Card rx_6700_xt{"amd", "AMD Radeon RX 6700 XT", "gfx1031", "", false};
constexpr Card radeon_610m{"amd", "AMD Radeon 610M", "gfx1036", "", true};
constexpr Card rtx_5090{"nvidia", "NVIDIA GeForce RTX 5090", "", "12.0", false};
constexpr Card gtx_1060{"nvidia", "NVIDIA GeForce GTX 1060", "", "6.1", false};
constexpr Card arc_a770{"intel", "Intel Arc A770", "", "", false};

struct GpuRow {
    const char* name;
    std::vector<Card> cards;
};
const std::vector<GpuRow>& gpu_rows() {
    static const std::vector<GpuRow> rows{
        {"RX 7900 XT", {rx_7900_xt}},
        {"two RX 7900 XT and an integrated GPU", {rx_7900_xt, rx_7900_xt, radeon_610m}},
        {"RX 5600 XT", {rx_5600_xt}},
        {"RX 6700 XT", {rx_6700_xt}},
        {"RTX 5090", {rtx_5090}},
        {"RTX 5090 with an integrated Radeon", {rtx_5090, radeon_610m}},
        {"GTX 1060", {gtx_1060}},
        {"Arc A770", {arc_a770}},
        {"unknown GPU", {}},
    };
    return rows;
}

struct TorchRow {
    const char* name;
    const char* version;
    const char* kind;
    const char* style;
    const char* environment;
};
constexpr std::array torches{
    TorchRow{"torch for ROCm", "2.5.1+rocm6.2", "rocm", "bundled", "venv"},
    TorchRow{"torch with ROCm packages", "2.10.0+rocm7.13.0", "rocm", "packages", "venv"},
    TorchRow{"torch for CUDA", "2.4.1+cu121", "cuda", "", "conda"},
    TorchRow{"no torch", "", "", "", "venv"},
};
constexpr std::array further_torches{
    TorchRow{"torch for the CPU", "2.6.0+cpu", "cpu", "", "venv"},
    TorchRow{"torch for Intel", "2.8.0+xpu", "xpu", "", "venv"},
    TorchRow{"torch for ROCm", "2.9.1+rocm6.4", "rocm", "bundled", "venv"},
    TorchRow{"torch for CUDA", "2.9.1+cu128", "cuda", "", "venv"},
};

Gpu gpu_of(const Card& card, std::size_t index) {
    Gpu gpu;
    gpu.address = fmt::format("0000:{:02x}:00.0", index + 3);
    gpu.vendor = card.vendor;
    gpu.name = {card.name, source};
    gpu.integrated = {card.integrated, source};
    if (*card.gfx != '\0')
        gpu.gfx = {card.gfx, source};
    if (*card.capability != '\0')
        gpu.compute_capability = {card.capability, source};
    return gpu;
}

void add_system(MatrixHost& host, const SystemRow& row) {
    System& system = host.facts.system;
    host.system = row.system;
    host.package_manager = row.package_manager;
    host.container = row.container;
    const std::string id = row.os_id;
    host.ubuntu = id == "ubuntu" || id == "linuxmint";
    if (id.empty()) {
        host.facts.origin = "a posted case";
        return;
    }
    host.facts.origin = host.system == "windows" ? "a posted case" : "this host";
    system.os_id = {id, source};
    system.os_name = {row.name, source};
    if (*row.os_version != '\0')
        system.os_version = {row.os_version, source};
    system.wsl = {host.system == "wsl" ? 2 : 0, source};
    system.container = {row.container, source};
    system.memory_total = {64ull << 30, source};
}

void add_torch(MatrixHost& host, const TorchRow& row, bool rocm_on_library_path) {
    host.conda = std::string_view(row.environment) == "conda";
    PythonEnvironment python;
    python.kind = row.environment;
    if (!host.facts.system.os_id)
        host.conda = true; // nothing says that it does not
    else
        python.path = host.system == "windows" ? "C:/train/venv" : "/srv/train/venv";
    if (*row.version != '\0') {
        python.torch = {row.version, source};
        python.torch_kind = {row.kind, source};
    }
    if (*row.style != '\0')
        python.rocm_style = {row.style, source};
    host.facts.pythons.push_back(std::move(python));
    host.rocm_on_library_path = rocm_on_library_path;
    std::map<std::string, std::string> variables;
    // What the wheel's own packages need: removing it breaks what works.
    variables["LD_LIBRARY_PATH"] = rocm_on_library_path
                                       ? "/opt/rocm/lib"
                                       : "/srv/train/venv/lib/python3.12/site-packages/_rocm_sdk_core/lib";
    if (host.facts.system.os_id)
        host.facts.environment = {"this process", {std::move(variables), source}};
}

MatrixHost make_host(const SystemRow& system, const GpuRow& gpus, const TorchRow& torch,
                     bool rocm_on_library_path) {
    MatrixHost host;
    host.name = fmt::format("{}, {}, {}{}", system.name, gpus.name, torch.name,
                            rocm_on_library_path ? ", /opt/rocm on the path" : "");
    add_system(host, system);
    add_torch(host, torch, rocm_on_library_path);
    for (const Card& card : gpus.cards) {
        host.facts.gpus.push_back(gpu_of(card, host.facts.gpus.size()));
        const bool amd = host.facts.gpus.back().vendor == "amd";
        host.any_amd = host.any_amd || amd;
        host.amd = host.amd || (amd && !card.integrated);
        host.nvidia = host.nvidia || host.facts.gpus.back().vendor == "nvidia";
    }
    if (gpus.cards.empty()) {
        const std::string kind = torch.kind; // no GPU is known: what torch is built for decides
        host.amd = host.any_amd = kind != "cuda";
        host.nvidia = kind != "rocm";
    }
    return host;
}

void add_vulkan(MatrixHost& host, bool works) {
    host.vulkan = works;
    host.name += works ? ", with Vulkan drivers" : ", without a Vulkan driver";
    Vulkan& vulkan = host.facts.vulkan;
    vulkan.loader = {"/usr/lib/x86_64-linux-gnu/libvulkan.so.1", source};
    for (const char* file : {"radeon_icd.json", "nvidia_icd.json", "intel_icd.json"})
        if (works) {
            vulkan.drivers.emplace_back().manifest = fmt::format("/usr/share/vulkan/icd.d/{}", file);
            vulkan.drivers.back().library_exists = {true, source};
        }
}

void add_further_hosts(std::vector<MatrixHost>& hosts) {
    const std::array cards{gpu_rows()[0], gpu_rows()[4], gpu_rows()[7], gpu_rows()[8]};
    for (const GpuRow& gpus : cards) {
        for (const SystemRow& system : further_systems)
            hosts.push_back(
                make_host(system, gpus, further_torches[hosts.size() % further_torches.size()], false));
        for (const SystemRow& system : systems)
            for (const TorchRow& torch : {further_torches[0], further_torches[1]})
                hosts.push_back(make_host(system, gpus, torch, false));
    }
}

} // namespace

std::vector<MatrixHost> host_matrix() {
    std::vector<MatrixHost> hosts;
    add_further_hosts(hosts);
    for (const SystemRow& system : systems)
        for (const GpuRow& gpus : gpu_rows()) {
            for (const TorchRow& torch : torches)
                for (const bool rocm_on_library_path : {false, true})
                    if (!rocm_on_library_path || std::string_view(torch.kind) == "rocm")
                        hosts.push_back(make_host(system, gpus, torch, rocm_on_library_path));
            for (const bool works : {false, true})
                if (!gpus.cards.empty()) {
                    hosts.push_back(make_host(system, gpus, torches.front(), false));
                    add_vulkan(hosts.back(), works);
                }
        }
    return hosts;
}

std::vector<MatrixHost> sampled_host_matrix() {
    std::vector<MatrixHost> hosts;
    std::size_t number = 0;
    for (MatrixHost& host : host_matrix())
        if (number++ % sampled == 0)
            hosts.push_back(std::move(host));
    return hosts;
}

} // namespace rekindle::doctor::fixtures
