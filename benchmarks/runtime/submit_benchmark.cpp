/// Measures how long the host waits for one number from the device: with the runtime, and with a Vulkan
/// program that does nothing else. The second is a lower bound for whatever reads a result, such as
/// loss.item().
///
///     submit_benchmark [DEVICE]        (default gpu; anything that select_device accepts)
///
/// "Bare Vulkan" records a command buffer, submits it, and polls until the device has finished. With
/// timestamps, it also measures the device's time, as the runtime does to keep submits shorter than the
/// driver's watchdog allows. Each method checks the number that it reads. Figures are microseconds of wall
/// time, medians of 51 rounds of 20 runs. The methods alternate, and the first 5 runs of a round are not
/// timed, because the GPU takes time to switch from one Vulkan device to another.

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <volk.h>

namespace {

using namespace rekindle::runtime;

constexpr int rounds = 51, runs = 20, untimed_runs = 5;

void check(VkResult result, const char* call) {
    if (result != VK_SUCCESS)
        throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
}

template <class Structure>
Structure structure(VkStructureType type, void* next = nullptr) {
    Structure result{};
    result.sType = type;
    result.pNext = next;
    return result;
}

/// Calls `destroy` at the end of its life.
class Cleanup {
  public:
    explicit Cleanup(std::function<void()> destroy) : destroy_(std::move(destroy)) {}
    ~Cleanup() { destroy_(); }
    Cleanup(const Cleanup&) = delete;
    Cleanup& operator=(const Cleanup&) = delete;

  private:
    std::function<void()> destroy_;
};

/// A device and the few Vulkan objects that one submit needs. Not thread-safe.
class BareDevice {
  public:
    /// On the physical device with this UUID; the runtime has loaded Vulkan's global functions.
    explicit BareDevice(const std::array<std::uint8_t, VK_UUID_SIZE>& uuid) {
        make_instance();
        choose(uuid);
        make_device();
        make_commands();
        host_ = make_buffer(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                            &mapped_);
        device_buffer_ = make_buffer(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, nullptr);
    }
    BareDevice(const BareDevice&) = delete;
    BareDevice& operator=(const BareDevice&) = delete;
    ~BareDevice() {
        vk_.vkDeviceWaitIdle(device_);
        while (!cleanups_.empty())
            cleanups_.pop_back();
    }

    /// Has the device write `number` to its memory and copy it to the host's, between two timestamps if
    /// `timestamps`; waits for it, and returns what arrived.
    std::uint32_t round_trip(bool timestamps, std::uint32_t number) {
        record(timestamps, number);
        submit();
        for (std::uint64_t now = 0; now < value_;)
            check(vk_.vkGetSemaphoreCounterValue(device_, semaphore_, &now), "vkGetSemaphoreCounterValue");
        std::uint32_t seen = 0;
        std::memcpy(&seen, mapped_, sizeof seen);
        return seen;
    }

  private:
    void at_end(std::function<void()> destroy) {
        cleanups_.push_back(std::make_unique<Cleanup>(std::move(destroy)));
    }

    void make_instance() {
        auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
        application.apiVersion = VK_API_VERSION_1_2;
        auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
        info.pApplicationInfo = &application;
        check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
        at_end([this] { vkDestroyInstance(instance_, nullptr); });
    }

    void choose(const std::array<std::uint8_t, VK_UUID_SIZE>& uuid) {
        std::uint32_t count = 0;
        check(vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices");
        std::vector<VkPhysicalDevice> found(count);
        check(vkEnumeratePhysicalDevices(instance_, &count, found.data()), "vkEnumeratePhysicalDevices");
        for (const VkPhysicalDevice one : found) {
            auto id =
                structure<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
            auto properties =
                structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &id);
            vkGetPhysicalDeviceProperties2(one, &properties);
            if (std::ranges::equal(uuid, id.deviceUUID))
                physical_ = one;
        }
        if (physical_ == VK_NULL_HANDLE)
            throw std::runtime_error("the second instance does not list the device");
        vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
    }

