#pragma once
/// The extensions and features that the runtime uses where a device has them.

#include <cstdint>

namespace rekindle::runtime {

/// The arguments of vkCreateDevice: the extensions and optional features that exist and are enabled. The
/// minimum requirements (physical_device.cpp) are always enabled: Vulkan 1.2, bufferDeviceAddress,
/// timelineSemaphore, scalarBlockLayout, shaderInt64, vulkanMemoryModel with device scope.
struct EnabledFeatures {
    bool vulkan_1_3 = false;
    bool synchronization2 = false; ///< core 1.3; vkCmdPipelineBarrier and vkQueueSubmit are always available
    bool maintenance4 = false;
    bool host_query_reset = false;
    bool subgroup_size_control = false, compute_full_subgroups = false;
    bool memory_budget = false;
    bool external_host_memory = false;
    std::uint64_t external_host_alignment = 0; ///< minImportedHostPointerAlignment
    bool device_fault = false;
    bool calibrated_timestamps = false; ///< with the host's CLOCK_MONOTONIC
    bool executable_properties = false; ///< only with DeviceOptions::pipeline_statistics
    bool cooperative_matrix = false;
    bool bfloat16_matrix = false; ///< cooperative matrices of bfloat16
    bool float32_atomic_add = false;
};

} // namespace rekindle::runtime
