#include "facts/versions.h"
#include "rules/rule.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

void add_wheel(Finding& finding, const HostView& view) {
    const PythonEnvironment& python = *view.python;
    if (python.torch)
        add_evidence(finding, "torch", python.torch, *python.torch);
    if (python.torch_hip)
        add_evidence(finding, "torch.version.hip", python.torch_hip, *python.torch_hip);
    if (python.torch_cuda)
        add_evidence(finding, "torch.version.cuda", python.torch_cuda, *python.torch_cuda);
}

void add_gpu(Finding& finding, const HostView& view, const Gpu& gpu) {
    const std::string gfx = gfx_of(view, gpu);
    const std::string target = gfx.empty() ? sm_of(view, gpu) : gfx;
    add_evidence(finding, name_of(view, gpu), gpu.gfx ? gpu.gfx.source : gpu.pci_id.source,
                 target.empty() ? gpu.address : target);
    finding.devices.push_back(gpu.address);
    if (!gfx.empty())
        finding.parameters.try_emplace("gfx", gfx);
    else if (!target.empty())
        finding.parameters.try_emplace("sm", target);
}

std::vector<const Gpu*> worth_training(const HostView& view, const std::vector<const Gpu*>& gpus) {
    std::vector<const Gpu*> chosen;
    std::copy_if(gpus.begin(), gpus.end(), std::back_inserter(chosen),
                 [&](const Gpu* gpu) { return worth_training_on(view, *gpu); });
    return chosen;
}

/// Whether any known wheel has code for the GPU.
bool some_wheel_covers(const HostView& view, const Gpu& gpu) {
    const std::string gfx = gfx_of(view, gpu);
    const std::string sm = sm_of(view, gpu);
    return std::any_of(view.knowledge.indexes.begin(), view.knowledge.indexes.end(),
                       [&](const WheelIndex& index) {
                           return (!gfx.empty() && view.knowledge.covers(index.targets, gfx)) ||
                                  (!sm.empty() && view.knowledge.covers(index.targets, sm));
                       });
}

/// Remedies for a GPU for which the wheel has no code, depending on its family (gfx_targets.yaml).
std::vector<std::string> remedies_without_code(const HostView& view, const Gpu& gpu) {
    const GfxTarget* target = view.knowledge.gfx(gfx_of(view, gpu));
    std::vector<std::string> remedies;
    if (target)
        for (const GfxTarget::Override& known : target->overrides)
            if (known.verdict == "safe")
                remedies.emplace_back("set-family-override");
    remedies.insert(remedies.end(), {"use-wheel-with-gfx", "use-native-wheel"});
    if (target && target->architecture == "RDNA1")
        remedies.emplace_back("triton-no-buffer-ops");
    remedies.insert(remedies.end(), {"use-container", "use-vulkan-route", "use-cpu"});
    return remedies;
}

bool official_wheel_covers(const HostView& view, const std::string& gfx) {
    return std::any_of(view.knowledge.indexes.begin(), view.knowledge.indexes.end(),
                       [&](const WheelIndex& index) {
                           return index.kind == "rocm" && !index.device_packages &&
                                  view.knowledge.covers(index.targets, gfx);
                       });
}

/// Another build of torch for the GPU: the official one, or the alternatives for a GPU that it does not
/// support.
std::vector<std::string> remedies_for_another_build(const HostView& view, const Gpu& gpu) {
    if (gpu.vendor == "nvidia")
        return {"install-cuda-torch"};
    const std::string gfx = gfx_of(view, gpu);
    if (gfx.empty() || official_wheel_covers(view, gfx))
        return {"install-rocm-torch"};
    return remedies_without_code(view, gpu);
}

bool unsafe_override(const HostView& view, const Gpu& gpu, const Override& set) {
    const GfxTarget* target = view.knowledge.gfx(gfx_of(view, gpu));
    if (target)
        for (const GfxTarget::Override& known : target->overrides)
            if (known.value == set.value)
                return known.verdict == "unsafe" || known.verdict == "risky";
    return true;
}

