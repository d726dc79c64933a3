#include "allocator.h"
#include "devices.h"
#include "dtypes.h"
#include "events.h"
#include "index_report.h"
#include "promised.h"

#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <memory>

namespace rvk {

namespace {

/// The object that PyTorch's opaque event handle points to.
struct RecordedEvent {
    runtime::Event event;
    bool timing = false;
};

c10::Device as_device(DeviceIndex index) {
    return {c10::kPrivateUse1, index};
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
  public:
    c10::DeviceType type() const override { return c10::kPrivateUse1; }
    c10::Device exchangeDevice(c10::Device device) const override {
        const DeviceIndex before = current_device();
        set_current_device(index_of(device));
        return as_device(before);
    }
    c10::Device getDevice() const override { return as_device(current_device()); }
    void setDevice(c10::Device device) const override { set_current_device(index_of(device)); }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        if (device.has_index())
            set_current_device_unchecked(device.index());
    }
    DeviceIndex deviceCount() const noexcept override { return device_count(); }
    c10::DeviceCapability getDeviceCapability(c10::Device device) const override;

    c10::Stream getStream(c10::Device device) const override { return current_stream_id(index_of(device)); }
    c10::Stream getDefaultStream(c10::Device device) const override {
        return default_stream_id(index_of(device));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
        return next_pool_stream(index_of(device));
    }
    c10::Stream getNewStream(c10::Device device, int) const override {
        return next_pool_stream(index_of(device));
    }
    c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_stream(stream); }
    void* getStreamNativeHandle(const c10::Stream id) const override { return &rvk::stream(id); }
    bool queryStream(const c10::Stream& id) const override { return is_reached(rvk::stream(id).record()); }
    void synchronizeStream(const c10::Stream& id) const override {
        {
            const WithoutPythonLock unlocked;
            rvk::stream(id).synchronize();
        }
        check_index_report(id.device_index());
        check_failed_promise();
    }
    void synchronizeDevice(const DeviceIndex index) const override { rvk::synchronize(index); }

    void record(void** event, const c10::Stream& id, const DeviceIndex,
                const c10::EventFlag flag) const override {
        auto made = std::make_unique<RecordedEvent>();
        made->timing = flag == c10::EventFlag::BACKEND_DEFAULT;
        const runtime::Event* const promised = RecordsPromised::of_this_thread();
        made->event = promised ? *promised : rvk::stream(id).record(made->timing);
        destroyEvent(*event, id.device_index());
        *event = made.release();
    }
    void block(void* event, const c10::Stream& id) const override {
        if (event)
            rvk::stream(id).wait(static_cast<RecordedEvent*>(event)->event);
    }
    bool queryEvent(void* event) const override {
        return !event || is_reached(static_cast<RecordedEvent*>(event)->event);
    }
    void synchronizeEvent(void* event) const override {
        if (!event)
            return;
        {
            const WithoutPythonLock unlocked;
            static_cast<RecordedEvent*>(event)->event.wait();
        }
        check_failed_promise();
    }
    void destroyEvent(void* event, const DeviceIndex) const noexcept override {
        std::unique_ptr<RecordedEvent>(static_cast<RecordedEvent*>(event));
    }
    double elapsedTime(void* earlier, void* later, const DeviceIndex) const override {
        const auto* const a = static_cast<RecordedEvent*>(earlier);
        const auto* const b = static_cast<RecordedEvent*>(later);
        TORCH_CHECK(a && b, "Both events must be recorded before elapsed_time() is called.");
        TORCH_CHECK(a->timing && b->timing, "Both events must be created with enable_timing=True.");
        {
            const WithoutPythonLock unlocked;
            b->event.wait();
        }
        return b->event.seconds_since(a->event) * 1e3;
    }
    void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
        device_allocator().recordStream(memory, stream);
    }
};

c10::DeviceCapability Guard::getDeviceCapability(c10::Device device) const {
    const auto& can = device_info(index_of(device)).can;
    c10::DeviceCapability capability;
    auto& bits = capability.capability_data.capability_bits;
    bits = 0;
    for (const c10::ScalarType dtype : dtypes_of_kernels)
        if (dtype != c10::ScalarType::Double || can.features.contains(kernels::Feature::float64))
            bits |= std::uint64_t{1} << static_cast<int>(dtype);
    return capability;
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

} // namespace

} // namespace rvk
