#pragma once
#include <string>
#include <vulkan/vulkan_core.h>

namespace rekindle::runtime {

/// "VK_ERROR_DEVICE_LOST (-4)"; "VkResult (n)" for a value that is not known.
std::string name_of(VkResult result);

} // namespace rekindle::runtime
