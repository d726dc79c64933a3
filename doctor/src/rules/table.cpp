#include "rules/rule.h"

#include <array>

namespace rekindle::doctor {

namespace {

constexpr std::array rules{
    // Which torch is it, and where does it run?
    Rule{"wsl-without-kfd", wsl_without_kfd},
    Rule{"cuda-wheel-on-amd", cuda_wheel_on_amd},
    Rule{"rocm-wheel-on-nvidia", rocm_wheel_on_nvidia},
    Rule{"cpu-wheel", cpu_wheel},
    // Does the kernel driver have the GPU, and may this process use it?
    Rule{"amdgpu-not-bound", amdgpu_not_bound},
    Rule{"nvidia-driver-missing", nvidia_driver_missing},
    Rule{"container-without-devices", container_without_devices},
    Rule{"kfd-refused", kfd_refused},
    Rule{"atomics-not-routed", atomics_not_routed},
    Rule{"firmware-missing", firmware_missing},
    Rule{"gpu-not-in-kfd", gpu_not_in_kfd},
    Rule{"dkms-does-not-fit-kernel", dkms_does_not_fit_kernel},
    Rule{"render-node-refused", render_node_refused},
    Rule{"nvidia-module-and-library-differ", nvidia_module_and_library_differ},
    Rule{"nvidia-driver-too-old", nvidia_driver_too_old},
    Rule{"visibility-hides-all", visibility_hides_all},
    // Is there code for the GPU?
    Rule{"override-of-another-target", override_of_another_target},
    Rule{"device-package-missing", device_package_missing},
    Rule{"wheel-lacks-gfx", wheel_lacks_gfx},
    Rule{"wheel-lacks-sm", wheel_lacks_sm},
    Rule{"math-library-lacks-gfx", math_library_lacks_gfx},
    Rule{"empty-code-object", empty_code_object},
    Rule{"rocm-packages-not-preloaded", rocm_packages_not_preloaded},
    Rule{"extension-lacks-gfx", extension_lacks_gfx},
    Rule{"space-in-path", space_in_path},
    Rule{"damaged-environment", damaged_environment},
    Rule{"numpy-of-another-abi", numpy_of_another_abi},
    Rule{"two-private-backends", two_private_backends},
    Rule{"igpu-in-the-way", igpu_in_the_way},
    // Has it hung? Is its memory free?
    Rule{"scheduler-firmware-hang", scheduler_firmware_hang},
    Rule{"vram-in-use", vram_in_use},
    Rule{"apu-carveout-unused", apu_carveout_unused},
    Rule{"no-vulkan-driver", no_vulkan_driver},
    Rule{"vulkan-driver-lacks-library", vulkan_driver_lacks_library},
    Rule{"failed-probes", failed_probes},
    // Possible problems later.
    Rule{"gpu-was-reset", gpu_was_reset},
    Rule{"nvidia-reported-error", nvidia_reported_error},
    Rule{"acs-redirects-peers", acs_redirects_peers},
    Rule{"iommu-without-passthrough", iommu_without_passthrough},
    Rule{"shared-memory-too-small", shared_memory_too_small},
    Rule{"few-descriptors", few_descriptors},
    Rule{"small-bar", small_bar},
    Rule{"triton-looks-in-opt-rocm", triton_looks_in_opt_rocm},
    Rule{"triton-on-rdna1", triton_on_rdna1},
    Rule{"system-rocm-in-library-path", system_rocm_in_library_path},
    Rule{"override-without-need", override_without_need},
    Rule{"visibility-lists-disagree", visibility_lists_disagree},
    Rule{"settings-without-effect", settings_without_effect},
    Rule{"settings-nothing-reads", settings_nothing_reads},
    Rule{"no-gpu", no_gpu},
};

} // namespace

std::span<const Rule> host_rules() {
    return rules;
}

} // namespace rekindle::doctor
