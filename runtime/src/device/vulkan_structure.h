#pragma once
/// Vulkan structures begin with their type; all other members are zero.

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