/// Part of the environment outside the wheel's own code object list: rocBLAS data, an extension.
bool lacks(const HostView& view, const LibraryTargets& library, const std::string& gfx) {
    return library.unread.empty() && !library.targets.empty() && !view.knowledge.covers(library.targets, gfx);
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

/// ".../site-packages/bitsandbytes/libbitsandbytes_rocm72.so" → "bitsandbytes".
std::string package_of(const std::string& path) {
    constexpr std::string_view packages = "/site-packages/";
    const std::size_t at = path.find(packages);
    if (at == std::string::npos)
        return "";
    const std::string inside = path.substr(at + packages.size());
    return inside.substr(0, inside.find_first_of("/."));
}

/// bitsandbytes has one library for each ROCm release and loads the one for torch's own release.
bool is_for_another_rocm(const HostView& view, const LibraryTargets& library) {
    constexpr std::string_view prefix = "libbitsandbytes_rocm";
    const std::string name = file_name(library.path);
    if (!name.starts_with(prefix))
        return name.starts_with("libbitsandbytes");
    std::string digits = torch_rocm(view);
    std::erase(digits, '.');
    const std::string release = name.substr(prefix.size(), name.find('.') - prefix.size());
    return digits.empty() || !digits.starts_with(release);
}

/// A torch that is built for something other than `gpus`.
Finding wrong_build(std::string cause, const HostView& view, const std::vector<const Gpu*>& gpus,
                    std::string statement) {
    Finding finding = make_finding(std::move(cause), Severity::problem, std::move(statement));
    add_wheel(finding, view);
    for (const Gpu* gpu : gpus)
        add_gpu(finding, view, *gpu);
    return finding;
}

} // namespace

Findings cuda_wheel_on_amd(const HostView& view) {
    const auto gpus = worth_training(view, view.amd);
    if (torch_kind(view) != "cuda" || gpus.empty() || !view.nvidia.empty())
        return {};
    Finding finding =
        wrong_build("cuda-wheel-on-amd", view, gpus,
                    fmt::format("torch {} is built for CUDA, but this host has an AMD GPU ({}).",
                                view.python->torch.value_or("here"), name_of(view, *gpus.front())));
    finding.remedies = remedies_for_another_build(view, *gpus.front());
    return {finding};
}

Findings cpu_wheel(const HostView& view) {
    if (torch_kind(view) != "cpu")
        return {};
    std::vector<const Gpu*> gpus = view.nvidia;
    const DeviceNode* kfd = device_node(view, "/dev/kfd");
    const bool withheld = in_container(view) && kfd &&
                          !kfd->exists; // a container without access to a GPU is meant not to use one
    if (!withheld)
        for (const Gpu* gpu : worth_training(view, view.amd))
            gpus.push_back(gpu);
    std::erase_if(gpus, [&](const Gpu* gpu) { return !some_wheel_covers(view, *gpu); });
    if (gpus.empty())
        return {};
    Finding finding =
        wrong_build("cpu-wheel", view, gpus,
                    fmt::format("torch {} is built for the CPU only; it cannot use the {}.",
                                view.python->torch.value_or("here"), name_of(view, *gpus.front())));
    finding.remedies = remedies_for_another_build(view, *gpus.front());
    return {finding};
}

Findings rocm_wheel_on_nvidia(const HostView& view) {
    if (torch_kind(view) != "rocm" || !view.amd.empty() || view.nvidia.empty())
        return {};
    return {
        wrong_build("rocm-wheel-on-nvidia", view, view.nvidia,
                    fmt::format("torch {} is built for ROCm, but this host has an NVIDIA GPU ({}).",
                                view.python->torch.value_or("here"), name_of(view, *view.nvidia.front())))};
}

Findings wheel_lacks_gfx(const HostView& view) {
    const WheelTargets targets = torch_kind(view) == "rocm" ? torch_targets(view) : WheelTargets{};
    if (!targets.known)
        return {};
    Findings findings;
    for (const Gpu* gpu : training_amd(view)) {
        const std::string gfx = gfx_of(view, *gpu);
        if (gfx.empty() || view.knowledge.covers(targets.names, gfx))
            continue;
        const auto set = override_of(view, *gpu);
        if (set && view.knowledge.covers(targets.names, set->gfx) && !unsafe_override(view, *gpu, *set))
            continue;
        Finding finding =
            make_finding("wheel-lacks-gfx", Severity::problem,
                         fmt::format("torch {} has no code for {}, the target of the {}.",
                                     view.python->torch.value_or("here"), gfx, name_of(view, *gpu)));
        add_wheel(finding, view);
        add_gpu(finding, view, *gpu);
        add_evidence(finding, "targets in the wheel", targets.source,
                     fmt::format("{}", fmt::join(targets.names, " ")));
        finding.remedies = remedies_without_code(view, *gpu);
        findings.push_back(std::move(finding));
    }
    return findings;
}

