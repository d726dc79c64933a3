#pragma once
/// The opened Vulkan device that memory/, pipeline/ and stream/ build on: handles, queues, failures, the log.
/// It depends on none of them. Private to the library.

#include "device/enabled_features.h"
#include "device/process_state.h"
#include "device/promise_board.h"
#include "device/stream_timeline.h"
#include "device/vulkan_structure.h"

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/test_mode.h>
#include <rekindle/runtime/vulkan_result.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <volk.h>

namespace rekindle::runtime {

class Instance;
struct QueueFamily;

/// A queue of the device. Vulkan requires external synchronization of each VkQueue: hold `mutex` around every
/// call that takes `handle`, and around nothing that waits for the device.
struct Queue {
    VkQueue handle = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    std::uint32_t timestamp_bits = 0; ///< valid bits of a timestamp written here; 0: no timestamps
    std::mutex mutex;
};

/// Thread-safe. Belongs to an owner that also owns the device's pipelines and its memory (OpenedDevice).
class VulkanDevice {
  public:
    /// Throws Error; Unsupported when info.unusable is not empty.
    static std::unique_ptr<VulkanDevice> open(const DeviceInfo& info, DeviceOptions options,
                                              TestMode test_mode);
    ~VulkanDevice();
    VulkanDevice(const VulkanDevice&) = delete;
    VulkanDevice& operator=(const VulkanDevice&) = delete;

    /// Call it before the first shared().
    void set_owner(std::weak_ptr<const void> owner) noexcept { owner_ = std::move(owner); }
    /// Keeps the owner alive, and with it this device, its pipelines and its memory.
    std::shared_ptr<VulkanDevice> shared() { return {std::shared_ptr<const void>(owner_), this}; }

    const DeviceInfo& info() const noexcept { return info_; }
    const DeviceOptions& options() const noexcept { return options_; }
    const TestMode& test_mode() const noexcept { return test_mode_; }
    /// Features that the driver claims, without the disabled ones.
    kernels::Features usable_features() const noexcept {
        return info_.can.features.without(kernels::Features(disabled_features_.load()));
    }
    /// Disables features that compute wrong answers; replaces the set of an earlier call.
    void disable(kernels::Features features) noexcept { disabled_features_.store(features.bits()); }

    // Vulkan
    const VolkDeviceTable& vk() const noexcept { return vk_; }
    VkDevice handle() const noexcept { return device_; }
    VkPhysicalDevice physical() const noexcept { return physical_; }
    const VkPhysicalDeviceMemoryProperties& memory_properties() const noexcept { return memory_; }
    const VkPhysicalDeviceLimits& limits() const noexcept { return limits_; }
    const EnabledFeatures& enabled() const noexcept { return enabled_; }
    Queue& compute_queue() noexcept { return compute_[0]; }
    /// Another queue of the same family, whose work can overlap; the same one if the family has only one.
    Queue& second_compute_queue() noexcept {
        return compute_[1].handle != VK_NULL_HANDLE ? compute_[1] : compute_[0];
    }
    /// A queue of a copy-only family, or null if the device has none. `number` selects one of them, modulo
    /// their count.
    Queue* transfer_queue(std::uint32_t number = 0) noexcept {
        return transfer_count_ == 0 ? nullptr : &transfer_[number % transfer_count_];
    }
    /// The device's current heaps, with budget and usage if VK_EXT_memory_budget reports them.
    std::vector<Heap> heaps() const;

    /// The callback is never called concurrently.
    void log(LogLevel level, std::string_view text);

    /// The same for every pipeline: no descriptor sets, push constants [0, 128) for the compute stage.
    VkPipelineLayout pipeline_layout() const noexcept { return layout_; }

