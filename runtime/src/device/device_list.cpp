#include "device/instance.h"
#include "device/physical_device.h"

#include <rekindle/runtime/device_selector.h>
#include <rekindle/runtime/test_mode.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace rekindle::runtime {

namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// The device that the selector names by number or UUID, or null.
const DeviceInfo* device_named(const std::vector<DeviceInfo>& devices,
                               const std::optional<DeviceSelector>& selector) {
    if (!selector)
        return nullptr;
    const auto found =
        std::ranges::find_if(devices, [&](const DeviceInfo& device) { return selector->names(device); });
    return found == devices.end() ? nullptr : &*found;
}

std::string names_of(const std::vector<DeviceInfo>& devices) {
    std::string text;
    for (const DeviceInfo& device : devices) {
        text +=
            (text.empty() ? "" : ", ") + device.address() + " (" + device.name + ", " + device.uuid_text();
        text += device.unusable.empty() ? ")" : "; cannot be used: it " + device.unusable + ")";
    }
    return text;
}

/// The devices in the order of the variable's list, renumbered, as CUDA and HIP treat their variables.
std::vector<DeviceInfo> visible_of(const std::vector<DeviceInfo>& devices, std::string_view list) {
    std::vector<DeviceInfo> visible;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t comma = std::min(list.find(',', begin), list.size());
        const std::string_view entry = trimmed(list.substr(begin, comma - begin));
        begin = comma + 1;
        if (entry.empty())
            continue;
        const DeviceInfo* device = device_named(devices, DeviceSelector::parse_number_or_uuid(entry));
        if (device == nullptr)
            throw Error("REKINDLE_VISIBLE_DEVICES names " + std::string(entry) +
                            ", which is not a device of this machine",
                        devices.empty() ? "there is no Vulkan device" : "available: " + names_of(devices));
        if (std::ranges::find(visible, device->uuid, &DeviceInfo::uuid) == visible.end())
            visible.push_back(*device);
    }
    for (std::uint32_t i = 0; i < visible.size(); ++i)
        visible[i].number = i;
    return visible;
}

/// `shown`: how messages name the selector.
DeviceInfo select(const std::optional<DeviceSelector>& selector, const std::string& shown) {
    std::string reason;
    const std::vector<DeviceInfo> devices = list_devices(&reason);
    if (devices.empty())
        throw Unsupported("there is no Vulkan device: " + reason, "`rekindle doctor` says what is missing");
    if (selector && selector->kind == DeviceSelector::Kind::any_gpu) {
        const auto first =
            std::ranges::find_if(devices, [](const DeviceInfo& d) { return d.unusable.empty(); });
        if (first == devices.end())
            throw Unsupported("none of the Vulkan devices can be used: " + names_of(devices));
        return *first;
    }
    const DeviceInfo* device = device_named(devices, selector);
    if (device == nullptr)
        throw Unsupported("there is no device " + shown, "available: " + names_of(devices));
    return *device;
}

} // namespace

std::string DeviceInfo::address() const {
    return "gpu:" + std::to_string(number);
}

std::string DeviceInfo::uuid_text() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "GPU-";
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += digits[uuid[i] >> 4];
        text += digits[uuid[i] & 15];
    }
    return text;
}

std::vector<DeviceInfo> list_devices(std::string* reason) {
    std::vector<DeviceInfo> devices;
    const auto say = [reason](std::string text) {
        if (reason != nullptr)
            *reason = std::move(text);
    };
    say({});
    try {
        const std::shared_ptr<Instance> instance = Instance::shared(test_mode_from_environment().validation);
        for (PhysicalDevice& device : describe_all(*instance))
            devices.push_back(std::move(device.info));
        if (devices.empty())
            say("no Vulkan driver offers a device");
    } catch (const Error& error) {
        say(error.what());
    }
    const char* list = std::getenv("REKINDLE_VISIBLE_DEVICES");
    if (list == nullptr)
        return devices;
    std::vector<DeviceInfo> visible = visible_of(devices, list);
    if (visible.empty() && !devices.empty())
        say("REKINDLE_VISIBLE_DEVICES hides every device");
    return visible;
}

DeviceInfo select_device(const DeviceSelector& selector) {
    const bool numbered = selector.kind == DeviceSelector::Kind::number;
    return select(selector, numbered ? "gpu:" + std::to_string(selector.number) : selector.text);
}

DeviceInfo select_device(std::string_view text) {
    return select(DeviceSelector::parse(text), std::string(text));
}

} // namespace rekindle::runtime
