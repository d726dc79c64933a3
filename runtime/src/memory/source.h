#pragma once
/// Where the allocator's segments come from: the driver, or pages that end at a protected one.

#include "device/vulkan_device.h"
#include "memory/blocks.h"
#include "memory/device_allocator.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rekindle::runtime {

/// A range of bytes that a launch uses, within one piece of memory.
struct ByteUse {
    std::uint64_t begin = 0, end = 0;
    bool writes = false;
};

/// Memory taken from the driver in one piece.
struct DriverMemory : SegmentMemory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize buffer_offset = 0; ///< offset of `address`
    /// Mapped bytes before the memory that no code may write. Only guarded memory has them.
    std::span<std::byte> before;
    /// While the returned object lives, pages that are read and not written are write-protected. Only guarded
    /// memory does this; otherwise null.
    virtual std::shared_ptr<const void> protect(std::span<const ByteUse> used) {
        (void)used;
        return nullptr;
    }
};

/// Thread-safe.
class MemorySource {
  public:
    virtual ~MemorySource() = default;
    /// At least `bytes` at an address that is a multiple of 256 (guarded memory: 16); null when the driver
    /// has no more memory. Throws Error, DeviceLost.
    virtual std::unique_ptr<DriverMemory> take(MemoryKind kind, std::uint64_t bytes) = 0;
    /// Imports pages of the host as readback memory, which owns `keep`. Throws Unsupported if the device
    /// cannot import them, Error.
    virtual std::unique_ptr<DriverMemory> import(std::span<std::byte> pages,
                                                 std::shared_ptr<const void> keep) = 0;
    virtual std::uint64_t import_alignment() const = 0;
    /// The largest size of one piece.
    virtual std::uint64_t largest(MemoryKind kind) const = 0;
    /// "heap 0 holds 8.00 GiB (7.20 GiB for this process now, 1.10 GiB of it used)" for every heap that the
    /// kind may use.
    virtual std::string describe_heaps(MemoryKind kind) const = 0;
    /// The state of the heap that device memory is taken from first; `reserved`: bytes of device memory taken
    /// so far.
    virtual MemoryInfo memory_info(std::uint64_t reserved) const = 0;
    /// "gpu:0 (device name)".
    virtual std::string device_name() const = 0;
    /// The timelines of the existing streams.
    virtual std::vector<std::shared_ptr<StreamTimeline>> timelines() = 0;
    /// The reference through which a Buffer keeps its memory alive.
    virtual std::shared_ptr<const void> keep_alive() = 0;
    virtual void log(LogLevel level, std::string_view text) = 0;
};

/// "1.50 GiB"; below 1 KiB "17 bytes".
std::string readable_bytes(std::uint64_t bytes);

/// Vulkan's memory types for a kind, best first. Skips types that only protected or lazily allocated
/// resources may use, and types that the device does not cache. device: device-local; memory that the host
/// cannot see is preferred, unless `prefer_mapped`; then the larger heap. upload: visible and coherent; not
/// device-local preferred, then not cached. readback: visible and coherent; cached preferred, then not
/// device-local. parameters: visible and coherent; device-local preferred, then not cached.
std::vector<std::uint32_t> memory_types(const VkPhysicalDeviceMemoryProperties& properties, MemoryKind kind,
                                        bool prefer_mapped);

/// Makes buffers and their memory with the settings that all buffers of the runtime share: storage, copies in
/// both directions, a device address, and use by the compute and the transfer queue.
class BufferMaker {
  public:
    explicit BufferMaker(VulkanDevice& device);
    VkResult make(std::uint64_t bytes, const void* next, VkBuffer& buffer) const;
    /// The out-of-memory fault of TestMode counts these calls.
    VkResult allocate(std::uint64_t bytes, std::uint32_t type, const void* next,
                      VkDeviceMemory& memory) const;
    VkMemoryRequirements requirements(VkBuffer buffer) const;
    std::uint64_t address(VkBuffer buffer) const;
    /// Whether releasing memory may help.
    static bool exhausted(VkResult result);

  private:
    VulkanDevice& device_;
    std::vector<std::uint32_t> families_;
};

/// What both sources of Vulkan memory share.
class VulkanSource : public MemorySource {
  public:
    explicit VulkanSource(VulkanDevice& device);
    std::unique_ptr<DriverMemory> import(std::span<std::byte> pages,
                                         std::shared_ptr<const void> keep) override;
    std::uint64_t import_alignment() const override;
    std::uint64_t largest(MemoryKind kind) const override;
    std::string describe_heaps(MemoryKind kind) const override;
    MemoryInfo memory_info(std::uint64_t reserved) const override;
    std::string device_name() const override;
    std::vector<std::shared_ptr<StreamTimeline>> timelines() override { return device_.timelines(); }
    std::shared_ptr<const void> keep_alive() override { return device_.shared(); }
    void log(LogLevel level, std::string_view text) override { device_.log(level, text); }

  protected:
    /// Makes a buffer and its memory from pages of the host. Both belong to the caller, even when the result
    /// is an error. Throws Unsupported, Error.
    VkResult import_into(MemoryKind kind, std::span<std::byte> pages, VkBuffer& buffer,
                         VkDeviceMemory& memory) const;
    const std::vector<std::uint32_t>& types(MemoryKind kind) const {
        return types_[static_cast<std::size_t>(kind)];
    }
    const VkMemoryHeap& heap_of(std::uint32_t type) const;

    VulkanDevice& device_;
    BufferMaker make_;

  private:
    std::array<std::vector<std::uint32_t>, memory_kinds.size()> types_;
};

/// Takes memory with vkAllocateMemory. In poison mode, prefers device memory that the host can see, so that
/// sentinels can be checked.
std::unique_ptr<MemorySource> make_driver_memory(VulkanDevice& device);
/// Each piece ends (rounded up to 16 bytes) at a protected page and begins after another one. Throws
/// Unsupported when the device cannot import host memory.
std::unique_ptr<MemorySource> make_guarded_memory(VulkanDevice& device);

} // namespace rekindle::runtime
