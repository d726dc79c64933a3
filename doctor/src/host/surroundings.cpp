#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rekindle::doctor {

namespace {

using Text = Fact<std::string>;

struct Named {
    std::string_view sign;
    const char* name;
};

template <std::size_t N>
const char* named(const std::array<Named, N>& table, std::string_view text) {
    for (const Named& entry : table)
        if (mentions(text, entry.sign))
            return entry.name;
    return nullptr;
}

/// The hypervisor names in CPUID leaf 0x40000000.
constexpr std::array cpuid_signatures{Named{"KVMKVMKVM", "kvm"},           Named{"VMwareVMware", "vmware"},
                                      Named{"Microsoft Hv", "hyperv"},     Named{"XenVMMXenVMM", "xen"},
                                      Named{"VBoxVBoxVBox", "virtualbox"}, Named{"TCGTCGTCGTCG", "qemu"},
                                      Named{"bhyve bhyve", "bhyve"},       Named{"ACRNACRNACRN", "acrn"}};
/// How their firmware names the machine and its manufacturer.
constexpr std::array firmware_signs{Named{"VMware", "vmware"},
                                    Named{"VirtualBox", "virtualbox"},
                                    Named{"innotek", "virtualbox"},
                                    Named{"QEMU", "kvm"},
                                    Named{"KVM", "kvm"},
                                    Named{"OpenStack", "kvm"},
                                    Named{"Virtual Machine", "hyperv"},
                                    Named{"Xen", "xen"},
                                    Named{"Google Compute", "kvm"},
                                    Named{"Amazon EC2", "kvm"},
                                    Named{"Parallels", "parallels"},
                                    Named{"BHYVE", "bhyve"}};

#if defined(__x86_64__)
Text cpuid_hypervisor() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return {};
    if (!(ecx & (1U << 31)))
        return {"none", "CPUID"};
    __cpuid(0x40000000, eax, ebx, ecx, edx);
    std::array<char, 12> sign{};
    std::memcpy(sign.data(), &ebx, 4);
    std::memcpy(sign.data() + 4, &ecx, 4);
    std::memcpy(sign.data() + 8, &edx, 4);
    const char* name = named(cpuid_signatures, {sign.data(), sign.size()});
    return {name ? name : "other", "CPUID"};
}
#else
Text cpuid_hypervisor() {
    return {};
}
#endif

Text firmware_hypervisor(HostFiles& files) {
    for (const char* file : {"product_name", "sys_vendor"}) {
        const std::string path = fmt::format("/sys/class/dmi/id/{}", file);
        if (const Text name = files.line(path); name.known())
            if (const char* known = named(firmware_signs, *name))
                return {known, path};
    }
    return {};
}

/// For a recorded host: the flag that the kernel saw, and the names from its firmware.
Text recorded_hypervisor(HostFiles& files) {
    if (Text firmware = firmware_hypervisor(files); firmware.known())
        return firmware;
    return derive<std::string>(files.read("/proc/cpuinfo", 16 << 20),
                               [](const std::string& text) -> std::optional<std::string> {
                                   if (!mentions(text, "flags"))
                                       return std::nullopt;
                                   return mentions(text, " hypervisor") ? "other" : "none";
                               });
}

Fact<int> wsl_of(const Text& kernel) {
    return derive<int>(kernel, [](const std::string& release) -> std::optional<int> {
        if (mentions(release, "WSL2") || mentions(release, "microsoft"))
            return 2;
        return mentions(release, "Microsoft") ? 1 : 0;
    });
}

/// The names that systemd and container tools use → our names.
const char* container_name(std::string_view word) {
    constexpr std::array names{Named{"podman", "podman"},
                               Named{"libpod", "podman"},
                               Named{"docker", "docker"},
                               Named{"lxc", "lxc"},
                               Named{"systemd-nspawn", "systemd-nspawn"},
                               Named{"kube", "kubernetes"},
                               Named{"singularity", "singularity"},
                               Named{"apptainer", "singularity"},
                               Named{"containerd", "other"},
                               Named{"oci", "other"}};
    return named(names, word);
}

Text marked_container(HostFiles& files, const Variables& variables) {
    if (variables.contains("KUBERNETES_SERVICE_HOST"))
        return {"kubernetes", "KUBERNETES_SERVICE_HOST"};
    struct Mark {
        const char* path;
        const char* name;
    };
    constexpr std::array marks{Mark{"/var/run/secrets/kubernetes.io", "kubernetes"},
                               Mark{"/.singularity.d", "singularity"}, Mark{"/run/.containerenv", "podman"},
                               Mark{"/.dockerenv", "docker"}};
    for (const Mark& mark : marks)
        if (files.exists(mark.path))
            return {mark.name, mark.path};
    for (const char* name : {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"})
        if (variables.contains(name))
            return {"singularity", name};
    if (const auto own = variables.find("container"); own != variables.end())
        if (const char* name = container_name(own->second))
            return {name, "variable container"};
    return {};
}

Text container_of(HostFiles& files, const Variables& variables) {
    if (Text marked = marked_container(files, variables); marked.known())
        return marked;
    for (const char* path : {"/run/systemd/container", "/proc/1/cgroup"})
        if (const Text text = files.read(path); text.known())
            if (const char* name = container_name(*text))
                return {name, path};
    const std::string own = own_process_folder(files);
    if (!own.empty())
        if (const Text mounts = files.read(own + "/mountinfo"); mounts.known())
            for (const std::string_view line : split(*mounts, '\n'))
                if (mentions(line, " / / ") && mentions(line, " overlay "))
                    if (const char* name = container_name(line))
                        return {name, own + "/mountinfo"};
    return {"none", "nothing suggests a container"};
}

/// The host's groups exist only when all ids are mapped to themselves.
Fact<bool> rootless_of(HostFiles& files) {
    const std::string own = own_process_folder(files);
    if (own.empty())
        return Fact<bool>::failed("not recorded", "");
    return derive<bool>(files.line(own + "/gid_map"), [](const std::string& map) -> std::optional<bool> {
        std::vector<std::string_view> words = split(map, ' ');
        std::erase(words, "");
        if (words.size() != 3)
            return std::nullopt;
        return !(words[0] == "0" && words[1] == "0" && words[2] == "4294967295");
    });
}

} // namespace

void read_surroundings(HostFiles& files, const Variables& variables, System& system) {
    system.hypervisor = files.live() ? cpuid_hypervisor() : Text{};
    if (!system.hypervisor.known())
        system.hypervisor = recorded_hypervisor(files);
    system.wsl = wsl_of(system.kernel);
    system.container = container_of(files, variables);
    system.rootless = rootless_of(files);
}

} // namespace rekindle::doctor
