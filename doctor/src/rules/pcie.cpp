#include "rules/rule.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

namespace rekindle::doctor {

namespace {

/// First bridge on the way to the CPU that does not route atomics; nullptr if none is known to lack them.
const PciBridge* bridge_without_atomics(const Gpu& gpu) {
    for (const PciBridge& bridge : gpu.bridges)
        if (bridge.routes_atomics.is(false))
            return &bridge;
    return nullptr;
}

/// The PCI id as the kernel log writes it ("1002:67df"), for a line about this GPU.
const std::string* rejection(const HostView& view, const Gpu& gpu) {
    if (!view.facts.kernel_log.lines)
        return nullptr;
    for (const std::string& line : *view.facts.kernel_log.lines)
        if (line.find("PCI rejects atomics") != std::string::npos &&
            (!gpu.pci_id || line.find(*gpu.pci_id) != std::string::npos))
            return &line;
    return nullptr;
}

} // namespace

Findings atomics_not_routed(const HostView& view) {
    Findings findings;
    if (!amd_matters(view))
        return findings;
    for (const Gpu* gpu : view.amd) {
        const PciBridge* bridge = bridge_without_atomics(*gpu);
        const std::string* line = rejection(view, *gpu);
        const bool listed = gpu->kfd_node.known();
        const bool not_listed = !listed && !gpu->kfd_node.unread.empty();
        const bool rejected = not_listed && (line || bridge);
        const bool partly = listed && gpu->atomics.is(false);
        if (is_integrated(view, *gpu) || (!rejected && !partly))
            continue;
        Finding finding = make_finding(
            "pcie-atomics", rejected ? Severity::problem : Severity::warning,
            rejected
                ? fmt::format(
                      "The slot of the {} cannot route PCIe atomics, so the compute driver ignores the GPU; "
                      "graphics still works.",
                      name_of(view, *gpu))
                : fmt::format(
                      "The slot of the {} cannot route PCIe atomics: kernels that print or assert on the "
                      "device fail there.",
                      name_of(view, *gpu)));
        if (line)
            add_evidence(finding, "kernel log", view.facts.kernel_log.lines.source, *line);
        if (bridge)
            add_evidence(finding, fmt::format("bridge {}", bridge->address), bridge->routes_atomics,
                         "does not route AtomicOp requests");
        if (not_listed)
            add_evidence(finding, "KFD topology", gpu->kfd_node.source, gpu->kfd_node.unread);
        if (partly)
            add_evidence(finding, "atomics to the CPU", gpu->atomics, "no");
        finding.devices = {gpu->address};
        findings.push_back(std::move(finding));
    }
    return findings;
}

Findings small_bar(const HostView& view) {
    Findings findings;
    for (const Gpu* gpu : view.amd) {
        if (is_integrated(view, *gpu) || !gpu->vram_total || !gpu->visible_vram_total ||
            *gpu->vram_total == 0 || *gpu->visible_vram_total * 10 >= *gpu->vram_total * 9)
            continue;
        Finding finding = make_finding(
            "small-bar", Severity::warning,
            fmt::format(
                "The CPU can access only {} of the {}'s {} at a time: transfers are slower, and GPUs cannot "
                "access each other's memory.",
                format_bytes(*gpu->visible_vram_total), name_of(view, *gpu), format_bytes(*gpu->vram_total)));
        add_evidence(finding, "mapped VRAM", gpu->visible_vram_total, format_bytes(*gpu->visible_vram_total));
        add_evidence(finding, "VRAM", gpu->vram_total, format_bytes(*gpu->vram_total));
        finding.devices = {gpu->address};
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace rekindle::doctor
