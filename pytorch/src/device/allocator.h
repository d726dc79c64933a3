#pragma once
/// Memory of tensors: c10's interface over the runtime's caching allocator.

#include "devices.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>
#include <span>

namespace rvk {

/// The allocator that PyTorch's tensors of this device use. Pointers are device addresses (not to be
/// dereferenced); memory comes from the current device and belongs to the current stream's order. Throws
/// c10::OutOfMemoryError.
c10::DeviceAllocator& device_allocator();

/// Prepares memory of this allocator for deferred copies (torch._lazy_clone): PyTorch's copy on write takes
/// only memory that is released by its address.
void make_shareable(c10::StorageImpl& storage);
/// Gives the storage memory of its own, with a copy of the bytes, where a deferred copy shares it. Whatever
/// writes to a tensor calls this before it takes an address.
void unshare(c10::StorageImpl& storage);

/// The host allocator of pinned memory.
c10::Allocator& pinned_allocator();
/// Whether the address lies in pinned memory.
bool is_pinned(const void* address);
/// The device's view of pinned host memory, and what keeps it alive; null where it is none. Work queued with
/// it is done before the memory is used again.
runtime::DevicePointer pinned_device_pointer(DeviceIndex index, const void* address, std::uint64_t bytes);

/// A device pointer as PyTorch keeps it.
inline runtime::DevicePointer device_pointer(const void* data) {
    return {reinterpret_cast<std::uint64_t>(data)};
}

} // namespace rvk
