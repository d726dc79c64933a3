#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

constexpr std::array tools{"rocminfo", "amd-smi", "rocm-smi", "hipcc",      "hipconfig",
                           "rocm-sdk", "clinfo",  "nvcc",     "nvidia-smi", "vulkaninfo"};

/// Headers of rocRAND and of the C++ library that MIOpen's compiler includes in kernels.
Fact<std::string> miopen_headers(HostFiles& files, const std::string& installation) {
    std::string random, standard;
    for (const std::string& folder : {installation + "/include/rocrand", std::string("/usr/include/rocrand")})
        if (random.empty() && files.exists(folder + "/rocrand_xorwow.h"))
            random = folder;
    for (const std::string& version : files.names("/usr/include/c++")) {
        const std::string folder = "/usr/include/c++/" + version;
        if (files.exists(folder + "/limits"))
            standard = folder; // the newest is the last
    }
    if (random.empty())
        return Fact<std::string>::failed("no rocrand_xorwow.h", installation + "/include/rocrand");
    if (standard.empty())
        return Fact<std::string>::failed("no header <limits> of the C++ library", "/usr/include/c++");
    return {fmt::format("{}, {}", random, standard), random};
}

Fact<std::string> installed_version(HostFiles& files, const std::string& path) {
    Fact<std::string> version = files.line(path + "/.info/version");
    if (version)
        return version;
    for (const std::string& name : files.names(path + "/.info"))
        if (name.starts_with("version"))
            if (Fact<std::string> other = files.line(fmt::format("{}/.info/{}", path, name)); other.known())
                return other;
    return version;
}

/// A distribution's own packages are in /usr; their version is in the name of the library.
void read_distribution(HostFiles& files, RocmUserSpace& rocm) {
    for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
        for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
            const std::string path = fmt::format("{}/{}", folder, name);
            const Fact<std::string> real = files.resolve(path);
            if (!real)
                continue;
            const std::string_view file = std::string_view(*real).substr(real->rfind('/') + 1);
            constexpr std::string_view prefix = "libamdhip64.so.";
            rocm.installations.push_back(
                {"/usr",
                 Fact<std::string>(std::string(file.substr(std::min(prefix.size(), file.size()))), path),
                 miopen_headers(files, "/usr")});
            return;
        }
    }
}

void read_installations(HostFiles& files, RocmUserSpace& rocm) {
    std::vector<std::string> seen;
    for (const std::string& name : files.names("/opt")) {
        if (!name.starts_with("rocm"))
            continue;
        const std::string path = "/opt/" + name;
        // /opt/rocm is a link to one of the others.
        const std::string real = files.resolve(path).value_or(path);
        if (std::find(seen.begin(), seen.end(), real) != seen.end() || !files.exists(path))
            continue;
        seen.push_back(real);
        rocm.installations.push_back({real, installed_version(files, real), miopen_headers(files, real)});
    }
    read_distribution(files, rocm);
}

void read_linker_paths(HostFiles& files, RocmUserSpace& rocm) {
    for (const std::string& name : files.names("/etc/ld.so.conf.d")) {
        const std::string path = "/etc/ld.so.conf.d/" + name;
        for (const std::string& line : files.lines(path))
            if (mentions(line, "rocm") && !trim(line).starts_with('#'))
                rocm.linker_paths.push_back(fmt::format("{}: {}", path, trim(line)));
    }
}

void read_tools(HostFiles& files, const Variables& variables, RocmUserSpace& rocm) {
    std::vector<std::string> folders;
    if (const auto path = variables.find("PATH"); path != variables.end())
        for (const std::string_view folder : split(path->second, ':'))
            if (folder.starts_with('/'))
                folders.emplace_back(folder);
    if (folders.empty())
        folders = {"/usr/local/bin", "/usr/bin", "/bin"};
    folders.emplace_back("/opt/rocm/bin");
    folders.emplace_back("/usr/lib/wsl/lib");
    for (const std::string& folder : folders) {
        const std::vector<std::string> names = files.names(folder);
        for (const char* tool : tools)
            if (std::find(names.begin(), names.end(), tool) != names.end())
                rocm.tools.emplace(tool, fmt::format("{}/{}", folder, tool)); // the first one in PATH stays
    }
}

void read_package_sources(HostFiles& files, RocmUserSpace& rocm) {
    for (const char* folder : {"/etc/apt/sources.list.d", "/etc/yum.repos.d", "/etc/zypp/repos.d"}) {
        for (const std::string& name : files.names(folder)) {
            const std::string path = fmt::format("{}/{}", folder, name);
            for (const std::string& raw : files.lines(path)) {
                const std::string_view line = trim(raw);
                if (!line.starts_with('#') && (mentions(line, "repo.radeon.com") || mentions(line, "rocm")))
                    rocm.package_sources.push_back(fmt::format("{}: {}", path, line));
            }
        }
    }
}

} // namespace

void read_rocm(HostFiles& files, const Variables& variables, RocmUserSpace& rocm) {
    read_installations(files, rocm);
    read_linker_paths(files, rocm);
    read_tools(files, variables, rocm);
    read_package_sources(files, rocm);
}

} // namespace rekindle::doctor
