#pragma once
/// The definition of Pipeline, which is opaque in the public headers.

#include "device/once.h"

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/stream.h>

#include <atomic>
#include <cstdint>
#include <volk.h>

namespace rekindle::runtime {

struct PipelineIdentity;
class VulkanDevice;

/// A kernel with its constants on one device. Lives as long as the device. Its code may still be compiling:
/// PipelineStore::complete waits for it.
struct Pipeline {
    const kernels::Kernel* kernel = nullptr;
    const VulkanDevice* device = nullptr;
    const PipelineIdentity* identity = nullptr; ///< the key of its entry in the store
    std::uint32_t number = 0;                   ///< unique among this device's pipelines, from 0

    // Set by the store, once.
    mutable Once compiled;
    mutable std::atomic<VkPipeline> handle{VK_NULL_HANDLE};

    /// Whether it can be bound.
    bool ready() const noexcept { return handle.load(std::memory_order_acquire) != VK_NULL_HANDLE; }
};

} // namespace rekindle::runtime
