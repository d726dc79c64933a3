#pragma once
/// The process's Vulkan instance.

#include <rekindle/runtime/error.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include <volk.h>

namespace rekindle::runtime {

/// Shared by all code that lists or opens devices, and kept until the process ends. There is one instance for
/// each state of the environment variables that the loader reads.
class Instance {
  public:
    /// Throws Error with the reason when there is no loader, no driver, or a loader older than Vulkan 1.2.
    /// `validation`: with VK_LAYER_KHRONOS_validation if it is installed (see validates()).
    static std::shared_ptr<Instance> shared(bool validation);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance handle() const noexcept { return instance_; }
    std::uint32_t version() const noexcept { return version_; } ///< the requested one, 1.2 or 1.3
    bool validates() const noexcept { return messenger_ != VK_NULL_HANDLE; }
    /// Every physical device, in the loader's order.
    std::vector<VkPhysicalDevice> physical_devices() const;

    /// Messages of the validation layer go to every listener; those that arrive before the first listener are
    /// kept for it.
    std::uint64_t listen(LogCallback listener);
    void stop_listening(std::uint64_t listener);

  private:
    explicit Instance(bool validation);
    void create_messenger();
    void deliver(const std::string& message);
    static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT types,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* instance);

    VkInstance instance_ = VK_NULL_HANDLE;
    std::uint32_t version_ = 0;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    std::mutex mutex_;
    std::map<std::uint64_t, LogCallback> listeners_;
    std::uint64_t next_listener_ = 0;
    std::vector<std::string> kept_;
};

} // namespace rekindle::runtime
