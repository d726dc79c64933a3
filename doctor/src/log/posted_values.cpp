#include "log/posted_values.h"

#include "knowledge/gfx_names.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

const std::string source(posted_source);

bool value_matches(std::string_view text, const char* pattern) {
    return RE2::PartialMatch(text, RE2(std::string("(?i)") + pattern, RE2::Quiet));
}

std::string found(std::string_view text, const char* pattern) {
    std::string group;
    RE2::PartialMatch(text, RE2(std::string("(?i)") + pattern, RE2::Quiet), &group);
    return group;
}

bool says_it_works(std::string_view clause) {
    return value_matches(
               clause,
               R"(\b(?:works|worked|working|in use before|was in use|before|previously|earlier|fine|formerly)\b)") &&
           !value_matches(
               clause, R"(\b(?:fails?|failed|broken|crash\w*|not work\w*|never worked|doesn't|does not)\b)");
}

std::string_view first_failing(std::string_view text, char separator) {
    std::string_view first;
    for (const std::string_view clause : split(text, separator)) {
        if (first.empty())
            first = trim(clause);
        if (!trim(clause).empty() && !says_it_works(clause))
            return trim(clause);
    }
    return first;
}

void set_once(Fact<std::string>& fact, std::string value) {
    if (!fact && !value.empty())
        fact = {std::move(value), source};
}

} // namespace

bool is_unstated(std::string_view text) {
    text = trim(text);
    return text.empty() ||
           value_matches(
               text,
               R"(^(?:not (?:stated|given|known|mentioned|reported|in what was read|said)\b|unknown\b|unstated\b|unspecified\b|n/?a$|\?+$|-+$|null$))");
}

std::string_view failing_part(std::string_view text) {
    const std::string_view clause = first_failing(text, ';');
    // "2.0 fails, 1.13 works" in one clause; a list such as "A, B and C fail" stays whole.
    const bool both = value_matches(clause, R"(\bfail)") && value_matches(clause, R"(\bwork)");
    return both ? first_failing(clause, ',') : clause;
}

void read_posted_torch(std::string_view text, PythonEnvironment& python) {
    if (is_unstated(text))
        return;
    std::string clause(failing_part(text));
    const std::string rocm = found(clause, R"((?:^|[^+\w])(?:rocm|hip)[ -]?v?(\d+\.\d+(?:\.\d+)?))");
    const std::string cuda = found(clause, R"((?:^|[^+\w])cuda[ -]?v?(\d+\.\d+))");
    RE2::GlobalReplace(&clause, R"((?i)(^|[^+\w])(?:rocm|hip|cuda|python)[ -]?v?\d+(?:\.\d+)+)", R"(\1)");
    constexpr const char* version =
        R"((?:^|[^\w.])v?(\d+\.\d+(?:\.\d+)?(?:\.dev\d+|rc\d+|a\d+)?(?:\+[\w.]+)?))";
    set_once(python.torch, found(clause, version));
    const std::string torch = python.torch.value_or("");
    if (torch.find("+rocm") != std::string::npos || torch.find("+devrocm") != std::string::npos ||
        !rocm.empty())
        set_once(python.torch_kind, "rocm");
    else if (torch.find("+cu") != std::string::npos || !cuda.empty())
        set_once(python.torch_kind, "cuda");
    else if (torch.find("+cpu") != std::string::npos || value_matches(clause, R"(\bcpu\b)"))
        set_once(python.torch_kind, "cpu");
    else if (torch.find("+xpu") != std::string::npos)
        set_once(python.torch_kind, "xpu");
    set_once(python.torch_hip, rocm);
    set_once(python.torch_cuda, cuda);
}

void read_posted_python(std::string_view text, PythonEnvironment& python) {
    if (is_unstated(text))
        return;
    set_once(python.version, found(failing_part(text), R"((\d+\.\d+(?:\.\d+)?))"));
    if (python.kind.empty())
        python.kind = value_matches(text, "conda|mamba")                   ? "conda"
                      : value_matches(text, R"(\bvenv|virtualenv|\buv\b)") ? "venv"
                                                                           : "";
}

