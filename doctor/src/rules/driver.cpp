#include "facts/versions.h"
#include "rules/rule.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

const KernelModule* module_named(const HostView& view, std::string_view name) {
    for (const KernelModule& module : view.facts.drivers.modules)
        if (module.name == name)
            return &module;
    return nullptr;
}

bool is_linux_with_pci(const HostView& view) {
    return view.facts.system.wsl.value_or(0) == 0;
}

/// The collector found the device but no driver for it.
bool is_unbound(const Gpu& gpu) {
    return gpu.kernel_driver.unread.find("no driver") != std::string::npos;
}

const std::string* line_with(const HostView& view, std::string_view first, std::string_view second = "") {
    if (view.facts.kernel_log.lines)
        for (const std::string& line : *view.facts.kernel_log.lines)
            if (line.find(first) != std::string::npos && line.find(second) != std::string::npos)
                return &line;
    return nullptr;
}

void add_identity(Finding& finding, const HostView& view, const Gpu& gpu) {
    add_evidence(finding, name_of(view, gpu), gpu.pci_id, gpu.pci_id.value_or(gpu.address));
    finding.devices.push_back(gpu.address);
    const std::string gfx = gfx_of(view, gpu);
    if (!gfx.empty())
        finding.parameters["gfx"] = gfx;
}

} // namespace

Findings amdgpu_not_bound(const HostView& view) {
    Findings findings;
    if (!is_linux_with_pci(view) || !amd_matters(view))
        return findings;
    const bool another_works = std::any_of(view.amd.begin(), view.amd.end(), [&](const Gpu* gpu) {
        return gpu->kernel_driver.is("amdgpu") && worth_training_on(view, *gpu);
    });
    for (const Gpu* gpu : view.amd) {
        const std::string driver = gpu->kernel_driver.value_or("");
        const bool unbound = driver.empty() && (gpu->kernel_driver.known() || is_unbound(*gpu));
        if (driver == "amdgpu" || (driver.empty() && !unbound) || !worth_training_on(view, *gpu))
            continue;
        Finding finding =
            driver == "radeon"
                ? make_finding(
                      "gpu-too-old-for-kfd", Severity::problem,
                      fmt::format("The {} uses the driver \"radeon\", which does not support compute.",
                                  name_of(view, *gpu)))
                : make_finding("amdgpu-not-loaded", Severity::problem,
                               unbound ? fmt::format("No driver is bound to the {}.", name_of(view, *gpu))
                                       : fmt::format("The {} does not use amdgpu but the driver \"{}\".",
                                                     name_of(view, *gpu), driver));
        if (another_works) // one GPU reserved for a virtual machine, another one to train on
            finding.severity = Severity::note;
        add_identity(finding, view, *gpu);
        add_evidence(finding, "kernel driver", gpu->kernel_driver, unbound ? "none" : driver);
        findings.push_back(std::move(finding));
    }
    const KernelModule* amdgpu = module_named(view, "amdgpu");
    if (findings.empty() && amdgpu && amdgpu->loaded.is(false)) {
        Finding finding =
            make_finding("amdgpu-not-loaded", Severity::problem,
                         fmt::format("The kernel module amdgpu is not loaded, so the {} has no driver.",
                                     name_of(view, *view.amd.front())));
        add_identity(finding, view, *view.amd.front());
        add_evidence(finding, "module amdgpu", amdgpu->loaded, "not loaded");
        findings.push_back(std::move(finding));
    }
    return findings;
}

Findings gpu_not_in_kfd(const HostView& view) {
    Findings findings;
    if (!amd_matters(view))
        return findings;
    for (const Gpu* gpu : view.amd) {
        if (gpu->kfd_node || gpu->kfd_node.unread.empty() || !worth_training_on(view, *gpu) ||
            !gpu->kernel_driver.is("amdgpu"))
            continue;
        if (line_with(view, "PCI rejects atomics"))
            continue; // reported by atomics_not_routed
        const std::string* too_old = line_with(view, "not supported in kfd");
        const DeviceNode* render = gpu->render_node ? device_node(view, *gpu->render_node) : nullptr;
        const DeviceNode* kfd = device_node(view, "/dev/kfd");
        const bool withheld = (render && !render->exists) || (kfd && !kfd->exists);
        if (in_container(view) && withheld)
            continue; // reported by container_without_devices if the GPU is needed
        Finding finding =
            too_old ? make_finding("gpu-too-old-for-kfd", Severity::problem,
                                   fmt::format("The kernel's compute driver does not support the {}.",
                                               name_of(view, *gpu)))
                    : make_finding(
                          "gpu-not-in-kfd", Severity::problem,
                          fmt::format("The {} uses amdgpu, but the kernel's compute driver does not list it.",
                                      name_of(view, *gpu)));
        add_identity(finding, view, *gpu);
        add_evidence(finding, "KFD topology", gpu->kfd_node.source, gpu->kfd_node.unread);
        if (too_old)
            add_evidence(finding, "kernel log", view.facts.kernel_log.lines.source, *too_old);
        else
            finding.distinguishing_checks = {
                "lines of the kernel log that begin with \"kfd\" say why the device was skipped"};
        findings.push_back(std::move(finding));
    }
    return findings;
}

Findings dkms_does_not_fit_kernel(const HostView& view) {
    const KernelModule* amdgpu = module_named(view, "amdgpu");
    const auto& kernel = view.facts.system.kernel;
    if (!amdgpu || !amdgpu->dkms || amdgpu->dkms->empty() || !kernel || !amd_matters(view))
        return {};
    const bool built_for_this_one = amdgpu->dkms->find(*kernel) != std::string::npos &&
                                    amdgpu->dkms->find("installed") != std::string::npos;
    if (built_for_this_one)
        return {};
    const bool nothing_loaded = amdgpu->loaded.is(false) || view.facts.kfd.is(false);
    Finding finding =
        make_finding("dkms-kernel-unsupported", nothing_loaded ? Severity::problem : Severity::warning,
                     fmt::format("The amdgpu-dkms driver is not built for the running kernel {}{}.", *kernel,
                                 nothing_loaded ? "" : "; the kernel's own amdgpu runs instead"));
    add_evidence(finding, "dkms status", amdgpu->dkms, *amdgpu->dkms);
    add_evidence(finding, "kernel", kernel, *kernel);
    return {finding};
}

Findings apu_carveout_unused(const HostView& view) {
    constexpr std::uint64_t large_carveout = 16ull << 30;
    Findings findings;
    for (const Gpu* gpu : view.amd) {
        const bool wasted = is_integrated(view, *gpu) && gpu->vram_total && gpu->gtt_total &&
                            *gpu->vram_total >= large_carveout && *gpu->gtt_total < *gpu->vram_total / 2;
        const auto& kernel = view.facts.system.kernel;
        if (!wasted || !worth_training_on(view, *gpu) || !kernel || compare_versions(*kernel, "6.16.9") >= 0)
            continue;
        Finding finding = make_finding(
            "apu-carveout-ignored-gtt-used", Severity::problem,
            fmt::format("The firmware reserves {} for graphics, but on this kernel ROCm takes memory "
                        "for an integrated "
                        "GPU from the other {} (GTT).",
                        format_bytes(*gpu->vram_total), format_bytes(*gpu->gtt_total)));
        add_evidence(finding, "carve-out (VRAM)", gpu->vram_total, format_bytes(*gpu->vram_total));
        add_evidence(finding, "GTT", gpu->gtt_total, format_bytes(*gpu->gtt_total));
        add_evidence(finding, "kernel", kernel, *kernel);
        finding.devices = {gpu->address};
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace rekindle::doctor
