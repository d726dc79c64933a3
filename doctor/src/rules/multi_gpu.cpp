#include "rules/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

/// The GPUs as ROCR_VISIBLE_DEVICES takes them: UUIDs, or positions in the list for GPUs without one.
std::string visibility_list(const std::vector<const Gpu*>& all, const std::vector<const Gpu*>& training) {
    std::vector<std::string> names;
    names.reserve(training.size());
    for (const Gpu* gpu : training) {
        const auto place = std::find(all.begin(), all.end(), gpu) - all.begin();
        names.push_back(gpu->uuid ? *gpu->uuid : std::to_string(place));
    }
    return fmt::format("{}", fmt::join(names, ","));
}

} // namespace

Findings igpu_in_the_way(const HostView& view) {
    const std::vector<const Gpu*> visible = visible_amd(view);
    const std::vector<const Gpu*> training = training_amd(view);
    if (torch_kind(view) != "rocm" || training.empty() || is_integrated(view, *training.front()))
        return {};
    const auto hidden = std::find_if(visible.begin(), visible.end(),
                                     [&](const Gpu* gpu) { return is_integrated(view, *gpu); });
    if (hidden == visible.end())
        return {};
    const Gpu& igpu = **hidden;
    const WheelTargets targets = torch_targets(view);
    const std::string gfx = gfx_of(view, igpu);
    const bool known = targets.known && !gfx.empty();
    const bool has_code = known && view.knowledge.covers(targets.names, gfx);
    const bool first = hidden == visible.begin();
    if (has_code && !first)
        return {};
    const bool breaks = known && !has_code;
    if (!breaks && !first)
        return {};
    const bool fails = first || view.python->rocm_style.is("packages");
    Finding finding = make_finding(
        breaks ? "igpu-visible-breaks-dgpu" : "igpu-chosen-over-dgpu",
        fails ? Severity::problem : Severity::warning,
        breaks
            ? fmt::format("The integrated GPU ({}) is visible to ROCm and the wheel has no code for it: that "
                          "alone makes programs on the {} fail{}.",
                          gfx, name_of(view, *training.front()),
                          first ? ", and it is device 0" : " with some wheels and with RCCL")
            : fmt::format("The integrated GPU ({}) is device 0, so programs use it instead of the {}.",
                          gfx.empty() ? name_of(view, igpu) : gfx, name_of(view, *training.front())));
    for (const Gpu* gpu : visible)
        add_evidence(
            finding,
            fmt::format("device {}", std::find(visible.begin(), visible.end(), gpu) - visible.begin()),
            gpu->kfd_node,
            fmt::format("{}, {}{}", name_of(view, *gpu), gfx_of(view, *gpu),
                        is_integrated(view, *gpu) ? ", integrated" : ""));
    if (breaks)
        add_evidence(finding, "targets in the wheel", targets.source,
                     fmt::format("{}", fmt::join(targets.names, " ")));
    finding.devices = {igpu.address};
    finding.parameters["devices"] = std::to_string(training.size());
    finding.parameters["visible"] = visibility_list(visible, training);
    finding.remedies = {"hide-igpu", "disable-igpu-bios"};
    return {finding};
}

Findings iommu_without_passthrough(const HostView& view) {
    const std::vector<const Gpu*> gpus = training_amd(view);
    const System& system = view.facts.system;
    if (gpus.size() < 2 || is_integrated(view, *gpus.front()) || !system.iommu_enabled.is(true) ||
        !system.kernel_command_line || system.kernel_command_line->find("iommu=pt") != std::string::npos)
        return {};
    const auto translated = std::find_if(gpus.begin(), gpus.end(), [](const Gpu* gpu) {
        return gpu->iommu_type && gpu->iommu_type->starts_with("DMA");
    });
    if (translated == gpus.end())
        return {};
    Finding finding =
        make_finding("missing-iommu-pt", Severity::warning,
                     fmt::format("The IOMMU translates the {} GPUs' memory accesses (no iommu=pt): RCCL "
                                 "warns of hangs in that state.",
                                 gpus.size()));
    add_evidence(finding, "kernel command line", system.kernel_command_line, *system.kernel_command_line);
    add_evidence(finding, fmt::format("IOMMU domain of {}", (*translated)->address),
                 (*translated)->iommu_type, *(*translated)->iommu_type);
    for (const Gpu* gpu : gpus)
        finding.devices.push_back(gpu->address);
    return {finding};
}

Findings acs_redirects_peers(const HostView& view) {
    std::vector<const Gpu*> gpus = training_amd(view);
    if (gpus.size() < 2)
        gpus = view.nvidia;
    if (gpus.size() < 2)
        return {};
    for (const Gpu* gpu : gpus) {
        for (const PciBridge& bridge : gpu->bridges) {
            if (!bridge.acs_redirects.is(true) || gpu->iommu_type.is("identity"))
                continue;
            Finding finding = make_finding("p2p-hang-acs", Severity::warning,
                                           fmt::format("Access Control Services on bridge {} redirect what "
                                                       "the GPUs write to each other through the "
                                                       "CPU's IOMMU; a collective can then hang.",
                                                       bridge.address));
            add_evidence(finding, fmt::format("bridge {}", bridge.address), bridge.acs_redirects,
                         "redirects peer-to-peer requests");
            for (const Gpu* each : gpus)
                finding.devices.push_back(each->address);
            return {finding};
        }
    }
    return {};
}

} // namespace rekindle::doctor