    // Failures
    /// Returns `result` if it is not an error. Throws DeviceLost for VK_ERROR_DEVICE_LOST, OutOfMemory for
    /// the two out-of-memory codes, Error for others. `what`: the call, "vkQueueSubmit".
    VkResult check(VkResult result, std::string_view what);
    /// Marks the device as lost for good, and throws DeviceLost with the last noted operations, the driver's
    /// fault data and advice. `why`: "vkQueueSubmit returned VK_ERROR_DEVICE_LOST", "no progress for 30 s".
    [[noreturn]] void lose(std::string_view why);
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// Call it when work of that stream is still running although the device is lost. The stream, the device
    /// and its memory stay as they are until the process ends, and process exit skips the remaining exit()
    /// handlers, because those of drivers would destroy what the work uses. Nothing is logged after this.
    void leave_running(std::shared_ptr<StreamTimeline> stream) noexcept;
    /// Throws the DeviceLost of lose() again, or Error when the process was forked or is exiting. Call it
    /// first in everything that uses the device.
    void throw_if_lost() const {
        if (lost() || !vulkan_usable())
            throw_because_lost();
    }
    /// Remembers what a submit contains for the text of DeviceLost ("population_step x 12, copy"); the last
    /// 16 are kept.
    void note_operation(std::string what);
    /// Whether this is the call at which TestMode requests that fault; calls are counted from 1.
    /// out_of_memory: before each vkAllocateMemory; device_lost and hang: before each submit; wrong_answer:
    /// before the results of each self-test row are checked; refused_kernel: before each compilation.
    bool inject(TestMode::Fault fault);

    /// Threads that wait for a promise of this device wait on this.
    PromiseBoard& promises() noexcept { return promises_; }
    /// Call it after a promise was kept: submits what was held back for it, and wakes threads that wait.
    void submit_held();

    // The existing streams; each adds itself.
    void add_timeline(std::weak_ptr<StreamTimeline> timeline);
    /// For the next stream.
    std::uint32_t next_stream_number() noexcept { return stream_count_.fetch_add(1); }
    /// For the next stream that only copies.
    std::uint32_t next_copy_stream_number() noexcept { return copy_stream_count_.fetch_add(1); }
    /// The timelines of the streams that still exist.
    std::vector<std::shared_ptr<StreamTimeline>> timelines();

  private:
    VulkanDevice(DeviceInfo info, DeviceOptions options, TestMode test_mode);
    void create();
    /// Fills in the queues that create() asked for; returns how many there are.
    std::uint32_t get_queues(const QueueFamily& family, std::span<Queue> queues);
    void create_layout();
    void throw_because_lost() const;
    [[noreturn]] void lose_with(std::string_view why, const std::string& fault);
    std::string fault_text() const; ///< from VK_EXT_device_fault, "" if the driver gives none

    DeviceInfo info_;
    DeviceOptions options_;
    TestMode test_mode_;
    std::shared_ptr<Instance> instance_;
    std::uint64_t listener_ = 0; ///< for the instance's validation messages
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkPhysicalDeviceMemoryProperties memory_{};
    VkPhysicalDeviceLimits limits_{};
    EnabledFeatures enabled_;
    VkDevice device_ = VK_NULL_HANDLE;
    VolkDeviceTable vk_{};
    static constexpr std::uint32_t most_queues = 2; ///< per family
    std::array<Queue, most_queues> compute_;        ///< the second one's handle may be null
    std::array<Queue, most_queues> transfer_;
    std::uint32_t transfer_count_ = 0;
    std::atomic<std::uint32_t> copy_stream_count_{0};
    VkPipelineLayout layout_ = VK_NULL_HANDLE;

    std::weak_ptr<const void> owner_;
    std::atomic<std::uint32_t> disabled_features_{0};

    PromiseBoard promises_;
    std::atomic<std::uint32_t> stream_count_{0};
    std::mutex log_mutex_;
    std::mutex timelines_mutex_;
    std::vector<std::weak_ptr<StreamTimeline>> timelines_;
    mutable std::mutex lost_mutex_;
    std::deque<std::string> operations_;
    std::string lost_text_;
    std::atomic<bool> lost_{false};
    std::atomic<std::uint64_t> fault_calls_{0}; ///< calls of inject() for TestMode::fault
};

} // namespace rekindle::runtime
