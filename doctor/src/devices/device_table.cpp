#include "knowledge/gpu_model.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/devices.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

const PythonEnvironment* active_python(const Facts& facts) {
    const auto& pythons = facts.pythons;
    const auto with_torch = [](const PythonEnvironment& one) { return one.torch.known(); };
    for (const PythonEnvironment& python : pythons)
        if (python.active && python.torch.known())
            return &python;
    const auto any = std::find_if(pythons.begin(), pythons.end(), with_torch);
    return any == pythons.end() ? nullptr : &*any;
}

std::vector<std::string> targets_of(const PythonEnvironment& python, const Knowledge& knowledge) {
    for (const LibraryTargets& library : python.libraries)
        if (library.part == "torch" && !library.targets.empty())
            return library.targets;
    const std::string& version = *python.torch;
    const std::size_t plus = version.find('+');
    const WheelIndex* index = plus == std::string::npos ? nullptr : knowledge.index(version.substr(plus + 1));
    return index == nullptr ? std::vector<std::string>{} : index->targets_of(version.substr(0, plus));
}

/// The status of `python`'s PyTorch of this kind ("rocm", "cuda") for `target`: "yes …", or why not.
std::string torch_status(const PythonEnvironment* python, const std::string& kind, const std::string& target,
                         const Knowledge& knowledge) {
    if (python == nullptr)
        return "not set up: no Python with PyTorch was found";
    if (!python->torch_kind.is(kind))
        return fmt::format("no: PyTorch {} is a build for {}", *python->torch,
                           python->torch_kind.value_or("something else"));
    const std::vector<std::string> targets = targets_of(*python, knowledge);
    if (target.empty() || targets.empty())
        return fmt::format("unknown: the targets of PyTorch {} could not be read", *python->torch);
    if (!knowledge.covers(targets, target))
        return fmt::format("no: PyTorch {} has no code for {}", *python->torch, target);
    return fmt::format("yes (PyTorch {})", *python->torch);
}

bool usable(const Facts& facts, const std::string& path) {
    for (const DeviceNode& node : facts.system.device_nodes)
        if (node.path == path)
            return !node.usable.known() || *node.usable;
    return true;
}

std::string rocm_status(const Facts& facts, const Gpu& gpu, const Knowledge& knowledge) {
    if (gpu.vendor != "amd")
        return "";
    if (facts.kfd.is(false))
        return "no: /sys/class/kfd does not exist here";
    if (!gpu.kfd_node.known() && !gpu.kfd_node.unread.empty())
        return "no: " + gpu.kfd_node.unread;
    if (!usable(facts, "/dev/kfd"))
        return "no: /dev/kfd cannot be opened";
    return torch_status(active_python(facts), "rocm", target_of(gpu, knowledge), knowledge);
}

std::string cuda_status(const Facts& facts, const Gpu& gpu, const Knowledge& knowledge) {
    if (gpu.vendor != "nvidia")
        return "";
    if (gpu.kernel_driver.known() && *gpu.kernel_driver != "nvidia")
        return fmt::format("no: its kernel driver is {}", *gpu.kernel_driver);
    return torch_status(active_python(facts), "cuda", target_of(gpu, knowledge), knowledge);
}

/// Vendors of the GPUs that a driver manifest is for, from its file name, which all packagers keep
/// recognizable.
bool manifest_serves(const std::string& manifest, const Gpu& gpu) {
    const auto has = [&](std::string_view word) { return manifest.find(word) != std::string::npos; };
    if (gpu.vendor == "amd")
        return has("radeon") || has("amd_icd") || has("amdvlk");
    if (gpu.vendor == "nvidia")
        return has("nvidia") || has("nouveau");
    if (gpu.vendor == "intel")
        return has("intel");
    return false;
}

std::string vulkan_status(const Facts& facts, const std::vector<ProbeResult>& probes, const Gpu& gpu) {
    std::string tried;
    for (const ProbeResult& probe : probes) {
        if (!probe.id.starts_with("vulkan") || probe.device != gpu.address)
            continue;
        if (probe.status == ProbeStatus::passed)
            tried = "yes (tried)";
        else if (probe.status == ProbeStatus::skipped && !tried.empty())
            tried += "; " + probe.reason; // other programs may be able to use what rekindle cannot
        else
            return "no: " + probe.reason;
    }
    if (!tried.empty())
        return tried;
    if (!facts.vulkan.loader.known())
        return facts.vulkan.loader.unread.empty() ? "" : "no: the Vulkan loader is not installed";
    for (const VulkanDriver& driver : facts.vulkan.drivers)
        if (manifest_serves(driver.manifest, gpu))
            return driver.library_exists.is(false) ? "no: the driver's library is missing"
                                                   : "yes (driver installed, not tried)";
    return "no: no Vulkan driver for it is installed";
}

std::string memory_of(const Gpu& gpu, const GpuModel* model) {
    if (gpu.vram_total.known() && gpu.vram_used.known())
        return fmt::format("{}, {} free", format_bytes(*gpu.vram_total),
                           format_bytes(*gpu.vram_total - std::min(*gpu.vram_used, *gpu.vram_total)));
    if (gpu.vram_total.known())
        return format_bytes(*gpu.vram_total);
    return model != nullptr && model->memory_gib > 0 ? fmt::format("{:g} GiB", model->memory_gib) : "";
}

std::string name_of(const Gpu& gpu, const GpuModel* model) {
    if (model != nullptr)
        return model->name;
    if (gpu.name.known())
        return *gpu.name;
    return gpu.pci_id.known() ? fmt::format("{} GPU {}", gpu.vendor, *gpu.pci_id) : gpu.vendor + " GPU";
}

} // namespace

std::vector<DeviceStatus> device_table(const Facts& facts, const std::vector<ProbeResult>& probes,
                                       const Knowledge& knowledge) {
    std::vector<DeviceStatus> table;
    for (const Gpu& gpu : facts.gpus) {
        const GpuModel* model = model_of(gpu, knowledge);
        table.push_back({.address = gpu.address,
                         .name = name_of(gpu, model),
                         .target = target_of(gpu, knowledge),
                         .memory = memory_of(gpu, model),
                         .rocm = rocm_status(facts, gpu, knowledge),
                         .cuda = cuda_status(facts, gpu, knowledge),
                         .vulkan = vulkan_status(facts, probes, gpu)});
    }
    table.push_back(
        {.address = "cpu",
         .name = facts.system.processor.value_or("a CPU that the system does not name"),
         .target = facts.system.architecture.value_or(""),
         .memory = facts.system.memory_total.known() ? format_bytes(*facts.system.memory_total) : "",
         .rocm = "",
         .cuda = "",
         .vulkan = ""});
    return table;
}

} // namespace rekindle::doctor
