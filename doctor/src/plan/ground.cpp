#include "plan/ground.h"

#include "log/condition.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/report.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

bool lists(const std::vector<std::string>& list, const std::string& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

bool names(const Fact<std::string>& fact, std::string_view part) {
    return fact && fact->find(part) != std::string::npos;
}

std::string system_of(const System& system) {
    if (system.wsl.value_or(0) != 0 || names(system.kernel, "microsoft"))
        return "wsl";
    if (names(system.os_id, "windows") || names(system.os_name, "Windows"))
        return "windows";
    return system.os_id || system.kernel || system.wsl ? "linux" : "";
}

/// Discrete cards before a processor's graphics; of several vendors the one that torch is built for.
std::vector<std::string> vendors_of(const HostView& view) {
    std::vector<std::string> discrete;
    std::vector<std::string> all;
    for (const Gpu& gpu : view.facts.gpus) {
        if (!lists(all, gpu.vendor))
            all.push_back(gpu.vendor);
        if (!is_integrated(view, gpu) && !lists(discrete, gpu.vendor))
            discrete.push_back(gpu.vendor);
    }
    const std::string kind = torch_kind(view);
    const std::string built_for = kind == "rocm" ? "amd" : kind == "cuda" ? "nvidia" : "";
    const std::vector<std::string>& vendors = discrete.empty() ? all : discrete;
    if (!built_for.empty() && (vendors.empty() || lists(vendors, built_for)))
        return {built_for};
    return vendors;
}

std::optional<bool> vulkan_of(const HostView& view) {
    bool none = false;
    for (const DeviceStatus& device : device_table(view.facts, view.probes, view.knowledge)) {
        if (device.vulkan.starts_with("yes"))
            return true;
        none = none || device.vulkan.starts_with("no");
    }
    return none ? std::optional(false) : std::nullopt;
}

/// Not known, or one of those that are named.
bool takes(const std::vector<std::string>& list, const std::string& known) {
    return list.empty() || known.empty() || lists(list, known);
}

bool fits_system(const Applicability& applicability, const Ground& ground) {
    if (!ground.system.empty())
        return lists(applicability.systems, ground.system);
    // A system that nobody named has at least the shell that everything but Windows has.
    return applicability.place != "windows" &&
           (lists(applicability.systems, "linux") || lists(applicability.systems, "wsl"));
}

bool fits_vendor(const Applicability& applicability, const Ground& ground) {
    return applicability.vendors.empty() || ground.vendors.empty() ||
           std::any_of(ground.vendors.begin(), ground.vendors.end(),
                       [&](const std::string& vendor) { return lists(applicability.vendors, vendor); });
}

bool fits_container(const Applicability& applicability, const Ground& ground) {
    if (applicability.place == "container" && ground.in_container == false)
        return false;
    return takes(applicability.containers, ground.container);
}

bool fits_vulkan(const Applicability& applicability, const Ground& ground) {
    if (applicability.vulkan.empty() || !ground.vulkan)
        return true;
    return *ground.vulkan == (applicability.vulkan == "works");
}

} // namespace

Ground ground_of(const HostView& view) {
    const System& system = view.facts.system;
    Ground ground;
    ground.system = system_of(system);
    if (system.container)
        ground.in_container = in_container(view);
    if (in_container(view))
        ground.container = *system.container;
    ground.distribution = system.os_id.value_or("");
    ground.vendors = vendors_of(view);
    if (view.python) {
        ground.rocm = view.python->rocm_style.value_or("");
        ground.environment = view.python->kind;
    }
    ground.vulkan = vulkan_of(view);
    ground.situation = situation_of(view.facts, view.knowledge);
    return ground;
}

Ground ground_for(Ground ground, const HostView& view, const Finding& finding) {
    std::vector<std::string> vendors;
    for (const Gpu& gpu : view.facts.gpus)
        if (lists(finding.devices, gpu.address) && !lists(vendors, gpu.vendor))
            vendors.push_back(gpu.vendor);
    if (!vendors.empty())
        ground.vendors = std::move(vendors);
    return ground;
}

bool applies(const Applicability& applicability, const Ground& ground) {
    // Of the host below a container its distribution is not known.
    const bool elsewhere = applicability.place != "here" && ground.in_container.value_or(false);
    if (!fits_system(applicability, ground) || !fits_vendor(applicability, ground) ||
        !fits_container(applicability, ground) || !fits_vulkan(applicability, ground) ||
        !takes(applicability.distributions, elsewhere ? "" : ground.distribution) ||
        !takes(applicability.rocm, ground.rocm) || !takes(applicability.environments, ground.environment))
        return false;
    return applicability.requires_known.key.empty() ||
           evaluate(applicability.requires_known, ground.situation).truth == Truth::yes;
}

std::string place_of(const Applicability& applicability, const Ground& ground) {
    if (applicability.place == "windows")
        return ground.system == "windows" ? "" : "in Windows, outside of WSL";
    if (applicability.place == "container")
        return "on the host, where the container is started";
    return applicability.place == "host" && ground.in_container.value_or(false)
               ? "on the host, outside the container"
               : "";
}

} // namespace rekindle::doctor
