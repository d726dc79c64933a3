#pragma once
/// The devices that users name with --device and --device-ids: errors with advice, and what they mean here.

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/device_selector.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

/// DeviceSelector::parse() for --device. Throws Error (usage) for a text that it refuses, with what to write
/// instead.
runtime::DeviceSelector parse_device_name(std::string_view written);

/// The numbers of --device-ids, each once, in the order written; "" gives none. Throws Error (usage) for
/// anything that DeviceSelector::parse_numbers() refuses.
std::vector<std::uint32_t> parse_device_ids(std::string_view list);

/// The device that the name means. Throws Error (usage) when there is none, and when the user asked for a GPU
/// and there is only a CPU driver. Preconditions: not automatic and not cpu.
runtime::DeviceInfo find_device(const runtime::DeviceSelector& name);

/// A warning for a user who named a CPU driver; "" for a GPU.
std::string cpu_driver_warning(const runtime::DeviceInfo& info);

} // namespace rekindle::trainer
