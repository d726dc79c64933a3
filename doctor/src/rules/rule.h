#pragma once
/// A rule is a pure function from what is known about a host to findings. No rule reports anything about
/// facts that are merely unknown. table.cpp lists the rules; a new rule is one function in the file for its
/// topic and one line there.

#include "rules/host_view.h"

#include <rekindle/doctor/finding.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

using Findings = std::vector<Finding>;

struct Rule {
    std::string_view name;
    Findings (*examine)(const HostView& view);
};

/// In the order in which to resolve causes: among findings of the same severity the earlier rule's comes
/// first.
std::span<const Rule> host_rules();

/// A finding with only its statement; the rule adds evidence.
Finding make_finding(std::string cause, Severity severity, std::string statement);

/// Adds a fact as evidence, with its source.
void add_evidence(Finding& finding, std::string what, std::string source, std::string value);
template <class T>
void add_evidence(Finding& finding, std::string what, const Fact<T>& fact, std::string value) {
    add_evidence(finding, std::move(what), fact.source, std::move(value));
}

// wheel.cpp
Findings cuda_wheel_on_amd(const HostView& view);
Findings cpu_wheel(const HostView& view);
Findings rocm_wheel_on_nvidia(const HostView& view);
Findings wheel_lacks_gfx(const HostView& view);
Findings device_package_missing(const HostView& view);
Findings math_library_lacks_gfx(const HostView& view);
Findings extension_lacks_gfx(const HostView& view);
Findings empty_code_object(const HostView& view);
Findings rocm_packages_not_preloaded(const HostView& view);
Findings triton_looks_in_opt_rocm(const HostView& view);
Findings triton_on_rdna1(const HostView& view);

// override.cpp
Findings override_of_another_target(const HostView& view);
Findings override_without_need(const HostView& view);

// permissions.cpp
Findings kfd_refused(const HostView& view);
Findings render_node_refused(const HostView& view);

// container.cpp
Findings wsl_without_kfd(const HostView& view);
Findings container_without_devices(const HostView& view);
Findings shared_memory_too_small(const HostView& view);

// driver.cpp
Findings amdgpu_not_bound(const HostView& view);
Findings gpu_not_in_kfd(const HostView& view);
Findings dkms_does_not_fit_kernel(const HostView& view);
Findings apu_carveout_unused(const HostView& view);

// pcie.cpp
Findings atomics_not_routed(const HostView& view);
Findings small_bar(const HostView& view);

// memory.cpp
Findings vram_in_use(const HostView& view);
Findings few_descriptors(const HostView& view);

// multi_gpu.cpp
Findings igpu_in_the_way(const HostView& view);
Findings iommu_without_passthrough(const HostView& view);
Findings acs_redirects_peers(const HostView& view);

// nvidia.cpp
Findings nvidia_driver_missing(const HostView& view);
Findings nvidia_module_and_library_differ(const HostView& view);
Findings nvidia_driver_too_old(const HostView& view);
Findings wheel_lacks_sm(const HostView& view);

// vulkan.cpp
Findings no_vulkan_driver(const HostView& view);
Findings vulkan_driver_lacks_library(const HostView& view);
/// Whether Vulkan is in use here: it is the only way to use a GPU, or it was set up on purpose.
bool relies_on_vulkan(const HostView& view);

// python.cpp
Findings space_in_path(const HostView& view);
Findings two_private_backends(const HostView& view);
Findings numpy_of_another_abi(const HostView& view);
Findings damaged_environment(const HostView& view);
Findings system_rocm_in_library_path(const HostView& view);

// environment.cpp
Findings visibility_hides_all(const HostView& view);
Findings visibility_lists_disagree(const HostView& view);
Findings settings_without_effect(const HostView& view);
Findings settings_nothing_reads(const HostView& view);

// kernel_log.cpp
Findings scheduler_firmware_hang(const HostView& view);
Findings firmware_missing(const HostView& view);
Findings gpu_was_reset(const HostView& view);
Findings nvidia_reported_error(const HostView& view);

// probes.cpp
Findings failed_probes(const HostView& view);

// present.cpp
Findings no_gpu(const HostView& view);

} // namespace rekindle::doctor
