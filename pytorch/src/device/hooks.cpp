#include "allocator.h"
#include "generator.h"
#include "pinned.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <algorithm>
#include <c10/core/DeviceType.h>
#include <c10/core/StorageImpl.h>

namespace rvk {

namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
  public:
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return device_count() > 0; }
    bool hasPrimaryContext(DeviceIndex index) const override { return is_open(index); }
    void init() const override { TORCH_CHECK(device_count() > 0, why_no_device()); }
    DeviceIndex deviceCount() const override { return device_count(); }
    void setCurrentDevice(DeviceIndex index) const override { set_current_device(index); }
    DeviceIndex getCurrentDevice() const override { return current_device(); }
    DeviceIndex exchangeDevice(DeviceIndex index) const override {
        const DeviceIndex before = current_device();
        set_current_device(index);
        return before;
    }
    DeviceIndex maybeExchangeDevice(DeviceIndex index) const override {
        return index < 0 ? current_device() : exchangeDevice(index);
    }
    const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
        return default_generator(index);
    }
    at::Generator getNewGenerator(DeviceIndex index) const override { return make_generator(index); }
    at::Device getDeviceFromPtr(void*) const override { return {c10::kPrivateUse1, current_device()}; }
    at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
    bool isPinnedPtr(const void* address) const override { return is_pinned(address); }
    void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
        unshare(*storage.unsafeGetStorageImpl());
        c10::DataPtr grown = device_allocator().allocate(bytes);
        if (const std::size_t kept = std::min(bytes, storage.nbytes()); kept != 0)
            device_allocator().copy_data(grown.get(), storage.data(), kept);
        storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(grown));
        storage.unsafeGetStorageImpl()->set_nbytes(bytes);
    }
};

/// PyTorch keeps the pointer for the whole process.
const bool hooks_registered = [] {
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    // Names the device for programs without Python; if another library has already named the slot, its name
    // stays.
    if (c10::get_privateuse1_backend() == "privateuseone")
        c10::register_privateuse1_backend("rvk");
    return true;
}();

} // namespace

} // namespace rvk
