#pragma once
/// How people name devices: the one parser behind --device, --device-ids, REKINDLE_VISIBLE_DEVICES and
/// select_device().

#include <rekindle/runtime/device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::runtime {

/// A device as the user wrote it; it may not exist. Case and blanks around the text are ignored.
struct DeviceSelector {
    enum class Kind { automatic, cpu, any_gpu, number, uuid };
    Kind kind = Kind::automatic;
    std::uint32_t number = 0; ///< Kind::number
    /// The user asked for a GPU (gpu, cuda:0, hip, 0 …): a CPU driver must not take its place. Only the
    /// address that `rekindle devices` prints (gpu:N) and a UUID can mean a CPU driver.
    bool must_be_gpu = false;
    std::string text; ///< the canonical spelling: "auto", "cpu", "gpu", "gpu:1", "cuda:1", "gpu-…"

    /// Reads a name:
    ///   auto; cpu, cpu:0                     the program's choice; the CPU
    ///   gpu, cuda, hip, rocm, vulkan, rvk    the first GPU
    ///   cuda:N, hip:N, rocm:N, N             GPU number N
    ///   gpu:N, vulkan:N, rvk:N, a UUID       the device of `rekindle devices`
    /// A UUID has 8-4-4-4-12 hexadecimal digits, with or without "GPU-" before them. Nothing for any other
    /// text.
    static std::optional<DeviceSelector> parse(std::string_view written);

    /// Reads an entry of REKINDLE_VISIBLE_DEVICES: N or a UUID. Nothing for any other text.
    static std::optional<DeviceSelector> parse_number_or_uuid(std::string_view written);

    /// Decimal digits without blanks or a sign. Device numbers have 16 bits: a larger one is a typing
    /// mistake.
    static std::optional<std::uint32_t> parse_number(std::string_view digits);

    /// Numbers separated by commas, blanks around each allowed, in the order written: "0, 1". Nothing if one
    /// of them is missing or not a number; "" is a missing number.
    static std::optional<std::vector<std::uint32_t>> parse_numbers(std::string_view list);

    /// Whether a selector of kind number or uuid names this device. False for the other kinds, which name no
    /// single device.
    bool names(const DeviceInfo& device) const;
};

/// The device of list_devices() that the selector names; for any_gpu, the first accepted one. Ignores
/// must_be_gpu. Throws Unsupported, with the list of devices, if there is no such device. The kinds automatic
/// and cpu select no Vulkan device, so it throws for them, too.
DeviceInfo select_device(const DeviceSelector& selector);

} // namespace rekindle::runtime