    std::uint32_t compute_family() const {
        std::uint32_t count = 0;
        vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
        for (std::uint32_t i = 0; i < count; ++i)
            if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)
                return i;
        throw std::runtime_error("the device has no compute queue");
    }

    void make_device() {
        const std::uint32_t family = compute_family();
        const float priority = 1;
        auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
        queue.queueFamilyIndex = family;
        queue.queueCount = 1;
        queue.pQueuePriorities = &priority;
        auto timeline = structure<VkPhysicalDeviceTimelineSemaphoreFeatures>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
        timeline.timelineSemaphore = VK_TRUE;
        auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &timeline);
        info.queueCreateInfoCount = 1;
        info.pQueueCreateInfos = &queue;
        check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
        volkLoadDeviceTable(&vk_, device_);
        at_end([this] { vk_.vkDestroyDevice(device_, nullptr); });
        vk_.vkGetDeviceQueue(device_, family, 0, &queue_);

        auto pool = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
        pool.queueFamilyIndex = family;
        check(vk_.vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
        at_end([this] { vk_.vkDestroyCommandPool(device_, pool_, nullptr); });
    }

    void make_commands() {
        auto commands =
            structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
        commands.commandPool = pool_;
        commands.commandBufferCount = 1;
        check(vk_.vkAllocateCommandBuffers(device_, &commands, &commands_), "vkAllocateCommandBuffers");

        auto queries = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
        queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
        queries.queryCount = 2;
        check(vk_.vkCreateQueryPool(device_, &queries, nullptr, &queries_), "vkCreateQueryPool");
        at_end([this] { vk_.vkDestroyQueryPool(device_, queries_, nullptr); });

        auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
        type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
        auto semaphore = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type);
        check(vk_.vkCreateSemaphore(device_, &semaphore, nullptr, &semaphore_), "vkCreateSemaphore");
        at_end([this] { vk_.vkDestroySemaphore(device_, semaphore_, nullptr); });
    }

    /// In the first memory type with these properties. `mapped`, if not null, receives its address.
    VkBuffer make_buffer(VkMemoryPropertyFlags properties, void** mapped) {
        auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
        info.size = 256;
        info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        VkBuffer buffer = VK_NULL_HANDLE;
        check(vk_.vkCreateBuffer(device_, &info, nullptr, &buffer), "vkCreateBuffer");
        at_end([this, buffer] { vk_.vkDestroyBuffer(device_, buffer, nullptr); });

        VkMemoryRequirements needs{};
        vk_.vkGetBufferMemoryRequirements(device_, buffer, &needs);
        std::uint32_t type = 0;
        while (type < memory_.memoryTypeCount &&
               (!(needs.memoryTypeBits >> type & 1) ||
                (memory_.memoryTypes[type].propertyFlags & properties) != properties))
            ++type;
        if (type == memory_.memoryTypeCount)
            throw std::runtime_error("the device has no memory type for this benchmark");
        auto allocation = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
        allocation.allocationSize = needs.size;
        allocation.memoryTypeIndex = type;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        check(vk_.vkAllocateMemory(device_, &allocation, nullptr, &memory), "vkAllocateMemory");
        at_end([this, memory] { vk_.vkFreeMemory(device_, memory, nullptr); });
        check(vk_.vkBindBufferMemory(device_, buffer, memory, 0), "vkBindBufferMemory");
        if (mapped != nullptr)
            check(vk_.vkMapMemory(device_, memory, 0, VK_WHOLE_SIZE, 0, mapped), "vkMapMemory");
        return buffer;
    }

    void barrier(VkPipelineStageFlags to, VkAccessFlags access) {
        auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
        memory.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
        memory.dstAccessMask = access;
        vk_.vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, to, 0, 1, &memory, 0, nullptr, 0,
                                 nullptr);
    }

    void record(bool timestamps, std::uint32_t number) {
        check(vk_.vkResetCommandPool(device_, pool_, 0), "vkResetCommandPool");
        auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
        begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
        check(vk_.vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
        if (timestamps) {
            vk_.vkCmdResetQueryPool(commands_, queries_, 0, 2);
            vk_.vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, queries_, 0);
        }
        vk_.vkCmdFillBuffer(commands_, device_buffer_, 0, sizeof number, number);
        barrier(VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
        const VkBufferCopy region{0, 0, sizeof number};
        vk_.vkCmdCopyBuffer(commands_, device_buffer_, host_, 1, &region);
        barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        if (timestamps)
            vk_.vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, queries_, 1);
        check(vk_.vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
    }

    void submit() {
        ++value_;
        auto timeline =
            structure<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        timeline.signalSemaphoreValueCount = 1;
        timeline.pSignalSemaphoreValues = &value_;
        auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO, &timeline);
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands_;
        info.signalSemaphoreCount = 1;
        info.pSignalSemaphores = &semaphore_;
        check(vk_.vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    }

    std::vector<std::unique_ptr<Cleanup>> cleanups_; ///< run from the last to the first
    VkInstance instance_ = VK_NULL_HANDLE;
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkPhysicalDeviceMemoryProperties memory_{};
    VkDevice device_ = VK_NULL_HANDLE;
    VolkDeviceTable vk_{};
    VkQueue queue_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkQueryPool queries_ = VK_NULL_HANDLE;
    VkSemaphore semaphore_ = VK_NULL_HANDLE;
    std::uint64_t value_ = 0; ///< of the semaphore after the last submit
    VkBuffer host_ = VK_NULL_HANDLE, device_buffer_ = VK_NULL_HANDLE;
    void* mapped_ = nullptr; ///< of host_
};

