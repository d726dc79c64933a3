#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

constexpr std::array graphics_modules{"amdgpu",  "radeon", "nvidia", "nvidia_uvm", "nvidia_drm",
                                      "nouveau", "i915",   "xe",     "vfio_pci",   "dxgkrnl"};

/// "amdgpu/6.8.5-2009582.22.04, 6.8.0-45-generic, x86_64: installed", in the form of `dkms status`, from
/// dkms' own tree.
Fact<std::string> dkms_status(HostFiles& files, std::string_view name) {
    const std::string folder = fmt::format("/var/lib/dkms/{}", name);
    const Fact<std::vector<FolderEntry>> entries = files.list(folder);
    if (!entries)
        return {}; // dkms does not know the module
    std::vector<std::string> lines;
    for (const FolderEntry& version : *entries) {
        if (version.kind != 'd')
            continue;
        bool built = false;
        for (const FolderEntry& kernel :
             files.list(fmt::format("{}/{}", folder, version.name)).value_or({})) {
            if (kernel.kind != 'd' || kernel.name == "build" || kernel.name == "source")
                continue;
            for (const std::string& machine :
                 files.names(fmt::format("{}/{}/{}", folder, version.name, kernel.name))) {
                const std::string mark = fmt::format("kernel-{}-{}", kernel.name, machine);
                const auto installed =
                    std::find_if(entries->begin(), entries->end(), [&](const FolderEntry& entry) {
                        return entry.name == mark && entry.target.starts_with(version.name + "/");
                    });
                lines.push_back(fmt::format("{}/{}, {}, {}: {}", name, version.name, kernel.name, machine,
                                            installed == entries->end() ? "built" : "installed"));
                built = true;
            }
        }
        if (!built)
            lines.push_back(fmt::format("{}/{}: added", name, version.name));
    }
    return lines.empty() ? Fact<std::string>{}
                         : Fact<std::string>{fmt::format("{}", fmt::join(lines, "; ")), folder};
}

KernelModule read_module(HostFiles& files, const std::string& name) {
    const std::string folder = "/sys/module/" + name;
    KernelModule module;
    module.name = name;
    const Fact<FileStatus> status = files.status(folder);
    module.loaded = status.known() || files.exists("/sys/module") ? Fact<bool>(status.known(), folder)
                                                                  : Fact<bool>::failed(status.unread, folder);
    if (const Fact<std::string> version = files.line(folder + "/version"); version.known())
        module.version = version;
    for (const std::string& parameter : files.names(folder + "/parameters"))
        if (const auto value = files.line(fmt::format("{}/parameters/{}", folder, parameter)); value.known())
            module.parameters.emplace(parameter, *value);
    module.dkms = dkms_status(files, name);
    return module;
}

/// Loaded modules, and those that a GPU of the host would need.
std::vector<std::string> module_names(HostFiles& files, const std::vector<Gpu>& gpus) {
    std::vector<std::string> names;
    for (const char* name : graphics_modules) {
        const auto wants = [&](const Gpu& gpu) {
            return (gpu.vendor == "amd" && std::string_view(name) == "amdgpu") ||
                   (gpu.vendor == "nvidia" && std::string_view(name) == "nvidia");
        };
        if (files.exists(fmt::format("/sys/module/{}", name)) || std::any_of(gpus.begin(), gpus.end(), wants))
            names.emplace_back(name);
    }
    return names;
}

std::string without_blanks(std::string_view line) {
    return std::string(trim(line));
}

bool has_vendor(const std::vector<Gpu>& gpus, std::string_view vendor) {
    return std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.vendor == vendor; });
}

/// "Version:" in the paragraph that begins with "Package: NAME".
std::optional<std::string> debian_version(std::string_view status, std::string_view package) {
    const std::string head = fmt::format("Package: {}\n", package);
    std::size_t at = status.starts_with(head) ? 0 : status.find("\n" + head);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view paragraph = status.substr(at, status.find("\n\n", at) - at);
    if (paragraph.find("\nStatus: install ok installed") == std::string_view::npos)
        return std::nullopt;
    constexpr std::string_view key = "\nVersion: ";
    at = paragraph.find(key);
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = paragraph.substr(at + key.size());
    return std::string(rest.substr(0, rest.find('\n')));
}

Fact<std::string> firmware_package(HostFiles& files) {
    const std::string debian = "/var/lib/dpkg/status", arch = "/var/lib/pacman/local";
    if (const Fact<std::string> status = files.read(debian, 64 << 20); status.known()) {
        for (const char* package : {"linux-firmware", "firmware-amd-graphics"})
            if (const auto version = debian_version(*status, package))
                return {fmt::format("{} {}", package, *version), debian};
        return Fact<std::string>::failed("neither linux-firmware nor firmware-amd-graphics is installed",
                                         debian);
    }
    for (const std::string& name : files.names(arch)) {
        constexpr std::string_view prefix = "linux-firmware-";
        if (name.starts_with(prefix) && name.find_first_of("0123456789") == prefix.size())
            return {"linux-firmware " + name.substr(prefix.size()), arch};
    }
    return Fact<std::string>::failed("no package database in Debian's or Arch's format", debian);
}

Fact<std::vector<std::string>> firmware_files(HostFiles& files) {
    std::vector<std::string> names;
    Fact<std::vector<FolderEntry>> last;
    for (const char* folder : {"/lib/firmware/updates/amdgpu", "/lib/firmware/amdgpu"}) {
        last = files.list(folder);
        for (FolderEntry& entry : last.value_or({}))
            names.push_back(std::move(entry.name));
    }
    if (!last && names.empty())
        return Fact<std::vector<std::string>>::failed(last.unread, last.source);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return {std::move(names), last.source};
}

} // namespace

std::vector<std::string> parse_modprobe(std::string_view text, std::string_view path) {
    std::vector<std::string> found;
    std::size_t number = 0;
    for (const std::string_view raw : split(text, '\n')) {
        ++number;
        const std::string line = without_blanks(raw);
        std::vector<std::string_view> words = split(line, ' ');
        std::erase(words, "");
        if (words.size() < 2 || line.starts_with('#'))
            continue;
        std::string module(words[1]);
        std::replace(module.begin(), module.end(), '-', '_');
        const bool graphics =
            std::find(graphics_modules.begin(), graphics_modules.end(), module) != graphics_modules.end();
        const bool word = words[0] == "options" || words[0] == "blacklist" || words[0] == "install" ||
                          words[0] == "softdep";
        if (graphics && word)
            found.push_back(fmt::format("{}:{}: {}", path, number, line));
    }
    return found;
}

void read_drivers(HostFiles& files, const std::vector<Gpu>& gpus, Drivers& drivers) {
    for (const std::string& name : module_names(files, gpus))
        drivers.modules.push_back(read_module(files, name));
    for (const char* folder :
         {"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"}) {
        if (std::string_view(folder) == "/lib/modprobe.d" && files.resolve("/lib").is("/usr/lib"))
            continue;
        for (const std::string& name : files.names(folder)) {
            const std::string path = fmt::format("{}/{}", folder, name);
            if (name.ends_with(".conf"))
                for (std::string& option : parse_modprobe(files.read(path).value_or(""), path))
                    drivers.modprobe_options.push_back(std::move(option));
        }
    }
    if (has_vendor(gpus, "amd")) {
        drivers.firmware_package = firmware_package(files);
        drivers.firmware_files = firmware_files(files);
    }
}

} // namespace rekindle::doctor