void read_posted_rocm(std::string_view text, Facts& facts, PythonEnvironment& python) {
    if (is_unstated(text))
        return;
    const std::string_view clause = failing_part(text);
    const std::string version = found(clause, R"((?:^|[^\w.])v?(\d+\.\d+(?:\.\d+)?))");
    if (version.empty())
        return;
    if (value_matches(clause, R"(wheel|\bpip\b|therock|rocm-sdk|bundled)")) {
        set_once(python.torch_hip, version);
        set_once(python.torch_kind, "rocm");
        set_once(python.rocm_style, value_matches(clause, "therock|rocm-sdk") ? "packages" : "bundled");
        return;
    }
    RocmInstallation installation;
    installation.version = {version, source};
    facts.rocm.installations.push_back(std::move(installation));
}

void read_posted_os(std::string_view text, System& system) {
    if (is_unstated(text))
        return;
    set_once(system.os_name, std::string(trim(text)));
    const std::string wsl = found(text, R"(\bWSL ?(\d?)\b)");
    if (!system.wsl && value_matches(text, R"(\bWSL ?\d?\b|windows subsystem for linux)"))
        system.wsl = {wsl == "1" ? 1 : 2, source};
    struct Name {
        std::string_view id;
        const char* pattern;
    };
    static constexpr std::array names{
        Name{"ubuntu", R"(\b[kx]?ubuntu\b(?: lts)?[ -]*)"},
        Name{"debian", R"(\bdebian\b(?: gnu/linux)?[ -]*)"},
        Name{"fedora", R"(\bfedora\b(?: linux)?[ -]*)"},
        Name{"arch", R"(\b(?:arch|cachyos|endeavouros|manjaro)\b[ -]*)"},
        Name{"rhel", R"(\b(?:rhel|red hat[\w ]*)\b[ -]*)"},
        Name{"rocky", R"(\brocky\b(?: linux)?[ -]*)"},
        Name{"centos", R"(\bcentos\b[ -]*)"},
        Name{"sles", R"(\b(?:sles|suse linux enterprise[\w ]*)\b[ -]*)"},
        Name{"opensuse", R"(\bopensuse\b[ -]*)"},
        Name{"nixos", R"(\bnixos\b[ -]*)"},
        Name{"gentoo", R"(\bgentoo\b[ -]*)"},
        Name{"pop", R"(\bpop!?_?os\b!?[ -]*)"},
        Name{"linuxmint", R"(\b(?:linux )?mint\b[ -]*)"},
        Name{"windows", R"(\bwindows\b[ -]*)"},
    };
    for (const Name& name : names) {
        if (!value_matches(text, name.pattern))
            continue;
        set_once(system.os_id, std::string(name.id));
        set_once(system.os_version, found(text, (std::string(name.pattern) + R"((\d+(?:\.\d+)*))").c_str()));
        break;
    }
}

void read_posted_kernel(std::string_view text, System& system) {
    if (is_unstated(text))
        return;
    set_once(system.kernel, found(failing_part(text), R"((\d+\.\d+\S*))"));
    if (!system.wsl && system.kernel)
        system.wsl = {value_matches(text, R"(microsoft|\bWSL)") ? 2 : 0, source};
}

void read_posted_container(std::string_view text, System& system) {
    if (is_unstated(text))
        return;
    static constexpr std::array kinds{std::pair{"podman", "podman"},
                                      std::pair{"singularity", "singularity"},
                                      std::pair{"apptainer", "singularity"},
                                      std::pair{"docker", "docker"},
                                      std::pair{"kubernetes|\\bk8s\\b|\\bpod\\b", "kubernetes"},
                                      std::pair{"\\blx[cd]\\b|incus", "lxc"},
                                      std::pair{"toolbox|distrobox", "podman"},
                                      std::pair{"nspawn", "systemd-nspawn"}};
    if (value_matches(text, R"(\brootless\b)"))
        system.rootless = {true, source};
    if (value_matches(text, R"(^(?:none|no\b|false|bare[ -]metal|not in a container|host))")) {
        set_once(system.container, "none");
        return;
    }
    for (const auto& [pattern, kind] : kinds)
        if (value_matches(text, pattern)) {
            set_once(system.container, kind);
            return;
        }
    set_once(system.container, "other");
}

