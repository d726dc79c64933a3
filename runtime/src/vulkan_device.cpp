#include "vulkan_device.h"

#include "instance.h"
#include "physical_device.h"
#include "pipeline_store.h"
#include "self_test/self_test.h"
#include "synchronizations.h"

#include <algorithm>

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

std::shared_ptr<Device> Device::open(const DeviceInfo& info, DeviceOptions options) {
    const std::shared_ptr<VulkanDevice> device =
        VulkanDevice::open_untested(info, std::move(options), test_mode_from_environment());
    if (device->options().self_test && !device->options().compile_only && !device->self_test().usable())
        throw Unsupported(info.address() + " (" + info.name +
                              ") computes wrong answers and is not used: " + failures_of(device->self_test()),
                          "another driver version may be correct; `rekindle verify` runs the test again");
    return device;
}

std::shared_ptr<VulkanDevice> VulkanDevice::open_untested(const DeviceInfo& info, DeviceOptions options,
                                                          TestMode test_mode) {
    if (!info.unusable.empty())
        throw Unsupported(info.address() + " (" + info.name + ") cannot be used: it " + info.unusable);
    std::shared_ptr<VulkanDevice> device(new VulkanDevice(info, std::move(options), test_mode));
    device->create();
    return device;
}

VulkanDevice::VulkanDevice(DeviceInfo info, DeviceOptions options, TestMode test_mode)
    : info_(std::move(info)), options_(std::move(options)), test_mode_(test_mode),
      instance_(Instance::shared(test_mode_.validation)) {}

VulkanDevice::~VulkanDevice() {
    if (!vulkan_usable()) {
        // Nothing of the driver may be called anymore, and locks may be held forever.
        static_cast<void>(profiler_.release());
        static_cast<void>(allocator_.release());
        static_cast<void>(pipelines_.release());
        return;
    }
    forget_device(*this);
    if (device_ != VK_NULL_HANDLE) {
        profiler_.reset();
        allocator_.reset();
        pipelines_.reset();
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
    compute_.family = found.compute->index;
    compute_.timestamp_bits = found.compute->timestamp_bits;

    const float priority = 1;
    std::vector<VkDeviceQueueCreateInfo> queues;
    auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    queue.queueFamilyIndex = compute_.family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    queues.push_back(queue);
    if (found.transfer && !options_.compile_only) {
        queue.queueFamilyIndex = found.transfer->index;
        queues.push_back(queue);
    }
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
    watch_process(*this);
    volkLoadDeviceTable(&vk_, device_);
    if (!options_.compile_only) {
        vk_.vkGetDeviceQueue(device_, compute_.family, 0, &compute_.handle);
        if (found.transfer) {
            transfer_.emplace();
            transfer_->family = found.transfer->index;
            transfer_->timestamp_bits = found.transfer->timestamp_bits;
            vk_.vkGetDeviceQueue(device_, transfer_->family, 0, &transfer_->handle);
        }
    }
    create_layout();
    // What is compiled for inspection must really be compiled.
    const bool keeps_nothing = options_.compile_only || options_.pipeline_statistics;
    pipelines_ = std::make_unique<PipelineStore>(*this, keeps_nothing ? std::filesystem::path{}
                                                                      : cache_folder(options_.cache_folder));
}

void VulkanDevice::create_layout() {
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
    auto info = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    check(vk_.vkCreatePipelineLayout(device_, &info, nullptr, &layout_), "vkCreatePipelineLayout");
}

const DeviceInfo& VulkanDevice::info() const noexcept {
    return info_;
}

kernels::Features VulkanDevice::usable_features() const noexcept {
    return info_.can.features.without(kernels::Features(disabled_features_.load()));
}

const Pipeline& VulkanDevice::prepare(const kernels::Kernel& kernel,
                                      std::span<const kernels::ConstantValue> constants) {
    return pipeline(kernel, constants);
}

const Pipeline& VulkanDevice::pipeline(const kernels::Kernel& kernel,
                                       std::span<const kernels::ConstantValue> constants) {
    throw_if_lost();
    return pipelines_->get(kernel, constants);
}

std::vector<PipelineStatistic>
VulkanDevice::pipeline_statistics(const kernels::Kernel& kernel,
                                  std::span<const kernels::ConstantValue> constants) {
    if (!enabled_.executable_properties)
        throw Unsupported(options_.pipeline_statistics
                              ? info_.name + " reports no pipeline statistics"
                              : "the device was opened without DeviceOptions::pipeline_statistics");
    return pipelines_->statistics(pipeline(kernel, constants));
}

void VulkanDevice::save_pipeline_cache() {
    pipelines_->save();
}

void VulkanDevice::require_running() const {
    if (options_.compile_only)
        throw Unsupported(info_.name + " was opened as compile-only: nothing can run on it");
    throw_if_lost();
}

DeviceAllocator& VulkanDevice::allocator() {
    require_running();
    allocator_once_([this] { allocator_ = make_allocator(*this); });
    return *allocator_;
}

std::unique_ptr<Stream> VulkanDevice::make_stream() {
    require_running();
    return runtime::make_stream(*this);
}

Profiler& VulkanDevice::profiler() {
    require_running();
    profiler_once_([this] { profiler_ = make_profiler(*this); });
    return *profiler_;
}

const SelfTestResult& VulkanDevice::self_test() {
    require_running();
    self_test_once_([this] {
        self_test_ = std::make_unique<SelfTestResult>(self_test_of(*this));
        disabled_features_.store(self_test_->disabled().bits());
    });
    return *self_test_;
}

void VulkanDevice::synchronize() {
    throw_if_lost();
    ++counted_synchronizations().waits;
    for (const std::shared_ptr<StreamTimeline>& timeline : timelines())
        timeline->wait(timeline->queued());
}

bool VulkanDevice::settle(std::chrono::steady_clock::time_point until) noexcept {
    bool settled = !lost();
    try {
        if (settled)
            for (const std::shared_ptr<StreamTimeline>& timeline : timelines())
                settled = timeline->settle(until) && settled;
        if (settled && pipelines_)
            pipelines_->save();
    } catch (const std::exception& error) { // out of memory for the list
        log(LogLevel::warning, error.what());
    }
    return settled;
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

} // namespace rekindle::runtime
