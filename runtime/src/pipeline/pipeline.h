#pragma once
/// The definition of Pipeline, which is opaque in the public headers.

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/stream.h>

#include <cstdint>
#include <volk.h>

namespace rekindle::runtime {

class VulkanDevice;

/// A pipeline ready to be bound. Lives as long as the device.
struct Pipeline {
    VkPipeline handle = VK_NULL_HANDLE;
    const kernels::Kernel* kernel = nullptr;
    const VulkanDevice* device = nullptr;
    std::uint32_t number = 0; ///< of this device's pipelines, from 0
};

} // namespace rekindle::runtime
