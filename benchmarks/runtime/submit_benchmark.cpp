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

#include "device/vulkan_structure.h"
#include "device_benchmark.h"

#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>
#include <rekindle/runtime/vulkan_result.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
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
using namespace rekindle::benchmarks;

constexpr int rounds = 51, runs = 20, untimed_runs = 5;

void check(VkResult result, const char* call) {
    if (result != VK_SUCCESS)
        throw std::runtime_error(std::string(call) + " returned " + name_of(result));
}

/// Destroys objects in the reverse order of their creation.
class Cleanups {
  public:
    Cleanups() = default;
    ~Cleanups() {
        for (; !calls_.empty(); calls_.pop_back())
            calls_.back()();
    }
    Cleanups(const Cleanups&) = delete;
    Cleanups& operator=(const Cleanups&) = delete;

    void add(std::function<void()> destroy) { calls_.push_back(std::move(destroy)); }

  private:
    std::vector<std::function<void()>> calls_;
};

/// A Vulkan device with only what one submit needs. Not thread-safe.
class BareDevice {
  public:
    /// Opens the physical device with this UUID. The runtime must have loaded Vulkan's global functions.
    explicit BareDevice(const std::array<std::uint8_t, VK_UUID_SIZE>& uuid) {
        make_instance();
        choose(uuid);
        make_device();
        make_commands();
        host_ = make_buffer(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                            &mapped_);
        device_buffer_ = make_buffer(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, nullptr);
        cleanups_.add([this] { vk_.vkDeviceWaitIdle(device_); });
    }
    BareDevice(const BareDevice&) = delete;
    BareDevice& operator=(const BareDevice&) = delete;

    /// The device fills its memory with `number` and copies it to the host's memory. Returns what the host
    /// reads there when the device has finished. timestamps: the device also records when it starts and ends.
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
    void make_instance() {
        auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
        application.apiVersion = VK_API_VERSION_1_2;
        auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
        info.pApplicationInfo = &application;
        check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
        cleanups_.add([this] { vkDestroyInstance(instance_, nullptr); });
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
                structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
            properties.pNext = &id;
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
        auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
        info.pNext = &timeline;
        info.queueCreateInfoCount = 1;
        info.pQueueCreateInfos = &queue;
        check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
        volkLoadDeviceTable(&vk_, device_);
        cleanups_.add([this] { vk_.vkDestroyDevice(device_, nullptr); });
        vk_.vkGetDeviceQueue(device_, family, 0, &queue_);

        auto pool = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
        pool.queueFamilyIndex = family;
        check(vk_.vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
        cleanups_.add([this] { vk_.vkDestroyCommandPool(device_, pool_, nullptr); });
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
        cleanups_.add([this] { vk_.vkDestroyQueryPool(device_, queries_, nullptr); });

        auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
        type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
        auto semaphore = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
        semaphore.pNext = &type;
        check(vk_.vkCreateSemaphore(device_, &semaphore, nullptr, &semaphore_), "vkCreateSemaphore");
        cleanups_.add([this] { vk_.vkDestroySemaphore(device_, semaphore_, nullptr); });
    }

    /// Uses the first memory type with these properties. If `mapped` is not null, maps the memory and stores
    /// its address there.
    VkBuffer make_buffer(VkMemoryPropertyFlags properties, void** mapped) {
        auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
        info.size = 256;
        info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        VkBuffer buffer = VK_NULL_HANDLE;
        check(vk_.vkCreateBuffer(device_, &info, nullptr, &buffer), "vkCreateBuffer");
        cleanups_.add([this, buffer] { vk_.vkDestroyBuffer(device_, buffer, nullptr); });

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
        cleanups_.add([this, memory] { vk_.vkFreeMemory(device_, memory, nullptr); });
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
        auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
        info.pNext = &timeline;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands_;
        info.signalSemaphoreCount = 1;
        info.pSignalSemaphores = &semaphore_;
        check(vk_.vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    }

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
    std::uint64_t value_ = 0; ///< the semaphore's, once the last submit has finished
    VkBuffer host_ = VK_NULL_HANDLE, device_buffer_ = VK_NULL_HANDLE;
    void* mapped_ = nullptr; ///< the address of host_
    Cleanups cleanups_;      ///< destroyed first, because its calls use the other members
};

struct Method {
    std::string name;
    std::function<std::uint32_t(std::uint32_t)> round_trip; ///< returns the number that the host read
    std::vector<double> microseconds{};
};

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

void run(Device& device) {
    const std::unique_ptr<Stream> stream = device.make_stream();
    const Buffer buffer = device.allocator().allocate(256, MemoryKind::device, stream.get());
    BareDevice bare(device.info().uuid);
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
}

} // namespace

int main(int count, char** arguments) {
    return run_on_device("submit_benchmark", count, arguments, run);
}
