#pragma once
/// Makes a Vulkan structure with its type set and all other members zero.

#include <volk.h>

namespace rekindle::runtime {

/// auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
template <class Structure>
Structure structure(VkStructureType type) {
    Structure result{};
    result.sType = type;
    return result;
}

} // namespace rekindle::runtime
