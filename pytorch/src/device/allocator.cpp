#include "allocator.h"

#include <atomic>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/COW.h>
#include <c10/util/Exception.h>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace rvk {

namespace {

using c10::CachingDeviceAllocator::DeviceStats;

/// A block of memory, and how many storages own it.
struct Allocation {
    explicit Allocation(runtime::Buffer of) : buffer(std::move(of)) {}
    runtime::Buffer buffer;
    std::atomic<std::uint32_t> owners{1};
};

void release(void* context) {
    auto* const allocation = static_cast<Allocation*>(context);
    if (allocation->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
        std::unique_ptr<Allocation>(allocation).reset();
}

/// Allocations that deferred copies share, by address.
class SharedAllocations {
  public:
    static SharedAllocations& instance() {
        static auto* const allocations = new SharedAllocations; // tensors may outlive static objects
        return *allocations;
    }
    void add(const void* address, std::unique_ptr<Allocation> allocation) {
        const std::lock_guard lock(mutex_);
        allocations_[address] = std::move(allocation);
    }
    std::unique_ptr<Allocation> take(const void* address) {
        const std::lock_guard lock(mutex_);
        auto node = allocations_.extract(address);
        return node ? std::move(node.mapped()) : nullptr;
    }
    /// Null for memory that is not shared. The caller must hold a storage at this address, which keeps the
    /// allocation alive.
    Allocation* find(const void* address) const {
        const std::lock_guard lock(mutex_);
        const auto found = allocations_.find(address);
        return found == allocations_.end() ? nullptr : found->second.get();
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<const void*, std::unique_ptr<Allocation>> allocations_;
};

void release_shared(void* address) {
    release(SharedAllocations::instance().take(address).release());
}

/// Null for memory from another allocator.
Allocation* allocation_of(const c10::DataPtr& memory) {
    return memory.get_deleter() == &release ? static_cast<Allocation*>(memory.get_context())
                                            : SharedAllocations::instance().find(memory.get());
}

class TensorAllocator final : public c10::DeviceAllocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const DeviceIndex index = current_device();
        const c10::Device device(c10::kPrivateUse1, index);
        if (bytes == 0)
            return {nullptr, nullptr, &c10::detail::deleteNothing, device};
        try {
            return storage_of(rvk::device(index).allocator().allocate(bytes, runtime::MemoryKind::device,
                                                                      &current_stream(index)),
                              index);
        } catch (const runtime::OutOfMemory& error) {
            TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
        }
    }
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        if (bytes != 0)
            current_stream(current_device()).copy(device_pointer(to), device_pointer(from), bytes);
    }

    bool initialized() override { return device_count() > 0; }
    void emptyCache(c10::MempoolId_t) override {
        for (DeviceIndex index = 0; index < device_count(); ++index)
            if (is_open(index))
                device(index).allocator().empty_cache();
    }
    void recordStream(const c10::DataPtr& memory, c10::Stream used) override {
        if (Allocation* const ours = allocation_of(memory))
            device(index_of(used.device())).allocator().record_stream(ours->buffer, stream(used));
    }
    DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        DeviceStats result;
        index_of(c10::Device(c10::kPrivateUse1, index));
        if (!is_open(index))
            return result;
        const auto& memory = device(index).allocator();
        const auto levels = memory.levels(runtime::MemoryKind::device);
        fill(result, 0, levels.all);
        fill(result, 1, levels.small);
        fill(result, 2, levels.large);
        const auto counts = memory.statistics(runtime::MemoryKind::device);
        result.num_alloc_retries = static_cast<std::int64_t>(counts.retries);
        result.num_ooms = static_cast<std::int64_t>(counts.out_of_memory);
        result.num_sync_all_streams = static_cast<std::int64_t>(counts.waits);
        result.num_device_alloc = static_cast<std::int64_t>(counts.driver_allocations);
        result.num_device_free = static_cast<std::int64_t>(counts.driver_frees);
        return result;
    }
    void resetAccumulatedStats(c10::DeviceIndex index) override {
        index_of(c10::Device(c10::kPrivateUse1, index));
        if (is_open(index))
            device(index).allocator().reset_accumulated();
    }
    void resetPeakStats(c10::DeviceIndex index) override {
        index_of(c10::Device(c10::kPrivateUse1, index));
        if (is_open(index))
            device(index).allocator().reset_peaks();
    }
    std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
        const auto info = device(index).allocator().memory_info();
        return {info.free_bytes, info.total_bytes};
    }

  private:
    /// c10 keeps each statistic three times: for all blocks, for small ones and for large ones.
    static void fill(DeviceStats& result, std::size_t pool, const runtime::BlockLevels& levels) {
        const auto set = [pool](auto& stats, const runtime::Level& level) {
            stats[pool].current = level.current;
            stats[pool].peak = level.peak;
            stats[pool].allocated = level.risen;
            stats[pool].freed = level.fallen;
        };
        set(result.allocation, levels.allocations);
        set(result.allocated_bytes, levels.allocated_bytes);
        set(result.requested_bytes, levels.requested_bytes);
        set(result.active, levels.active);
        set(result.active_bytes, levels.active_bytes);
        set(result.segment, levels.segments);
        set(result.reserved_bytes, levels.reserved_bytes);
        set(result.inactive_split, levels.inactive_splits);
        set(result.inactive_split_bytes, levels.inactive_split_bytes);
    }
};

TensorAllocator tensor_allocator;
REGISTER_ALLOCATOR(c10::kPrivateUse1, &tensor_allocator)

} // namespace

c10::DeviceAllocator& device_allocator() {
    return tensor_allocator;
}

c10::DataPtr storage_of(runtime::Buffer buffer, DeviceIndex index) {
    auto made = std::make_unique<Allocation>(std::move(buffer));
    void* const data = reinterpret_cast<void*>(made->buffer.pointer().address);
    return {data, made.release(), &release, c10::Device(c10::kPrivateUse1, index)};
}

c10::DataPtr another_owner(const c10::DataPtr& memory) {
    Allocation* const allocation = allocation_of(memory);
    if (allocation == nullptr)
        return {};
    allocation->owners.fetch_add(1, std::memory_order_relaxed);
    return {memory.get(), allocation, &release, memory.device()};
}

void make_shareable(c10::StorageImpl& storage) {
    c10::DataPtr& memory = storage._mutable_data_ptr_no_checks();
    if (memory.get_deleter() != &release)
        return;
    void* const address = memory.get();
    std::unique_ptr<Allocation> allocation(static_cast<Allocation*>(memory.release_context()));
    SharedAllocations::instance().add(address, std::move(allocation));
    memory = c10::DataPtr(address, address, &release_shared, memory.device());
}

void unshare(c10::StorageImpl& storage) {
    if (!c10::impl::cow::is_cow_data_ptr(storage.data_ptr())) [[likely]]
        return;
    const c10::DeviceGuard guard(storage.device());
    storage.mutable_data_ptr();
}

void unshare(const at::TensorBase& tensor) {
    if (tensor.defined() && tensor.is_privateuseone() && tensor.has_storage())
        unshare(*tensor.storage().unsafeGetStorageImpl());
}

} // namespace rvk
