#pragma once
/// The device names that users may give, in one place for every command.

#include <rekindle/runtime/device.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rekindle::trainer {

/// A device as the user gave it.
struct DeviceName {
    enum class Kind { automatic, cpu, any_gpu, number, uuid };
    Kind kind = Kind::automatic;
    std::uint32_t number = 0; ///< Kind::number
    /// The user asked for a GPU (gpu, cuda:0, hip, 0 …): a CPU driver must not take its place. Only the
    /// address that `rekindle devices` prints (gpu:N) and a UUID can mean a CPU driver.
    bool must_be_gpu = false;
    std::string text; ///< as stored in a configuration: "auto", "cpu", "gpu", "gpu:1", "cuda:1", "gpu-…"
};

/// Reads a name, in either case:
///   auto; cpu, cpu:0                     as they say
///   gpu, cuda, hip, rocm, vulkan, rvk    the first GPU
///   cuda:N, hip:N, rocm:N, N             GPU number N
///   gpu:N, vulkan:N, rvk:N, a UUID       the device of `rekindle devices`
/// Throws Error (usage) for anything else, with what to write instead.
DeviceName parse_device_name(std::string_view written);

/// The device that the name means. Throws Error (usage) when there is none, and when the user asked for a GPU
/// and there is only a CPU driver. Preconditions: not automatic and not cpu.
runtime::DeviceInfo find_device(const DeviceName& name);

/// A warning for a user who named a CPU driver; "" for a GPU.
std::string cpu_driver_warning(const runtime::DeviceInfo& info);

} // namespace rekindle::trainer
