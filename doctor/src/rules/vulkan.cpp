#include "rules/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// By patterns in the names of the manifest and the library: both change between versions of Mesa.
bool drives_hardware(const VulkanDriver& driver) {
    static constexpr std::array software{"lvp",         "lavapipe", "swrast",   "llvmpipe",
                                         "swiftshader", "virtio",   "gfxstream"};
    const std::string names = driver.manifest + " " + driver.library.value_or("");
    return std::none_of(software.begin(), software.end(),
                        [&](std::string_view name) { return has(names, name); });
}

bool works(const VulkanDriver& driver) {
    return !driver.library_exists.is(false) && driver.missing_libraries.empty();
}

bool has_cuda_or_rocm(const HostView& view, const Gpu& gpu) {
    if (gpu.vendor == "nvidia")
        return true;
    const std::string gfx = gfx_of(view, gpu);
    if (gpu.vendor != "amd" || gfx.empty())
        return gpu.vendor == "amd"; // unknown does not mean missing
    return std::any_of(view.knowledge.indexes.begin(), view.knowledge.indexes.end(),
                       [&](const WheelIndex& index) { return view.knowledge.covers(index.targets, gfx); });
}

void add_drivers(Finding& finding, const HostView& view) {
    if (view.facts.vulkan.drivers.empty())
        add_evidence(finding, "Vulkan drivers", "/usr/share/vulkan/icd.d, /etc/vulkan/icd.d", "no manifest");
    for (const VulkanDriver& driver : view.facts.vulkan.drivers)
        add_evidence(finding, "Vulkan driver", driver.manifest,
                     !driver.missing_libraries.empty()
                         ? fmt::format("{} lacks {}", driver.library.value_or("its library"),
                                       fmt::join(driver.missing_libraries, ", "))
                     : driver.library_exists.is(false)
                         ? fmt::format("{} does not exist", driver.library.value_or("its library"))
                     : drives_hardware(driver) ? driver.library.value_or("there")
                                               : "renders on the CPU");
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
        if (const auto value = variable(view, name))
            add_evidence(finding, name, view.facts.environment.source, *value);
}

bool was_looked_at(const HostView& view) {
    return view.facts.vulkan.loader.known() || !view.facts.vulkan.loader.unread.empty();
}

} // namespace

bool relies_on_vulkan(const HostView& view) {
    if (view.python && !view.python->private_backends.empty())
        return true;
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"})
        if (variable(view, name))
            return true;
    return std::any_of(view.facts.gpus.begin(), view.facts.gpus.end(), [&](const Gpu& gpu) {
        return gpu.vendor != "other" && worth_training_on(view, gpu) && !has_cuda_or_rocm(view, gpu);
    });
}

Findings no_vulkan_driver(const HostView& view) {
    const auto& drivers = view.facts.vulkan.drivers;
    const auto gpu = std::find_if(view.facts.gpus.begin(), view.facts.gpus.end(), [](const Gpu& each) {
        return each.vendor == "amd" || each.vendor == "nvidia" || each.vendor == "intel";
    });
    const bool usable = std::any_of(drivers.begin(), drivers.end(), [](const VulkanDriver& driver) {
        return drives_hardware(driver) && works(driver);
    });
    const bool lacks_library = std::any_of(drivers.begin(), drivers.end(), [](const VulkanDriver& driver) {
        return drives_hardware(driver) && !driver.missing_libraries.empty();
    });
    if (!was_looked_at(view) || gpu == view.facts.gpus.end() || usable || lacks_library)
        return {};
    const bool software = std::any_of(drivers.begin(), drivers.end(),
                                      [](const VulkanDriver& driver) { return !drives_hardware(driver); });
    Finding finding = make_finding(
        "no-vulkan-driver", relies_on_vulkan(view) ? Severity::problem : Severity::note,
        software ? fmt::format("The only Vulkan driver here runs on the CPU; there is none for the {}.",
                               name_of(view, *gpu))
                 : fmt::format("There is no Vulkan driver for the {}.", name_of(view, *gpu)));
    if (!view.facts.vulkan.loader)
        add_evidence(finding, "Vulkan loader", view.facts.vulkan.loader, view.facts.vulkan.loader.unread);
    add_drivers(finding, view);
    finding.devices = {gpu->address};
    finding.parameters["vendor"] = gpu->vendor;
    finding.remedies = {gpu->vendor != "nvidia" ? "install-vulkan-driver"
                        : in_container(view)    ? "pass-nvidia-to-container"
                                                : "install-nvidia-driver"};
    return {finding};
}

Findings vulkan_driver_lacks_library(const HostView& view) {
    const auto& drivers = view.facts.vulkan.drivers;
    const auto broken = std::find_if(drivers.begin(), drivers.end(), [](const VulkanDriver& driver) {
        return drives_hardware(driver) && !driver.missing_libraries.empty();
    });
    const bool usable = std::any_of(drivers.begin(), drivers.end(), [](const VulkanDriver& driver) {
        return drives_hardware(driver) && works(driver);
    });
    if (broken == drivers.end() || usable || view.facts.gpus.empty())
        return {};
    const bool egl = std::any_of(broken->missing_libraries.begin(), broken->missing_libraries.end(),
                                 [](const std::string& name) { return name.starts_with("libEGL"); });
    Finding finding = make_finding(egl ? "vk-container-missing-libegl" : "vulkan-driver-lacks-library",
                                   relies_on_vulkan(view) ? Severity::problem : Severity::note,
                                   fmt::format("The Vulkan driver {} cannot start: {} is missing.",
                                               broken->library.value_or(broken->manifest),
                                               fmt::join(broken->missing_libraries, ", ")));
    add_drivers(finding, view);
    finding.parameters["library"] = broken->missing_libraries.front();
    return {finding};
}

} // namespace rekindle::doctor
