#pragma once
/// Memory of tensors: c10's interface over the runtime's caching allocator.

#include "devices.h"

#include <ATen/core/TensorBase.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>

namespace rvk {

/// The allocator of this device's tensors. Pointers are device addresses (not to be dereferenced); memory
/// comes from the current device, and its reuse follows the current stream's order. Throws
/// c10::OutOfMemoryError.
c10::DeviceAllocator& device_allocator();

/// Returns a data pointer for a storage that uses the block's bytes. The pointer owns the block.
c10::DataPtr storage_of(runtime::Buffer buffer, DeviceIndex index);

/// Returns another owner of the memory that a storage owns: the memory stays allocated even if the storage is
/// resized. Null for memory from another allocator.
c10::DataPtr another_owner(const c10::DataPtr& memory);

/// Prepares memory of this allocator for deferred copies (torch._lazy_clone): PyTorch's copy-on-write accepts
/// only memory whose deleter gets the address itself.
void make_shareable(c10::StorageImpl& storage);
/// If a deferred copy shares the storage's memory, gives the storage its own memory with a copy of the bytes.
/// Code that writes to a tensor calls this before it takes an address.
void unshare(c10::StorageImpl& storage);
/// The same for a tensor's storage; does nothing for an undefined tensor or one of another kind of device.
void unshare(const at::TensorBase& tensor);

/// A device pointer as PyTorch stores it.
inline runtime::DevicePointer device_pointer(const void* data) {
    return {reinterpret_cast<std::uint64_t>(data)};
}

} // namespace rvk