Findings device_package_missing(const HostView& view) {
    if (torch_kind(view) != "rocm" || !view.python->rocm_style.is("packages") || torch_targets(view).known)
        return {};
    bool multi_arch = false;
    for (const PythonPackage& package : view.python->packages) {
        if (package.name.starts_with("rocm-sdk-libraries-"))
            return {}; // wheels for one family contain their code themselves
        multi_arch = multi_arch || package.name == "rocm-sdk-core";
    }
    const auto gpus = training_amd(view);
    if (!multi_arch || gpus.empty() || gfx_of(view, *gpus.front()).empty())
        return {};
    Finding finding = make_finding(
        "device-package-missing", Severity::problem,
        fmt::format(
            "torch {} gets its GPU code from a package for each target, and none is installed for {}.",
            view.python->torch.value_or("here"), gfx_of(view, *gpus.front())));
    add_wheel(finding, view);
    add_gpu(finding, view, *gpus.front());
    return {finding};
}

Findings math_library_lacks_gfx(const HostView& view) {
    const WheelTargets targets = torch_kind(view) == "rocm" ? torch_targets(view) : WheelTargets{};
    Findings findings;
    for (const Gpu* gpu : targets.known ? training_amd(view) : std::vector<const Gpu*>{}) {
        const std::string gfx = gfx_of(view, *gpu);
        if (gfx.empty() || !view.knowledge.covers(targets.names, gfx))
            continue;
        const auto report = [&](std::string source, std::string value) {
            Finding finding = make_finding(
                "library-lacks-gfx", Severity::problem,
                fmt::format(
                    "torch {} has code for {}, but its rocBLAS has no kernels for it: matrix products fail.",
                    view.python->torch.value_or("here"), gfx));
            add_wheel(finding, view);
            add_gpu(finding, view, *gpu);
            add_evidence(finding, "targets of rocBLAS", std::move(source), std::move(value));
            finding.remedies = {"use-wheel-with-gfx", "use-native-wheel", "use-container",
                                "use-vulkan-route"};
            findings.push_back(std::move(finding));
        };
        bool scanned = false;
        bool found = false;
        std::string path;
        std::string listed;
        for (const LibraryTargets& library : view.python->libraries) {
            if (library.part != "rocblas" || library.targets.empty() || !library.unread.empty())
                continue;
            scanned = true;
            found = found || !lacks(view, library, gfx);
            path = library.path;
            listed = fmt::format("{}", fmt::join(library.targets, " "));
        }
        const GfxTarget* target = view.knowledge.gfx(gfx);
        const std::string rocm = torch_rocm(view);
        if (scanned && !found)
            report(path, listed);
        else if (!scanned && !view.python->rocm_style.is("packages") && target &&
                 !target->last_rocm.empty() && !rocm.empty() &&
                 compare_versions(rocm, target->last_rocm) > 0 && !same_release(rocm, target->last_rocm))
            report(fmt::format("knowledge/{}:{}", target->origin.file, target->origin.line),
                   fmt::format("{} is supported up to ROCm {}", gfx, target->last_rocm));
    }
    return findings;
}

Findings extension_lacks_gfx(const HostView& view) {
    Findings findings;
    if (torch_kind(view) != "rocm")
        return findings;
    for (const Gpu* gpu : training_amd(view)) {
        const auto set = override_of(view, *gpu);
        const std::string gfx = set ? set->gfx : gfx_of(view, *gpu);
        for (const LibraryTargets& library : view.python->libraries) {
            if (gfx.empty() || library.part != "extension" || !lacks(view, library, gfx) ||
                is_for_another_rocm(view, library))
                continue;
            Finding finding =
                make_finding("extension-lacks-gfx", Severity::problem,
                             fmt::format("{} has no code for {}; torch itself is not the reason.",
                                         file_name(library.path), gfx));
            add_gpu(finding, view, *gpu);
            add_evidence(finding, "targets in the extension", library.path,
                         fmt::format("{}", fmt::join(library.targets, " ")));
            finding.parameters["extension"] = file_name(library.path);
            finding.parameters["package"] = package_of(library.path);
            findings.push_back(std::move(finding));
        }
    }
    return findings;
}

