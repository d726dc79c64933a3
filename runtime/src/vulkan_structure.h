#pragma once
/// Vulkan's structures begin with their type and are zero else.

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
