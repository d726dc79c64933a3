#pragma once
/// The environment variables of CUDA and ROCm that list devices; they apply to scripts that run under
/// torch_rvk.run.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rvk {

/// The devices that a variable leaves visible, in its order.
struct VisibleDevices {
    std::string variable; ///< the last one that applied to any device: HIP_VISIBLE_DEVICES="1"
    std::vector<std::size_t> numbers;
};

/// Applies ROCR_VISIBLE_DEVICES and then HIP_VISIBLE_DEVICES (or CUDA_VISIBLE_DEVICES if that is not set) to
/// the devices with these UUIDs ("GPU-…"). Returns nothing unless TORCH_RVK_FROM_CUDA is on and one of the
/// variables is set. Entries are numbers or the beginnings of UUIDs; as in CUDA, the list ends at the first
/// entry that names no device, and naming a device twice leaves none.
std::optional<VisibleDevices> visible_by_cuda_variables(std::span<const std::string> uuids);

} // namespace rvk
