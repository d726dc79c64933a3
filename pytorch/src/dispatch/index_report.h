#pragma once
/// Indexes out of range. A kernel that meets one touches nothing for it and writes it down; nothing waits for
/// that. The next synchronisation of the device, and every copy to the host, raises IndexError, as CUDA's
/// device-side assertions do, and the device stays usable.

#include "../device/devices.h"

#include <cstdint>

namespace rvk {

/// Where kernels of the device report: three int64 (a mark, the index, the indexed size).
std::uint64_t index_report_address(DeviceIndex index);

/// Throws c10::IndexError when completed work has reported an index since the last call.
void check_index_report(DeviceIndex index);

} // namespace rvk
