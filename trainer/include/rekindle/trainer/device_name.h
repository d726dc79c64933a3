#pragma once
/// The names by which people ask for a device, in one place for every command.

#include <rekindle/runtime/device.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rekindle::trainer {

/// A device as it was asked for.
struct DeviceName {
    enum class Kind { automatic, cpu, any_gpu, number, uuid };
    Kind kind = Kind::automatic;
    std::uint32_t number = 0; ///< Kind::number
    /// A GPU was asked for (gpu, cuda:0, hip, 0 …): a Vulkan driver for the CPU must not take its place. Only
    /// the address that `rekindle devices` prints (gpu:N) and a UUID can mean such a driver.
    bool must_be_gpu = false;
    std::string text; ///< as a configuration keeps it: "auto", "cpu", "gpu", "gpu:1", "cuda:1", "gpu-…"
};

/// Reads a name, in either case:
///   auto; cpu, cpu:0                     as they say
///   gpu, cuda, hip, rocm, vulkan, rvk    the first GPU
///   cuda:N, hip:N, rocm:N, N             GPU number N
///   gpu:N, vulkan:N, rvk:N, a UUID       the device of `rekindle devices`
/// Throws Error (usage) for anything else, with what to write instead.
DeviceName parse_device_name(std::string_view written);

/// The device here that is meant. Throws Error (usage) when there is none, and when a GPU was asked for and
/// only a driver for the CPU is there. Preconditions: not automatic and not cpu.
runtime::DeviceInfo find_device(const DeviceName& name);

/// What a person must know who named a driver for the CPU; "" for a GPU.
std::string warning_of_cpu_driver(const runtime::DeviceInfo& info);

} // namespace rekindle::trainer
