#include "rules/rule.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

bool missing(const HostView& view, std::string_view path) {
    const DeviceNode* node = device_node(view, path);
    return node && !node->exists;
}

} // namespace

Findings wsl_without_kfd(const HostView& view) {
    const System& system = view.facts.system;
    if (system.wsl.value_or(0) == 0 || (!uses_rocm(view) && view.amd.empty()) || !view.nvidia.empty())
        return {};
    const DeviceNode* kfd = device_node(view, "/dev/kfd");
    if (kfd && kfd->exists)
        return {};
    const DeviceNode* dxg = device_node(view, "/dev/dxg");
    const bool own_hsa = torch_kind(view) == "rocm" && brings_its_rocm(view) && dxg && dxg->exists;
    Finding finding =
        own_hsa
            ? make_finding(
                  "wsl-wheel-bundles-native-hsa", Severity::problem,
                  fmt::format(
                      "torch {} contains an HSA runtime for native Linux, which opens /dev/kfd; WSL has "
                      "/dev/dxg instead.",
                      view.python->torch.value_or("here")))
            : make_finding(
                  "wsl-has-no-kfd", Severity::problem,
                  "WSL has no amdgpu driver and no /dev/kfd: ROCm packages for native Linux cannot work in "
                  "it.");
    add_evidence(finding, "WSL", system.wsl, std::to_string(*system.wsl));
    if (system.kernel)
        add_evidence(finding, "kernel", system.kernel, *system.kernel);
    if (dxg)
        add_evidence(finding, "/dev/dxg", dxg->path, dxg->exists ? "there" : "missing");
    return {finding};
}

Findings container_without_devices(const HostView& view) {
    const bool on_wsl = view.facts.system.wsl.value_or(0) != 0;
    if (!in_container(view) || on_wsl || !uses_rocm(view) || (view.amd.empty() && !is_posted(view)))
        return {};
    const bool no_kfd = missing(view, "/dev/kfd");
    const bool kfd_unloaded = view.facts.kfd.is(false);
    const auto no_render_node = [&](const Gpu* gpu) {
        return worth_training_on(view, *gpu) && gpu->render_node && missing(view, *gpu->render_node);
    };
    const auto without = std::find_if(view.amd.begin(), view.amd.end(), no_render_node);
    if (kfd_unloaded || (!no_kfd && without == view.amd.end()))
        return {};
    const std::string path = no_kfd ? "/dev/kfd" : *(*without)->render_node;
    Finding finding = make_finding(
        "container-missing-devices", Severity::problem,
        fmt::format("The host has the GPU and its driver, but {} was not passed into this container ({}).",
                    path, *view.facts.system.container));
    add_evidence(finding, path, path, "No such file or directory");
    add_evidence(finding, "container", view.facts.system.container, *view.facts.system.container);
    for (const Gpu* gpu : view.amd) {
        add_evidence(finding, name_of(view, *gpu), gpu->pci_id, gpu->pci_id.value_or(gpu->address));
        finding.devices.push_back(gpu->address);
    }
    return {finding};
}

Findings shared_memory_too_small(const HostView& view) {
    constexpr std::uint64_t docker_default = 64ull << 20;
    const System& system = view.facts.system;
    const std::size_t gpus = std::max(training_amd(view).size(), view.nvidia.size());
    if (!in_container(view) || gpus < 2 || !system.shared_memory_total ||
        *system.shared_memory_total > docker_default)
        return {};
    Finding finding = make_finding(
        "container-shm-too-small", Severity::warning,
        fmt::format("/dev/shm has {}; with {} GPUs the collective library and the data loader need more.",
                    format_bytes(*system.shared_memory_total), gpus));
    add_evidence(finding, "size of /dev/shm", system.shared_memory_total,
                 format_bytes(*system.shared_memory_total));
    add_evidence(finding, "container", system.container, *system.container);
    return {finding};
}

} // namespace rekindle::doctor
