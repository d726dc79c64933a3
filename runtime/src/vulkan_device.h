#pragma once
/// What the parts of the runtime share: the opened Vulkan device that memory (memory*), streams (stream*,
/// event*, profiler*) and pipelines (pipeline*) stand on. Private to the library.

#include "once.h"
#include "process_state.h"
#include "vulkan_structure.h"

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>
#include <rekindle/runtime/test_mode.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <volk.h>

namespace rekindle::runtime {

class Instance;
class PipelineStore;

/// "VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)".
std::string name_of(VkResult result);

/// A queue of the device. Vulkan wants one thread at a time per VkQueue: hold `mutex` around every call that
/// takes `handle`, and around nothing that waits for the device.
struct Queue {
    VkQueue handle = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    std::uint32_t timestamp_bits = 0; ///< valid bits of a timestamp written here; 0: none can be
    std::mutex mutex;
};

/// What vkCreateDevice was given: extensions and optional features that exist and are switched on. The floor
/// (device_requirements.cpp) is always on: Vulkan 1.2, bufferDeviceAddress, timelineSemaphore,
/// scalarBlockLayout, shaderInt64, vulkanMemoryModel with device scope.
struct EnabledFeatures {
    bool vulkan_1_3 = false;
    bool synchronization2 = false; ///< core 1.3; vkCmdPipelineBarrier and vkQueueSubmit are there in any case
    bool maintenance4 = false;
    bool host_query_reset = false;
    bool subgroup_size_control = false, compute_full_subgroups = false;
    bool memory_budget = false;
    bool external_host_memory = false;
    std::uint64_t external_host_alignment = 0; ///< minImportedHostPointerAlignment
    bool device_fault = false;
    bool calibrated_timestamps = false; ///< with the host's CLOCK_MONOTONIC
    bool executable_properties = false; ///< only with DeviceOptions::pipeline_statistics
    bool cooperative_matrix = false;
    bool float32_atomic_add = false;
};

class VulkanDevice;

/// A pipeline ready to be bound. Lives as long as the device.
struct Pipeline {
    VkPipeline handle = VK_NULL_HANDLE;
    const kernels::Kernel* kernel = nullptr;
    const VulkanDevice* device = nullptr;
    std::uint32_t number = 0; ///< of this device's pipelines, from 0
};

/// In the order of their values.
inline constexpr std::array memory_kinds{MemoryKind::device, MemoryKind::upload, MemoryKind::readback,
                                         MemoryKind::parameters};

/// Where an address lies: what vkCmdCopyBuffer and its like are given.
struct BufferLocation {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;    ///< of the address in the VkBuffer
    VkDeviceSize remaining = 0; ///< bytes from the address to the end of the caller's block
    MemoryKind kind{};
};

/// How far one stream has come. Belongs to the stream, lives as long as somebody asks. Thread-safe.
class StreamTimeline {
  public:
    virtual ~StreamTimeline() = default;
    /// The value that completed() reaches once everything queued by now, submitted or not, has run.
    virtual std::uint64_t queued() const = 0;
    /// Never decreases; asks the driver, does not wait.
    virtual std::uint64_t completed() const = 0;
    /// Submits what is needed and waits until completed() >= value. Throws DeviceLost.
    virtual void wait(std::uint64_t value) = 0;
    /// The process ends: waits until what was given to the driver has ended, at most until then. Whether it
    /// has.
    virtual bool settle(std::chrono::steady_clock::time_point until) noexcept = 0;
    /// Poison mode: before the next operation that is queued on the stream, and after those queued by now,
    /// the range is filled with `word`. Called by the allocator, from any thread, when a block is released;
    /// bytes: a multiple of 4; `at`: where the range lies, because the block is not live any more. The fill
    /// counts as queued: queued() includes it, wait() submits it. The allocator calls wait() from allocate()
    /// when memory runs out, and this from the release of a Buffer, both with its locks held or not: a stream
    /// calls the allocator and lets go of Buffers without holding what these two lock.
    virtual void fill_before_next(const BufferLocation& at, DevicePointer begin, std::uint64_t bytes,
                                  std::uint32_t word) = 0;
};

/// In poison mode every DevicePointer that leaves the allocator carries this bit.
constexpr std::uint64_t poison_bit = 1ull << 62;
constexpr std::uint64_t without_poison(std::uint64_t address) {
    return address & ~poison_bit;
}

/// The allocator as streams see it.
class DeviceAllocator : public Allocator {
  public:
    /// As allocate(), for who has the stream's timeline.
    virtual Buffer allocate_on(std::uint64_t bytes, MemoryKind kind,
                               const std::shared_ptr<StreamTimeline>& stream) = 0;
    /// The live block that holds [pointer, pointer + bytes); the poison bit may be set. Throws Error when no
    /// block does.
    virtual BufferLocation locate(DevicePointer pointer, std::uint64_t bytes) = 0;
    /// Takes the poison bit off every 8-byte-aligned word of a push-constant block that is a pointer into a
    /// live block.
    virtual void strip_poison(std::span<std::byte> parameters) = 0;
    /// Guard-page mode: until the guard returned here is destroyed, the ranges that are only read cannot be
    /// written (pages that a written range touches stay writable). Else: null.
    class ReadOnly {
      public:
        virtual ~ReadOnly() = default;
    };
    virtual std::unique_ptr<ReadOnly> protect(std::span<const Access> accesses) = 0;
    /// Takes back host blocks and foreign-stream blocks whose work has completed. Cheap; called after waits.
    virtual void collect() = 0;
    /// Poison mode: throws Error when a sentinel was found changed since the last call.
    virtual void throw_on_damage() = 0;
};

class VulkanDevice final : public Device {
  public:
    /// Device::open without the self-test.
    static std::shared_ptr<VulkanDevice> open_untested(const DeviceInfo& info, DeviceOptions options,
                                                       TestMode test_mode);
    ~VulkanDevice() override;
    VulkanDevice(const VulkanDevice&) = delete;
    VulkanDevice& operator=(const VulkanDevice&) = delete;

