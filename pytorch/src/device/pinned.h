#pragma once
/// Pinned host memory: memory of the host that a device can access, so that copies need no staging.

#include "devices.h"

#include <c10/core/Allocator.h>
#include <cstdint>

namespace rvk {

/// The host allocator of pinned memory.
c10::Allocator& pinned_allocator();
/// Whether the address is in pinned memory.
bool is_pinned(const void* address);
/// The device's view of pinned host memory, and what keeps it alive; null if the memory is not pinned. The
/// memory is not reused until the work queued with it has finished.
runtime::DevicePointer pinned_device_pointer(DeviceIndex index, const void* address, std::uint64_t bytes);

} // namespace rvk
