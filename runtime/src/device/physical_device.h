#pragma once
/// A device as the driver describes it, and what the runtime enables.

#include "device/cooperative_matrix_khr.h"
#include "device/enabled_features.h"
#include "device/vulkan_structure.h"

#include <rekindle/runtime/device.h>

#include <optional>
#include <string>
#include <vector>

namespace rekindle::runtime {

class Instance;

/// Filled in by vkGetPhysicalDeviceFeatures2 and passed to vkCreateDevice, chained. Not copyable: it points
/// into itself.
struct FeatureChain {
    VkPhysicalDeviceFeatures2 core =
        structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    VkPhysicalDeviceVulkan11Features vulkan11 =
        structure<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    VkPhysicalDeviceVulkan12Features vulkan12 =
        structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    VkPhysicalDeviceVulkan13Features vulkan13 =
        structure<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size =
        structure<VkPhysicalDeviceSubgroupSizeControlFeatures>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES); ///< linked below Vulkan 1.3
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float =
        structure<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
    VkPhysicalDeviceFaultFeaturesEXT fault =
        structure<VkPhysicalDeviceFaultFeaturesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT);
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable =
        structure<VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR);
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperative_matrix =
        structure<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16 = structure<VkPhysicalDeviceShaderBfloat16FeaturesKHR>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR);

    FeatureChain() = default;
    FeatureChain(const FeatureChain&) = delete;
    FeatureChain& operator=(const FeatureChain&) = delete;
};

/// A queue family that was chosen for a purpose.
struct QueueFamily {
    std::uint32_t index = 0;
    std::uint32_t timestamp_bits = 0;
    std::uint32_t queues = 1;
};

/// The properties of a VkPhysicalDevice that are known before it is opened.
struct PhysicalDevice {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    DeviceInfo info; ///< all but its number
    std::vector<std::string> extensions;
    EnabledFeatures available; ///< what can be enabled
    std::optional<QueueFamily> compute, transfer;

    bool has(std::string_view extension) const;
};

/// Asks the driver. Below Vulkan 1.2 only the names and `unusable` are filled in.
PhysicalDevice describe(VkPhysicalDevice device, const Instance& instance);

/// Links the structures that the device knows and lets the driver fill them in.
void query_features(const PhysicalDevice& device, FeatureChain& chain);
/// The chain for vkCreateDevice: the minimum requirements, plus the optional features that exist and are
/// used.
void enable_used_features(const PhysicalDevice& device, const EnabledFeatures& enabled, FeatureChain& chain);
std::vector<const char*> extensions_to_enable(const PhysicalDevice& device);

/// The current heaps, with budget and usage if `budget` says that VK_EXT_memory_budget is available.
std::vector<Heap> heaps_of(VkPhysicalDevice device, bool budget);

/// Every device, accepted or not, in the order of "gpu:N" and numbered, before REKINDLE_VISIBLE_DEVICES
/// applies.
std::vector<PhysicalDevice> describe_all(const Instance& instance);

} // namespace rekindle::runtime
