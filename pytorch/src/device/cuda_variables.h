#pragma once
/// The environment's lists of devices of CUDA and ROCm, which hold for scripts that run under torch_rvk.run.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rvk {

/// The devices that a variable leaves, in its order.
struct VisibleDevices {
    std::string variable; ///< HIP_VISIBLE_DEVICES="1", for example
    std::vector<std::size_t> numbers;
};

/// What ROCR_VISIBLE_DEVICES and then HIP_VISIBLE_DEVICES or, where that is not set, CUDA_VISIBLE_DEVICES
/// leave of the devices with these UUIDs ("GPU-…"). They hold where TORCH_RVK_FROM_CUDA is 1; nothing where
/// none is set. Entries are numbers or the beginnings of UUIDs; as CUDA reads them, the list ends at the
/// first entry that names no device, and a device that is named twice leaves none.
std::optional<VisibleDevices> visible_by_cuda_variables(std::span<const std::string> uuids);

} // namespace rvk
