#include "plan/platform.h"

#include "conditions/evaluate.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/devices.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

bool lists(const std::vector<std::string>& list, const std::string& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

/// Discrete GPUs before integrated ones; with several vendors, the one that torch is built for.
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

/// Unknown, or one of those that are listed.
bool takes(const std::vector<std::string>& list, const std::string& known) {
    return list.empty() || known.empty() || lists(list, known);
}

bool fits_system(const Applicability& applicability, const Platform& platform) {
    if (!platform.system.empty())
        return lists(applicability.systems, platform.system);
    // An unknown system has at least a Unix shell, unless it is Windows.
    return applicability.place != "windows" &&
           (lists(applicability.systems, "linux") || lists(applicability.systems, "wsl"));
}

bool fits_vendor(const Applicability& applicability, const Platform& platform) {
    return applicability.vendors.empty() || platform.vendors.empty() ||
           std::any_of(platform.vendors.begin(), platform.vendors.end(),
                       [&](const std::string& vendor) { return lists(applicability.vendors, vendor); });
}

bool fits_container(const Applicability& applicability, const Platform& platform) {
    if (applicability.place == "container" && platform.in_container == false)
        return false;
    return takes(applicability.containers, platform.container);
}

bool fits_vulkan(const Applicability& applicability, const Platform& platform) {
    if (applicability.vulkan.empty() || !platform.vulkan)
        return true;
    return *platform.vulkan == (applicability.vulkan == "works");
}

} // namespace

Platform platform_of(const HostView& view) {
    const System& system = view.facts.system;
    Platform platform;
    platform.system = system_of(system);
    if (system.container)
        platform.in_container = in_container(view);
    if (in_container(view))
        platform.container = *system.container;
    platform.distribution = system.os_id.value_or("");
    platform.vendors = vendors_of(view);
    if (view.python) {
        platform.rocm = view.python->rocm_style.value_or("");
        platform.environment = view.python->kind;
    }
    platform.vulkan = vulkan_of(view);
    platform.situation = situation_of(view.facts, view.knowledge);
    return platform;
}

Platform ground_for(Platform platform, const HostView& view, const Finding& finding) {
    std::vector<std::string> vendors;
    for (const Gpu& gpu : view.facts.gpus)
        if (lists(finding.devices, gpu.address) && !lists(vendors, gpu.vendor))
            vendors.push_back(gpu.vendor);
    if (!vendors.empty())
        platform.vendors = std::move(vendors);
    return platform;
}

bool applies(const Applicability& applicability, const Platform& platform) {
    // The distribution of the host below a container is unknown.
    const bool elsewhere = applicability.place != "here" && platform.in_container.value_or(false);
    if (!fits_system(applicability, platform) || !fits_vendor(applicability, platform) ||
        !fits_container(applicability, platform) || !fits_vulkan(applicability, platform) ||
        !takes(applicability.distributions, elsewhere ? "" : platform.distribution) ||
        !takes(applicability.rocm, platform.rocm) || !takes(applicability.environments, platform.environment))
        return false;
    return applicability.requires_known.key.empty() ||
           evaluate(applicability.requires_known, platform.situation).truth == Truth::yes;
}

std::string place_of(const Applicability& applicability, const Platform& platform) {
    if (applicability.place == "windows")
        return platform.system == "windows" ? "" : "in Windows, outside of WSL";
    if (applicability.place == "container")
        return "on the host, where the container is started";
    return applicability.place == "host" && platform.in_container.value_or(false)
               ? "on the host, outside the container"
               : "";
}

} // namespace rekindle::doctor
