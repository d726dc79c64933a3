#include "probes/probe_child.h"
#include "probes/shared_library.h"

#include <rekindle/foundation/error.h>
#include <rekindle/runtime/vulkan_result.h>

#include <fmt/format.h>

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <algorithm>
#include <cstring>
#include <vulkan/vulkan.h>

namespace rekindle::doctor {

namespace {

std::string version_text(std::uint32_t version) {
    return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                       VK_API_VERSION_PATCH(version));
}

std::string_view type_text(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return "processor";
    default:
        return "other";
    }
}

/// An instance and the functions that the probe calls.
class Instance {
  public:
    explicit Instance(const SharedLibrary& loader)
        : get_(loader.get<std::remove_pointer_t<PFN_vkGetInstanceProcAddr>>("vkGetInstanceProcAddr")) {
        const auto version = function<PFN_vkEnumerateInstanceVersion>("vkEnumerateInstanceVersion", nullptr);
        if (version != nullptr) // a loader of Vulkan 1.0 lacks it
            version(&version_);
    }

    std::uint32_t version() const noexcept { return version_; }
    VkInstance handle() const noexcept { return instance_; }

    VkResult create() {
        VkApplicationInfo application{};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.pApplicationName = "rekindle doctor";
        application.apiVersion = std::min<std::uint32_t>(version_, VK_API_VERSION_1_2);
        VkInstanceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        info.pApplicationInfo = &application;
        return function<PFN_vkCreateInstance>("vkCreateInstance", nullptr)(&info, nullptr, &instance_);
    }

    template <class Function>
    Function function(const char* name) const {
        return function<Function>(name, instance_);
    }

  private:
    template <class Function>
    Function function(const char* name, VkInstance instance) const {
        return reinterpret_cast<Function>(get_(instance, name));
    }

    PFN_vkGetInstanceProcAddr get_;
    std::uint32_t version_ = VK_API_VERSION_1_0;
    VkInstance instance_ = nullptr;
};

VkResult list_devices(const Instance& instance, std::vector<VkPhysicalDevice>& devices) {
    const auto list = instance.function<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
    std::uint32_t count = 0;
    if (const VkResult result = list(instance.handle(), &count, nullptr); result != VK_SUCCESS)
        return result;
    devices.resize(count);
    const VkResult result = list(instance.handle(), &count, devices.data());
    devices.resize(count);
    return result == VK_INCOMPLETE ? VK_SUCCESS : result; // one more appeared in between
}

bool has_extension(const Instance& instance, VkPhysicalDevice device, const char* name) {
    const auto list =
        instance.function<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
    std::uint32_t count = 0;
    list(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> extensions(count);
    list(device, nullptr, &count, extensions.data());
    extensions.resize(count);
    return std::ranges::any_of(extensions, [&](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, name) == 0;
    });
}

std::string heaps_text(const Instance& instance, VkPhysicalDevice device) {
    VkPhysicalDeviceMemoryProperties memory{};
    instance.function<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(
        device, &memory);
    std::string text;
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        const bool local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
        text +=
            fmt::format("{}{} {}", i == 0 ? "" : ", ", memory.memoryHeaps[i].size, local ? "device" : "host");
    }
    return text;
}

/// The driver's own name and its place on the bus, if the Vulkan version reports them.
void describe_driver(const Instance& instance, VkPhysicalDevice device, std::uint32_t api_version,
                     ProbeResult& result) {
    const auto properties2 =
        instance.version() < VK_API_VERSION_1_1 || api_version < VK_API_VERSION_1_1
            ? nullptr
            : instance.function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2");
    if (properties2 == nullptr)
        return;
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDevicePCIBusInfoPropertiesEXT bus{};
    bus.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    const bool names_driver = api_version >= VK_API_VERSION_1_2 ||
                              has_extension(instance, device, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    const bool names_bus = has_extension(instance, device, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    if (names_driver)
        properties.pNext = &driver;
    if (names_bus) {
        bus.pNext = properties.pNext;
        properties.pNext = &bus;
    }
    properties2(device, &properties);
    if (names_driver) {
        result.values["driver"] = driver.driverName;
        result.values["driver_info"] = driver.driverInfo;
        result.values["driver_id"] = std::to_string(static_cast<int>(driver.driverID));
    }
    if (names_bus)
        result.device = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", bus.pciDomain, bus.pciBus, bus.pciDevice,
                                    bus.pciFunction);
}

ProbeResult describe_device(const Instance& instance, VkPhysicalDevice device, std::size_t ordinal,
                            const ProbeReport& report) {
    const std::string name = fmt::format("vulkan:{}", ordinal);
    report.at(fmt::format("vkGetPhysicalDeviceProperties of {}", name));
    VkPhysicalDeviceProperties properties{};
    instance.function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(device,
                                                                                          &properties);
    ProbeResult result = report.result(name);
    result.values = {
        {"ordinal", name},
        {"name", properties.deviceName},
        {"type", std::string(type_text(properties.deviceType))},
        {"api_version", version_text(properties.apiVersion)},
        {"driver_version", fmt::format("{:#x}", properties.driverVersion)},
        {"pci_id", fmt::format("{:04x}:{:04x}", properties.vendorID, properties.deviceID)},
        {"heaps", heaps_text(instance, device)},
    };
    describe_driver(instance, device, properties.apiVersion, result);
    return result;
}

} // namespace

void probe_vulkan_devices(const ProbeRequest& request, const ProbeReport& report) {
    ProbeResult host = report.result();
    report.at("loading libvulkan.so.1");
    std::vector<std::string> names{"libvulkan.so.1"};
    if (const std::string path = request.first("loader"); !path.empty())
        names.insert(names.begin(), path);
    const SharedLibrary loader = SharedLibrary::open(names, {});
    if (!loader)
        return loader.broken() ? report.failed(host, loader.problem())
                               : report.skipped(host, loader.problem());
    host.values["library"] = loader.path();
    Instance instance(loader);
    host.values["loader_version"] = version_text(instance.version());
    report.at("vkCreateInstance");
    if (const VkResult result = instance.create(); result != VK_SUCCESS)
        return report.failed(host, "vkCreateInstance failed", runtime::name_of(result));
    report.at("vkEnumeratePhysicalDevices");
    std::vector<VkPhysicalDevice> devices;
    if (const VkResult result = list_devices(instance, devices); result != VK_SUCCESS)
        return report.failed(host, "vkEnumeratePhysicalDevices failed", runtime::name_of(result));
    std::vector<ProbeResult> described;
    for (std::size_t i = 0; i < devices.size(); ++i)
        described.push_back(describe_device(instance, devices[i], i, report));
    host.values["devices"] = std::to_string(devices.size());
    if (devices.empty())
        return report.failed(host, "no Vulkan driver offers a device", "0 devices");
    report.passed(host);
    for (ProbeResult& device : described)
        report.passed(std::move(device));
}

} // namespace rekindle::doctor
