#include "vulkan_devices.h"

#include <rekindle/cli/text_layout.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace rekindle::cli {

namespace {

using doctor::ProbeResult;
using doctor::ProbeStatus;

std::string value_of(const std::map<std::string, std::string>& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
}

VulkanDevice device_of(const ProbeResult& probe) {
    VulkanDevice device{
        .address = value_of(probe.values, "address"), .place = probe.device, .values = probe.values};
    if (device.address.empty())
        device.address = probe.device;
    const std::string wrong = value_of(probe.values, "wrong");
    if (probe.status == ProbeStatus::passed) {
        device.usable = true;
        device.note = fmt::format("all {} self-test results are correct", value_of(probe.values, "passed"));
    } else if (probe.status == ProbeStatus::failed && !wrong.empty()) {
        device.usable = value_of(probe.values, "usable") == "yes";
        device.note = fmt::format("wrong answers: {}; {} not used", wrong,
                                  device.usable ? "what depends on them is" : "the device is");
    } else {
        device.note = probe.reason;
    }
    return device;
}

} // namespace

std::vector<VulkanDevice> vulkan_devices(const std::vector<ProbeResult>& probes) {
    std::vector<VulkanDevice> devices;
    for (const ProbeResult& probe : probes)
        if (probe.id == "vulkan-self-test" && !probe.device.empty())
            devices.push_back(device_of(probe));
    // By length first: gpu:10 comes after gpu:9.
    std::ranges::stable_sort(devices, {}, [](const VulkanDevice& device) {
        return std::pair(device.address.size(), device.address);
    });
    return devices;
}

std::string render_vulkan_devices(const std::vector<VulkanDevice>& devices, std::size_t width) {
    std::string text;
    for (const VulkanDevice& device : devices) {
        const auto value = [&](const char* key) { return value_of(device.values, key); };
        text += fmt::format("  {}  {}\n", device.address, value("name"));
        if (!value("type").empty()) {
            text += indented(fmt::format("{}, {}; {} {}", value("type"), value("memory"), value("driver"),
                                         value("driver_info")),
                             width, 9);
            text +=
                indented(fmt::format("subgroups of {}, {} of shared memory, float16: {}, matrix units: {}",
                                     value("subgroup"), value("shared_memory"), value("float16"),
                                     value("matrix_units")),
                         width, 9);
        }
        text += indented((device.usable ? "usable: " : "not usable: ") + device.note, width, 9);
    }
    return text;
}

nlohmann::ordered_json json_of(const std::vector<VulkanDevice>& devices) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const VulkanDevice& device : devices) {
        nlohmann::ordered_json entry{{"device", device.address}, {"place", device.place}};
        for (const char* key : {"name", "uuid", "type", "memory", "driver", "driver_info", "subgroup",
                                "shared_memory", "float16", "matrix_units"})
            entry[key] = value_of(device.values, key);
        entry["usable"] = device.usable;
        entry["note"] = device.note;
        list.push_back(std::move(entry));
    }
    return list;
}

} // namespace rekindle::cli
