#pragma once
/// Memory of tensors: c10's interface over the runtime's caching allocator.

#include "devices.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>
#include <span>

namespace rvk {

/// The allocator of this device's tensors. Pointers are device addresses (not to be dereferenced); memory
/// comes from the current device, and its reuse follows the current stream's order. Throws
/// c10::OutOfMemoryError.
c10::DeviceAllocator& device_allocator();

/// Prepares memory of this allocator for deferred copies (torch._lazy_clone): PyTorch's copy-on-write accepts
/// only memory that is released by its address.
void make_shareable(c10::StorageImpl& storage);
/// If a deferred copy shares the storage's memory, gives the storage its own memory with a copy of the bytes.
/// Code that writes to a tensor calls this before it takes an address.
void unshare(c10::StorageImpl& storage);

/// The host allocator of pinned memory.
c10::Allocator& pinned_allocator();
/// Whether the address is in pinned memory.
bool is_pinned(const void* address);
/// The device's view of pinned host memory, and what keeps it alive; null if the memory is not pinned. The
/// memory is not reused until the work queued with it has finished.
runtime::DevicePointer pinned_device_pointer(DeviceIndex index, const void* address, std::uint64_t bytes);

/// A device pointer as PyTorch stores it.
inline runtime::DevicePointer device_pointer(const void* data) {
    return {reinterpret_cast<std::uint64_t>(data)};
}

} // namespace rvk