    // Device
    const DeviceInfo& info() const noexcept override;
    kernels::Features usable_features() const noexcept override;
    const Pipeline& prepare(const kernels::Kernel& kernel,
                            std::span<const kernels::ConstantValue> constants) override;
    std::vector<PipelineStatistic>
    pipeline_statistics(const kernels::Kernel& kernel,
                        std::span<const kernels::ConstantValue> constants) override;
    void save_pipeline_cache() override;
    DeviceAllocator& allocator() override; ///< throws Unsupported on a compile-only device
    std::unique_ptr<Stream> make_stream() override;
    Profiler& profiler() override;
    const SelfTestResult& self_test() override; ///< run or read at the first call
    void synchronize() override;

    // Vulkan
    const VolkDeviceTable& vk() const noexcept { return vk_; }
    VkDevice handle() const noexcept { return device_; }
    VkPhysicalDevice physical() const noexcept { return physical_; }
    const VkPhysicalDeviceMemoryProperties& memory_properties() const noexcept { return memory_; }
    const VkPhysicalDeviceLimits& limits() const noexcept { return limits_; }
    const EnabledFeatures& enabled() const noexcept { return enabled_; }
    Queue& compute_queue() noexcept { return compute_; }
    /// A queue of a family for copies alone, or null.
    Queue* transfer_queue() noexcept { return transfer_ ? &*transfer_ : nullptr; }
    /// Heaps of the device now, with budget and use where VK_EXT_memory_budget gives them.
    std::vector<Heap> heaps() const;

    const DeviceOptions& options() const noexcept { return options_; }
    const TestMode& test_mode() const noexcept { return test_mode_; }
    std::shared_ptr<VulkanDevice> shared() {
        return std::static_pointer_cast<VulkanDevice>(shared_from_this());
    }
    /// Thread-safe; one call of the callback at a time.
    void log(LogLevel level, std::string_view text);

    /// The process ends: what was submitted is waited for, at most until then, and pipelines are kept.
    /// Returns false for a lost device and where work still runs.
    bool settle(std::chrono::steady_clock::time_point until) noexcept;

    // Pipelines
    /// The pipeline of that kernel with those constants; compiled at first use. Thread-safe. Throws
    /// Unsupported, Error.
    const Pipeline& pipeline(const kernels::Kernel& kernel,
                             std::span<const kernels::ConstantValue> constants);
    /// Of every pipeline: no descriptor sets, push constants [0, 128) for the compute stage.
    VkPipelineLayout pipeline_layout() const noexcept { return layout_; }

