#include "device/vulkan_device.h"

#include "device/instance.h"
#include "device/physical_device.h"
#include "device/vulkan_structure.h"

#include <algorithm>
#include <array>
#include <span>

namespace rekindle::runtime {

namespace {

PhysicalDevice find_device(const Instance& instance, const DeviceInfo& requested) {
    for (PhysicalDevice& device : describe_all(instance))
        if (device.info.uuid == requested.uuid && device.info.device_id == requested.device_id &&
            device.info.name == requested.name)
            return std::move(device);
    throw Error(requested.address() + " (" + requested.name + ") is no longer there");
}

} // namespace

std::unique_ptr<VulkanDevice> VulkanDevice::open(const DeviceInfo& info, DeviceOptions options,
                                                 TestMode test_mode) {
    if (!info.unusable.empty())
        throw Unsupported(info.address() + " (" + info.name + ") cannot be used: it " + info.unusable);
    std::unique_ptr<VulkanDevice> device(new VulkanDevice(info, std::move(options), test_mode));
    device->create();
    return device;
}

VulkanDevice::VulkanDevice(DeviceInfo info, DeviceOptions options, TestMode test_mode)
    : info_(std::move(info)), options_(std::move(options)), test_mode_(test_mode),
      instance_(Instance::shared(test_mode_.validation)) {}

VulkanDevice::~VulkanDevice() {
    if (!vulkan_usable())
        return;
    if (device_ != VK_NULL_HANDLE) {
        vk_.vkDestroyPipelineLayout(device_, layout_, nullptr);
        vk_.vkDestroyDevice(device_, nullptr);
    }
    instance_->stop_listening(listener_);
}

void VulkanDevice::create() {
    listener_ = instance_->listen([this](LogLevel level, std::string_view text) { log(level, text); });
    if (test_mode_.validation && !instance_->validates())
        log(LogLevel::warning, "REKINDLE_VALIDATION=1, but VK_LAYER_KHRONOS_validation is not installed");
    const PhysicalDevice found = find_device(*instance_, info_);
    physical_ = found.handle;
    vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(physical_, &properties);
    limits_ = properties.limits;
    enabled_ = found.available;
    enabled_.executable_properties = options_.pipeline_statistics && found.available.executable_properties;
    if (!found.compute)
        throw Unsupported(info_.name + " has no queue that computes");
    // Other streams must not delay the kernels of the main one: on an H100, training with collectives in many
    // small pieces takes 3 % longer with equal priorities.
    constexpr std::array<float, most_queues> priorities{1, 0};
    std::vector<VkDeviceQueueCreateInfo> queues;
    const auto add = [&](const QueueFamily& family) {
        auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
        queue.queueFamilyIndex = family.index;
        queue.queueCount = std::min(family.queues, most_queues);
        queue.pQueuePriorities = priorities.data();
        queues.push_back(queue);
    };
    add(*found.compute);
    if (found.transfer && !options_.compile_only)
        add(*found.transfer);
    FeatureChain features;
    enable_used_features(found, enabled_, features);
    const std::vector<const char*> extensions = extensions_to_enable(found);
    auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
    info.pNext = &features.core;
    info.queueCreateInfoCount = static_cast<std::uint32_t>(queues.size());
    info.pQueueCreateInfos = queues.data();
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
    volkLoadDeviceTable(&vk_, device_);
    if (!options_.compile_only) {
        get_queues(*found.compute, compute_);
        if (found.transfer)
            transfer_count_ = get_queues(*found.transfer, transfer_);
    }
    create_layout();
}

std::uint32_t VulkanDevice::get_queues(const QueueFamily& family, std::span<Queue> queues) {
    const std::uint32_t count = std::min<std::uint32_t>(family.queues, most_queues);
    for (std::uint32_t i = 0; i < count; ++i) {
        queues[i].family = family.index;
        queues[i].timestamp_bits = family.timestamp_bits;
        vk_.vkGetDeviceQueue(device_, family.index, i, &queues[i].handle);
    }
    return count;
}

void VulkanDevice::create_layout() {
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
    auto info = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    check(vk_.vkCreatePipelineLayout(device_, &info, nullptr, &layout_), "vkCreatePipelineLayout");
}

std::vector<Heap> VulkanDevice::heaps() const {
    return heaps_of(physical_, enabled_.memory_budget);
}

void VulkanDevice::log(LogLevel level, std::string_view text) {
    const std::lock_guard lock(log_mutex_);
    if (options_.log)
        options_.log(level, text);
}

void VulkanDevice::add_timeline(std::weak_ptr<StreamTimeline> timeline) {
    const std::lock_guard lock(timelines_mutex_);
    std::erase_if(timelines_, [](const std::weak_ptr<StreamTimeline>& known) { return known.expired(); });
    timelines_.push_back(std::move(timeline));
}

std::vector<std::shared_ptr<StreamTimeline>> VulkanDevice::timelines() {
    const std::lock_guard lock(timelines_mutex_);
    std::vector<std::shared_ptr<StreamTimeline>> alive;
    for (const std::weak_ptr<StreamTimeline>& known : timelines_)
        if (std::shared_ptr<StreamTimeline> timeline = known.lock())
            alive.push_back(std::move(timeline));
    return alive;
}

void VulkanDevice::submit_held() {
    // A stream may be held back for another one that comes later in the list, or that another thread submits.
    std::uint64_t before = 0;
    do {
        before = promises_.submits();
        for (const std::shared_ptr<StreamTimeline>& timeline : timelines())
            timeline->submit_held();
    } while (promises_.submits() != before);
    promises_.keep();
}

} // namespace rekindle::runtime
