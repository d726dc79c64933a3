#include "device/instance.h"

#include "device/process_state.h"
#include "device/vulkan_structure.h"

#include <rekindle/runtime/vulkan_result.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

namespace rekindle::runtime {

namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

bool has_validation_layer() {
    std::uint32_t count = 0;
    if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS)
        return false;
    std::vector<VkLayerProperties> layers(count);
    if (vkEnumerateInstanceLayerProperties(&count, layers.data()) < VK_SUCCESS)
        return false;
    layers.resize(count);
    return std::ranges::any_of(layers, [](const VkLayerProperties& layer) {
        return std::strcmp(layer.layerName, validation_layer) == 0;
    });
}

/// The environment variables that affect the loader and the drivers when an instance is made.
std::string loader_environment() {
    std::string text;
    for (const char* name :
         {"VK_ICD_FILENAMES", "VK_DRIVER_FILES", "VK_ADD_DRIVER_FILES", "RADV_FORCE_FAMILY"}) {
        const char* value = std::getenv(name);
        text += value == nullptr ? "-" : std::string("=") + value;
        text += '\n';
    }
    return text;
}

std::string version_text(std::uint32_t version) {
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
           std::to_string(VK_API_VERSION_MINOR(version));
}

} // namespace

std::shared_ptr<Instance> Instance::shared(bool validation) {
    struct Known {
        std::mutex mutex;
        std::map<std::pair<std::string, bool>, std::shared_ptr<Instance>>
            instances; // by environment and layer
    };
    // Kept, because the loader unloads the drivers with the last instance, and NVIDIA's driver cannot be
    // reloaded repeatedly in one process (580.159 reports no device after ten reloads). Never destroyed,
    // because at exit the drivers may already have shut down.
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): guarded by its mutex
    static Known& known = *new Known;
    throw_if_unusable();
    const std::lock_guard lock(known.mutex);
    std::shared_ptr<Instance>& instance = known.instances[{loader_environment(), validation}];
    if (!instance)
        // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
        instance.reset(new Instance(validation));
    return instance;
}

Instance::Instance(bool validation) {
    if (volkInitialize() != VK_SUCCESS)
        throw Error(
            "there is no Vulkan loader (libvulkan.so.1) on this machine",
            "install the loader and a driver: libvulkan1 and mesa-vulkan-drivers on Debian and Ubuntu");
    const std::uint32_t loader = volkGetInstanceVersion();
    if (loader < VK_API_VERSION_1_2)
        throw Error("the Vulkan loader supports Vulkan " + version_text(loader) + "; 1.2 is required");
    version_ = std::min<std::uint32_t>(loader, VK_API_VERSION_1_3);

    auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.pApplicationName = "rekindle";
    application.pEngineName = "rekindle";
    application.apiVersion = version_;
    auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    info.pApplicationInfo = &application;
    const char* const layers[] = {validation_layer};
    const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const bool validates = validation && has_validation_layer();
    if (validates) {
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = layers;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = extensions;
    }
    const VkResult result = vkCreateInstance(&info, nullptr, &instance_);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        throw Error("the Vulkan loader found no driver that works: " + name_of(result),
                    "`rekindle doctor` checks each driver's file; mesa-vulkan-drivers has the drivers for "
                    "AMD and Intel");
    if (result != VK_SUCCESS)
        throw Error("vkCreateInstance returned " + name_of(result));
    volkLoadInstanceOnly(instance_);
    if (validates)
        create_messenger();
}

Instance::~Instance() {
    if (messenger_ != VK_NULL_HANDLE)
        vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
    if (instance_ != VK_NULL_HANDLE)
        vkDestroyInstance(instance_, nullptr);
}

void Instance::create_messenger() {
    auto info = structure<VkDebugUtilsMessengerCreateInfoEXT>(
        VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
    info.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    info.pfnUserCallback = &Instance::on_message;
    info.pUserData = this;
    if (vkCreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_) != VK_SUCCESS)
        messenger_ = VK_NULL_HANDLE;
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
    std::uint32_t count = 0;
    VkResult result = vkEnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    if (result == VK_SUCCESS && count > 0)
        result = vkEnumeratePhysicalDevices(instance_, &count, devices.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) // VK_INCOMPLETE: another one appeared in between
        throw Error("vkEnumeratePhysicalDevices returned " + name_of(result));
    devices.resize(count);
    return devices;
}

std::uint64_t Instance::listen(LogCallback listener) {
    const std::lock_guard lock(mutex_);
    for (const std::string& message : kept_)
        listener(LogLevel::error, message);
    kept_.clear();
    listeners_.emplace(++next_listener_, std::move(listener));
    return next_listener_;
}

void Instance::stop_listening(std::uint64_t listener) {
    const std::lock_guard lock(mutex_);
    listeners_.erase(listener);
}

void Instance::deliver(const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (listeners_.empty())
        kept_.push_back(message);
    for (const auto& [number, listener] : listeners_)
        listener(LogLevel::error, message);
}

VkBool32 Instance::on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                              const VkDebugUtilsMessengerCallbackDataEXT* data, void* instance) {
    static_cast<Instance*>(instance)->deliver(std::string("validation: ") + data->pMessage);
    return VK_FALSE;
}

} // namespace rekindle::runtime
