#include "rules/rule.h"

#include <algorithm>

namespace rekindle::doctor {

Findings no_gpu(const HostView& view) {
    const System& system = view.facts.system;
    const bool looked = !is_posted(view) && system.kernel.known();
    const bool a_gpu = std::any_of(view.facts.gpus.begin(), view.facts.gpus.end(),
                                   [](const Gpu& gpu) { return gpu.vendor != "other"; });
    const bool a_node =
        std::any_of(system.device_nodes.begin(), system.device_nodes.end(), [](const DeviceNode& node) {
            return node.exists && (node.path.starts_with("/dev/nvidia") || node.path == "/dev/kfd" ||
                                   node.path == "/dev/dxg");
        });
    if (!looked || a_gpu || a_node)
        return {};
    Finding finding =
        make_finding("no-gpu", Severity::note, "This machine has no GPU; training runs on the CPU.");
    add_evidence(finding, "devices", "/sys/class/drm, /sys/class/kfd, /sys/bus/pci",
                 "no AMD, NVIDIA or Intel GPU");
    return {finding};
}

} // namespace rekindle::doctor