Findings empty_code_object(const HostView& view) {
    constexpr std::uint64_t empty = 16UL * 1024;
    constexpr std::uint64_t complete = 1024UL * 1024;
    Findings findings;
    if (torch_kind(view) != "rocm")
        return findings;
    for (const Gpu* gpu : training_amd(view)) {
        const std::string gfx = gfx_of(view, *gpu);
        for (const LibraryTargets& library : view.python->libraries) {
            const std::pair<const std::string, std::uint64_t>* small = nullptr;
            const std::pair<const std::string, std::uint64_t>* full = nullptr;
            for (const auto& part : library.bytes) {
                if (gfx.empty() || !view.knowledge.covers(part.first, gfx))
                    continue;
                if (part.second < empty && part.first.find(':') != std::string::npos)
                    small = &part;
                if (part.second > complete)
                    full = &part;
            }
            if (!small || !full)
                continue;
            Finding finding = make_finding("packaging-empty-code-object", Severity::problem,
                                           fmt::format("{} has two sets of code for {}; the more specific "
                                                       "one ({}) is nearly empty and takes precedence.",
                                                       file_name(library.path), gfx, small->first));
            add_gpu(finding, view, *gpu);
            add_evidence(finding, small->first, library.path, format_bytes(small->second));
            add_evidence(finding, full->first, library.path, format_bytes(full->second));
            finding.parameters["file"] = library.path;
            findings.push_back(std::move(finding));
        }
    }
    return findings;
}

Findings rocm_packages_not_preloaded(const HostView& view) {
    if (torch_kind(view) != "rocm" || !view.python->rocm_style.is("packages") || !view.python->torch)
        return {};
    const std::string release = torch_version(*view.python->torch).release;
    if (!same_release(release, "2.7") || !view.facts.rocm.installations.empty())
        return {};
    Finding finding = make_finding(
        "torch-does-not-preload-rocm-wheel-libs", Severity::problem,
        fmt::format(
            "torch {} does not look for the HIP runtime inside the ROCm packages of this environment.",
            *view.python->torch));
    add_wheel(finding, view);
    add_evidence(finding, "where ROCm comes from", view.python->rocm_style, *view.python->rocm_style);
    return {finding};
}

Findings triton_looks_in_opt_rocm(const HostView& view) {
    if (torch_kind(view) != "rocm" || !view.python->rocm_style.is("packages") ||
        !view.facts.rocm.installations.empty() || variable(view, "TRITON_HIP_LLD_PATH"))
        return {};
    for (const std::string_view name : {"pytorch-triton-rocm", "triton"}) {
        const auto version = package_version(view, name);
        if (!version || !same_release(*version, "3.3"))
            continue;
        Finding finding = make_finding("triton-hardcoded-opt-rocm", Severity::warning,
                                       fmt::format("{} {} looks for its linker only in /opt/rocm, but ROCm "
                                                   "is installed as Python packages here: "
                                                   "torch.compile will fail.",
                                                   name, *version));
        add_evidence(finding, std::string(name), view.python->path, *version);
        add_evidence(finding, "where ROCm comes from", view.python->rocm_style, *view.python->rocm_style);
        return {finding};
    }
    return {};
}

Findings triton_on_rdna1(const HostView& view) {
    const auto gpus = training_amd(view);
    const WheelTargets targets = torch_kind(view) == "rocm" ? torch_targets(view) : WheelTargets{};
    const auto first = std::find_if(gpus.begin(), gpus.end(),
                                    [&](const Gpu* gpu) { return architecture_of(view, *gpu) == "RDNA1"; });
    if (first == gpus.end() || !targets.known ||
        !view.knowledge.covers(targets.names, gfx_of(view, **first)) ||
        variable(view, "AMDGCN_USE_BUFFER_OPS") == "0")
        return {};
    for (const std::string_view name : {"pytorch-triton-rocm", "triton"}) {
        const auto version = package_version(view, name);
        if (!version)
            continue;
        Finding finding =
            make_finding("triton-buffer-ops-on-rdna1", Severity::warning,
                         fmt::format("{} {} may fail to store results on {} without an error message.", name,
                                     *version, gfx_of(view, **first)));
        add_gpu(finding, view, **first);
        add_evidence(finding, std::string(name), view.python->path, *version);
        return {finding};
    }
    return {};
}

} // namespace rekindle::doctor
