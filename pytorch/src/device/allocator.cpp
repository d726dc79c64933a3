#include "allocator.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <memory>
#include <utility>

namespace rvk {

namespace {

using c10::CachingDeviceAllocator::DeviceStats;

/// What a tensor's storage owns.
struct Allocation {
    runtime::Buffer buffer;
};

void release(void* context) {
    std::unique_ptr<Allocation>(static_cast<Allocation*>(context));
}

class TensorAllocator final : public c10::DeviceAllocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const DeviceIndex index = current_device();
        const c10::Device device(c10::kPrivateUse1, index);
        if (bytes == 0)
            return {nullptr, nullptr, &c10::detail::deleteNothing, device};
        try {
            auto made = std::make_unique<Allocation>();
            made->buffer = rvk::device(index).allocator().allocate(bytes, runtime::MemoryKind::device,
                                                                   &current_stream(index));
            void* const data = reinterpret_cast<void*>(made->buffer.pointer().address);
            return {data, made.release(), &release, device};
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
        // Storages made over foreign addresses have a context that is not ours.
        if (memory.get_deleter() == &release)
            device(index_of(used.device()))
                .allocator()
                .record_stream(static_cast<Allocation*>(memory.get_context())->buffer, stream(used));
    }
    DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        DeviceStats result;
        index_of(c10::Device(c10::kPrivateUse1, index));
        if (!is_open(index))
            return result;
        const auto s = device(index).allocator().statistics(runtime::MemoryKind::device);
        const auto set = [](auto& stats, std::uint64_t now, std::uint64_t peak) {
            stats[0].current = static_cast<std::int64_t>(now);
            stats[0].peak = static_cast<std::int64_t>(peak);
        };
        set(result.allocated_bytes, s.allocated_bytes, s.allocated_peak_bytes);
        set(result.active_bytes, s.allocated_bytes, s.allocated_peak_bytes);
        set(result.requested_bytes, s.allocated_bytes, s.allocated_peak_bytes);
        set(result.reserved_bytes, s.reserved_bytes, s.reserved_peak_bytes);
        result.allocation[0].allocated = static_cast<std::int64_t>(s.allocations);
        result.num_device_alloc = static_cast<std::int64_t>(s.driver_allocations);
        result.num_alloc_retries = static_cast<std::int64_t>(s.retries);
        result.num_ooms = static_cast<std::int64_t>(s.out_of_memory);
        return result;
    }
    std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
        const auto info = device(index_of(c10::Device(c10::kPrivateUse1, index))).allocator().memory_info();
        return {info.free_bytes, info.total_bytes};
    }
    void resetAccumulatedStats(c10::DeviceIndex index) override { resetPeakStats(index); }
    void resetPeakStats(c10::DeviceIndex index) override {
        index_of(c10::Device(c10::kPrivateUse1, index));
        if (is_open(index))
            device(index).allocator().reset_peaks();
    }
};

TensorAllocator tensor_allocator;
REGISTER_ALLOCATOR(c10::kPrivateUse1, &tensor_allocator)

} // namespace

c10::DeviceAllocator& device_allocator() {
    return tensor_allocator;
}

} // namespace rvk