struct Method {
    std::string name;
    std::function<std::uint32_t(std::uint32_t)> round_trip; ///< returns the number that the host read
    std::vector<double> microseconds{};
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void measure(std::vector<Method>& methods) {
    std::uint32_t number = 0;
    const auto repeat = [&number](const Method& method, int times) {
        for (int run = 0; run < times; ++run)
            if (++number; method.round_trip(number) != number)
                throw std::runtime_error(method.name + ": the host read another number");
    };
    for (int round = 0; round < rounds; ++round)
        for (Method& method : methods) {
            repeat(method, untimed_runs);
            const auto start = std::chrono::steady_clock::now();
            repeat(method, runs);
            const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
            method.microseconds.push_back(time.count() / runs);
        }
}

int run(const std::string& which) {
    DeviceOptions options;
    options.self_test = false;
    const std::shared_ptr<Device> device = Device::open(select_device(which), options);
    const std::unique_ptr<Stream> stream = device->make_stream();
    const Buffer buffer = device->allocator().allocate(256, MemoryKind::device, stream.get());
    std::printf("%s: %s\n", device->info().address().c_str(), device->info().name.c_str());

    BareDevice bare(device->info().uuid);
    std::vector<Method> methods;
    for (const bool timestamps : {false, true})
        methods.push_back(
            {timestamps ? "bare Vulkan, with two timestamps" : "bare Vulkan: fill, copy to the host",
             [&bare, timestamps](std::uint32_t number) { return bare.round_trip(timestamps, number); }});
    methods.push_back({"Rekindle: fill, download", [&](std::uint32_t number) {
                           std::uint32_t seen = 0;
                           stream->fill(buffer.pointer(), sizeof number, number);
                           stream->download(std::as_writable_bytes(std::span(&seen, 1)), buffer.pointer());
                           return seen;
                       }});
    measure(methods);
    for (const Method& method : methods)
        std::printf("%-36s %6.1f us\n", method.name.c_str(), median(method.microseconds));
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count > 1 ? arguments[1] : "gpu");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "submit_benchmark: %s\n", e.what());
        return 1;
    }
}
