#include "facts/versions.h"
#include "rules/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

/// The index that the examined CUDA wheel comes from; nullptr if it is unknown.
const WheelIndex* cuda_index(const HostView& view) {
    std::string id = "cu" + torch_cuda(view);
    std::erase(id, '.');
    return view.knowledge.index(id);
}

void add_cuda_torch(Finding& finding, const HostView& view) {
    add_evidence(finding, "torch", view.python->torch, view.python->torch.value_or("not read"));
    add_evidence(finding, "CUDA of the wheel", view.python->torch_cuda, torch_cuda(view));
    finding.parameters["cuda"] = torch_cuda(view);
}

int number_in_digits(std::string_view sm) {
    int number = 0;
    for (const char c : sm)
        if (c >= '0' && c <= '9')
            number = number * 10 + (c - '0');
    return number;
}

} // namespace

Findings nvidia_driver_missing(const HostView& view) {
    Findings findings;
    const bool module_loaded = view.facts.drivers.nvidia_module.known();
    const bool through_wsl = view.facts.system.wsl.value_or(0) != 0;
    const auto& nodes = view.facts.system.device_nodes;
    const bool device_files = std::any_of(nodes.begin(), nodes.end(), [](const DeviceNode& node) {
        return node.exists && node.path.starts_with("/dev/nvidia");
    });
    for (const Gpu* gpu : view.nvidia) {
        const bool nouveau = gpu->kernel_driver.is("nouveau");
        const bool unbound =
            gpu->kernel_driver.unread.find("no driver") != std::string::npos && !module_loaded;
        if (torch_kind(view) != "cuda" || through_wsl || device_files || !(nouveau || unbound))
            continue;
        Finding finding =
            make_finding("nvidia-driver-missing", Severity::problem,
                         nouveau ? fmt::format("The {} uses the driver nouveau, which does not support CUDA.",
                                               name_of(view, *gpu))
                                 : fmt::format("No driver is bound to the {}.", name_of(view, *gpu)));
        add_evidence(finding, "kernel driver", gpu->kernel_driver, nouveau ? "nouveau" : "none");
        finding.devices = {gpu->address};
        findings.push_back(std::move(finding));
    }
    return findings;
}

Findings nvidia_module_and_library_differ(const HostView& view) {
    const Drivers& drivers = view.facts.drivers;
    if (!drivers.nvidia_module || !drivers.nvidia_library ||
        *drivers.nvidia_module == *drivers.nvidia_library)
        return {};
    Finding finding = make_finding("kernel-module-older-than-userspace", Severity::problem,
                                   fmt::format("The loaded NVIDIA kernel module is {}, but its libraries are "
                                               "{}: both must have the same version.",
                                               *drivers.nvidia_module, *drivers.nvidia_library));
    add_evidence(finding, "loaded module", drivers.nvidia_module, *drivers.nvidia_module);
    add_evidence(finding, "library", drivers.nvidia_library, *drivers.nvidia_library);
    if (in_container(view))
        finding.distinguishing_checks = {
            "in a container the library comes from the host or the image: compare the host's own"};
    return {finding};
}

Findings nvidia_driver_too_old(const HostView& view) {
    const std::string cuda = torch_cuda(view);
    const Drivers& drivers = view.facts.drivers;
    if (cuda.empty() || view.nvidia.empty())
        return {};
    const WheelIndex* index = cuda_index(view);
    const Fact<std::string>& driver = drivers.nvidia_module ? drivers.nvidia_module : drivers.nvidia_library;
    const bool by_driver = index && !index->minimum_driver.empty() && driver;
    const bool too_old =
        by_driver ? compare_versions(*driver, index->minimum_driver) < 0
                  : drivers.nvidia_cuda &&
                        number_in_digits(cuda.substr(0, cuda.find('.'))) >
                            number_in_digits(drivers.nvidia_cuda->substr(0, drivers.nvidia_cuda->find('.')));
    if (!too_old)
        return {};
    Finding finding = make_finding(
        "driver-older-than-wheel-cuda", Severity::problem,
        by_driver ? fmt::format("The NVIDIA driver is {}; a wheel for CUDA {} needs {} or newer.", *driver,
                                cuda, index->minimum_driver)
                  : fmt::format("The NVIDIA driver supports CUDA up to {}; the wheel needs CUDA {}.",
                                *drivers.nvidia_cuda, cuda));
    if (driver)
        add_evidence(finding, "driver", driver, *driver);
    if (drivers.nvidia_cuda)
        add_evidence(finding, "newest CUDA of the driver", drivers.nvidia_cuda, *drivers.nvidia_cuda);
    add_cuda_torch(finding, view);
    for (const Gpu* gpu : view.nvidia)
        finding.devices.push_back(gpu->address);
    return {finding};
}

Findings wheel_lacks_sm(const HostView& view) {
    const WheelTargets targets = torch_kind(view) == "cuda" ? torch_targets(view) : WheelTargets{};
    Findings findings;
    if (!targets.known)
        return findings;
    int oldest = 10000;
    for (const std::string& target : targets.names)
        oldest = std::min(oldest, number_in_digits(target));
    for (const Gpu* gpu : view.nvidia) {
        const std::string sm = sm_of(view, *gpu);
        if (sm.empty() || view.knowledge.covers(targets.names, sm))
            continue;
        const bool dropped = number_in_digits(sm) < oldest;
        Finding finding =
            make_finding(dropped ? "wheel-dropped-old-sm" : "wheel-lacks-sm", Severity::problem,
                         fmt::format("torch {} has no code for {}, the {}: the wheel {} it.",
                                     view.python->torch.value_or("here"), sm, name_of(view, *gpu),
                                     dropped ? "no longer supports" : "is older than"));
        add_evidence(finding, name_of(view, *gpu), gpu->compute_capability, sm);
        add_evidence(finding, "targets in the wheel", targets.source,
                     fmt::format("{}", fmt::join(targets.names, " ")));
        add_cuda_torch(finding, view);
        finding.devices = {gpu->address};
        finding.parameters["sm"] = sm;
        if (!dropped)
            finding.remedies = {"use-newer-cuda-wheel"};
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace rekindle::doctor