void read_posted_driver(std::string_view text, Drivers& drivers) {
    if (is_unstated(text))
        return;
    constexpr const char* nvidia = R"(\b(\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b)";
    for (const std::string_view clause : split(text, ',')) {
        const std::string version = found(clause, nvidia);
        if (version.empty())
            continue;
        if (value_matches(clause, R"(user[ -]?space|librar|libcuda|nvml|package|installed)") &&
            !value_matches(clause, "kernel"))
            set_once(drivers.nvidia_library, version);
        else
            set_once(drivers.nvidia_module, version);
    }
    set_once(drivers.nvidia_cuda, found(text, R"(\bcuda\D{0,20}(\d{1,2}\.\d))"));
    const std::string amdgpu = found(text, R"(\bamdgpu(?:-dkms)?[ /:=v]*(\d+\.\d+[\w.-]*))");
    if (!amdgpu.empty()) {
        KernelModule module;
        module.name = "amdgpu";
        module.version = {amdgpu, source};
        drivers.modules.push_back(std::move(module));
    }
}

void read_posted_environment(std::string_view text, ProcessEnvironment& environment) {
    static const RE2 assignment(
        R"re(\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\s*(?:=|:\s)\s*("[^"]*"|'[^']*'|[^\s,;]+))re", RE2::Quiet);
    static const RE2 as_target(R"((?i)\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b[^=;]{0,40}?\b(gfx\d{3,4}[0-9a-f]?)\b)",
                               RE2::Quiet);
    static const RE2 worded(
        R"re(\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?: (?:is|was|set|to))*\s+\(?["']?(\d[\w.:]*))re", RE2::Quiet);
    static const RE2 set(R"(\b([A-Z][A-Z0-9]*_[A-Z0-9_]+) (?:is |was )?(?:set|present|exported))",
                         RE2::Quiet);
    if (is_unstated(text))
        return;
    std::map<std::string, std::string> variables = environment.variables.value_or({});
    std::string name;
    std::string value;
    const auto read = [&](const RE2& pattern, auto&& value_of) {
        re2::StringPiece rest = text;
        while (RE2::FindAndConsume(&rest, pattern, &name, &value))
            if (std::string made = value_of(value); !made.empty())
                variables.try_emplace(name, std::move(made));
    };
    read(assignment, [](std::string given) {
        if (given.size() >= 2 && (given.front() == '"' || given.front() == '\''))
            return given.substr(1, given.size() - 2);
        return given;
    });
    read(worded, [](const std::string& given) { return given; });
    read(as_target, [](const std::string& gfx) { return override_of_gfx(gfx); });
    re2::StringPiece rest = text;
    while (RE2::FindAndConsume(&rest, set, &name))
        variables.try_emplace(name, "(set)");
    if (!variables.empty())
        environment.variables = {std::move(variables), source};
    environment.source = source;
}

void read_posted_notes(std::string_view text, Facts& facts, PythonEnvironment& python) {
    static const RE2 package(
        R"((?i)\b(numpy|pytorch-triton-rocm|triton-windows|triton|bitsandbytes|torch-directml|lightning|amdsmi)[ =]*v?(\d+\.\d+[\w.+]*))",
        RE2::Quiet);
    re2::StringPiece rest = text;
    std::string name;
    std::string version;
    while (RE2::FindAndConsume(&rest, package, &name, &version)) {
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        python.packages.push_back({name, version, "", source, ""});
    }
    System& system = facts.system;
    if (!system.wsl && value_matches(text, R"(\bWSL ?2?\b)"))
        system.wsl = {2, source};
    if (!system.container &&
        value_matches(text, R"(\b(?:docker|podman|singularity|apptainer)\b|\bcontainer\b)") &&
        !value_matches(text, R"(\b(?:no|without|not in a) (?:docker|container))"))
        read_posted_container(text, system);
    const std::string hypervisor = found(text, R"(\b(vmware|virtualbox|proxmox|qemu|kvm|hyper-v|esxi)\b)");
    if (!hypervisor.empty()) {
        std::string lower = hypervisor;
        std::transform(lower.begin(), lower.end(), lower.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        set_once(system.hypervisor, lower == "esxi"                         ? "vmware"
                                    : lower == "proxmox" || lower == "qemu" ? "kvm"
                                                                            : lower);
    }
    std::uint64_t number = 0;
    if (RE2::PartialMatch(text, R"((?i)ulimit -n\D{0,6}(\d{2,8})\b)", &number))
        system.open_files_limit = {number, source};
    if (RE2::PartialMatch(text, R"((?i)/dev/shm\D{0,20}(\d{1,6}) ?M)", &number))
        system.shared_memory_total = {number << 20U, source};
}

} // namespace rekindle::doctor
