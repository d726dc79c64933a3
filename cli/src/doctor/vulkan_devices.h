#pragma once
/// The results of the self-test probes for the Vulkan devices that rekindle train can use.

#include <rekindle/doctor/probe.h>

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <vector>

namespace rekindle::cli {

/// One device as `--device` takes it.
struct VulkanDevice {
    std::string address; ///< "gpu:0"; the probe's name for it if it has none
    std::string place;   ///< address on the PCI bus, "vulkan:0" without one
    /// As the probe vulkan-self-test gives them: name, type, memory, driver, driver_info, subgroup,
    /// shared_memory, float16, matrix_units.
    std::map<std::string, std::string> values;
    bool usable = false;
    std::string note{}; ///< how the self-test ended, or why the device cannot be used
};

/// In the order of their addresses; empty when no probe ran.
std::vector<VulkanDevice> vulkan_devices(const std::vector<doctor::ProbeResult>& probes);
std::string render_vulkan_devices(const std::vector<VulkanDevice>& devices, std::size_t width);
nlohmann::ordered_json json_of(const std::vector<VulkanDevice>& devices);

} // namespace rekindle::cli
