#include "pinned.h"

#include "allocator.h"

#include <ATen/core/CachingHostAllocator.h>
#include <cstring>
#include <map>
#include <mutex>

namespace rvk {

namespace {

/// Pinned memory: mapped memory that both the host and one device can access, so that copies need no staging.
class PinnedAllocator final : public at::HostAllocator {
  public:
    static PinnedAllocator& instance() {
        static auto* const allocator = new PinnedAllocator; // storages may outlive static objects
        return *allocator;
    }

    c10::DataPtr allocate(std::size_t bytes) override {
        if (bytes == 0)
            return {nullptr, nullptr, &c10::detail::deleteNothing, c10::Device(c10::kCPU)};
        const DeviceIndex index = current_device();
        Block block{rvk::device(index).allocator().allocate(bytes, runtime::MemoryKind::readback), index};
        std::byte* const begin = block.buffer.host().data();
        const std::lock_guard lock(mutex_);
        blocks_.emplace(begin, std::move(block));
        return {begin, begin, &release, c10::Device(c10::kCPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        std::memcpy(to, from, bytes);
    }

    /// Nothing to record: host blocks are reused only after all work that was queued when they were released
    /// has finished.
    bool record_event(void*, void*, c10::Stream) override { return true; }
    void empty_cache() override { device_allocator().emptyCache({0, 0}); }
    at::HostStats get_stats() override {
        at::HostStats stats;
        for (DeviceIndex index = 0; index < device_count(); ++index)
            if (is_open(index)) {
                const auto s = device(index).allocator().statistics(runtime::MemoryKind::readback);
                stats.allocated_bytes.current += static_cast<std::int64_t>(s.allocated_bytes);
                stats.allocated_bytes.peak += static_cast<std::int64_t>(s.allocated_peak_bytes);
            }
        return stats;
    }
    void reset_accumulated_stats() override { reset_peak_stats(); }
    void reset_peak_stats() override {
        for (DeviceIndex index = 0; index < device_count(); ++index)
            if (is_open(index))
                device(index).allocator().reset_peaks();
    }

    /// The device pointer for `address` if one block of the device (-1: of any device) holds `bytes` bytes
    /// from there on; otherwise null.
    runtime::DevicePointer find(const void* address, std::uint64_t bytes, DeviceIndex index) const {
        const auto* const wanted = static_cast<const std::byte*>(address);
        const std::lock_guard lock(mutex_);
        auto after = blocks_.upper_bound(const_cast<std::byte*>(wanted));
        if (after == blocks_.begin())
            return {};
        const auto& [begin, block] = *--after;
        const auto offset = static_cast<std::uint64_t>(wanted - begin);
        if (offset + bytes > block.buffer.bytes() || (index >= 0 && block.device != index))
            return {};
        return block.buffer.pointer() + offset;
    }

  private:
    struct Block {
        runtime::Buffer buffer;
        DeviceIndex device;
    };
    static void release(void* begin) {
        Block last;
        auto& self = instance();
        const std::lock_guard lock(self.mutex_);
        if (const auto found = self.blocks_.find(static_cast<std::byte*>(begin));
            found != self.blocks_.end()) {
            last = std::move(found->second);
            self.blocks_.erase(found);
        }
    }

    mutable std::mutex mutex_;
    std::map<std::byte*, Block> blocks_;
};

REGISTER_HOST_ALLOCATOR(at::kPrivateUse1, &PinnedAllocator::instance())

} // namespace

c10::Allocator& pinned_allocator() {
    return PinnedAllocator::instance();
}
bool is_pinned(const void* address) {
    return static_cast<bool>(PinnedAllocator::instance().find(address, 1, -1));
}
runtime::DevicePointer pinned_device_pointer(DeviceIndex index, const void* address, std::uint64_t bytes) {
    return PinnedAllocator::instance().find(address, bytes, index);
}

} // namespace rvk