    // Failures
    /// Returns `result` when it is no error. Throws DeviceLost for VK_ERROR_DEVICE_LOST, OutOfMemory for the
    /// two out-of-memory codes, Error for others. `what`: the call, "vkQueueSubmit".
    VkResult check(VkResult result, std::string_view what);
    /// The device is gone: makes that sticky, adds the operations noted last, the driver's fault data and
    /// advice, and throws DeviceLost. `why`: "vkQueueSubmit gave VK_ERROR_DEVICE_LOST", "no progress for 30
    /// s".
    [[noreturn]] void lose(std::string_view why);
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// Work of that stream still runs although the device is lost. The stream, the device and its memory stay
    /// as they are until the process ends, and the end runs no handlers of exit(): those of drivers take down
    /// what the work uses. Nothing is logged any more.
    void leave_running(std::shared_ptr<StreamTimeline> stream) noexcept;
    /// Throws the DeviceLost of lose() again, and Error when the process was forked or ends. To be called at
    /// the start of what uses the device.
    void throw_if_lost() const {
        if (lost() || !vulkan_usable())
            throw_because_lost();
    }
    /// Remembers what a submit holds for the text of DeviceLost ("population_step x 12, copy"); the last 16
    /// are kept.
    void note_operation(std::string what);
    /// Whether this is the call at which TestMode asks for that fault; calls are counted from 1.
    /// out_of_memory: before each vkAllocateMemory; device_lost and hang: before each submit; wrong_answer:
    /// before the results of each row of the self-test are looked at.
    bool inject(TestMode::Fault fault);

    // Streams in existence; made by make_stream's implementation.
    void add_timeline(std::weak_ptr<StreamTimeline> timeline);
    /// Of the next stream.
    std::uint32_t next_stream_number() noexcept { return stream_count_.fetch_add(1); }
    /// Of the streams that still exist.
    std::vector<std::shared_ptr<StreamTimeline>> timelines();

  private:
    VulkanDevice(DeviceInfo info, DeviceOptions options, TestMode test_mode);
    void create();
    void create_layout();
    void throw_because_lost() const;
    [[noreturn]] void lose_with(std::string_view why, const std::string& fault);
    std::string fault_text() const; ///< of VK_EXT_device_fault, "" where the driver gives none
    void require_running() const;   ///< throws Unsupported on a compile-only device

    DeviceInfo info_;
    DeviceOptions options_;
    TestMode test_mode_;
    std::shared_ptr<Instance> instance_;
    std::uint64_t listener_ = 0; ///< of the instance's validation messages
    VkPhysicalDevice physical_ = VK_NULL_HANDLE;
    VkPhysicalDeviceMemoryProperties memory_{};
    VkPhysicalDeviceLimits limits_{};
    EnabledFeatures enabled_;
    VkDevice device_ = VK_NULL_HANDLE;
    VolkDeviceTable vk_{};
    Queue compute_;
    std::optional<Queue> transfer_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;

    std::unique_ptr<PipelineStore> pipelines_;
    std::unique_ptr<DeviceAllocator> allocator_;
    std::unique_ptr<Profiler> profiler_;
    Once allocator_once_, profiler_once_, self_test_once_;
    std::unique_ptr<SelfTestResult> self_test_;
    std::atomic<std::uint32_t> disabled_features_{0};

    std::atomic<std::uint32_t> stream_count_{0};
    std::mutex log_mutex_;
    std::mutex timelines_mutex_;
    std::vector<std::weak_ptr<StreamTimeline>> timelines_;
    mutable std::mutex lost_mutex_;
    std::deque<std::string> operations_;
    std::string lost_text_;
    std::atomic<bool> lost_{false};
    std::atomic<std::uint64_t> fault_calls_{0}; ///< of inject() for TestMode::fault
};

/// memory.cpp. The allocator is owned by the device and dies before its VkDevice; Buffers keep the device
/// alive through VulkanDevice::shared().
std::unique_ptr<DeviceAllocator> make_allocator(VulkanDevice& device);
/// stream.cpp. The stream keeps the device alive and registers its timeline with add_timeline.
std::unique_ptr<Stream> make_stream(VulkanDevice& device);
/// stream.cpp. The timeline of a stream that make_stream made.
const std::shared_ptr<StreamTimeline>& timeline_of(const Stream& stream);
/// profiler.cpp. Owned by the device, as the allocator.
std::unique_ptr<Profiler> make_profiler(VulkanDevice& device);

} // namespace rekindle::runtime
