#pragma once
/// What the parts of the runtime share: the opened Vulkan device that memory (memory*), streams (stream*,
/// event*, profiler*) and pipelines (pipeline*) build on. Private to the library.

#include "once.h"
#include "process_state.h"
#include "vulkan_structure.h"

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>
#include <rekindle/runtime/test_mode.h>
#include <rekindle/runtime/vulkan_result.h>

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

/// A queue of the device. Vulkan requires external synchronization of each VkQueue: hold `mutex` around every
/// call that takes `handle`, and around nothing that waits for the device.
struct Queue {
    VkQueue handle = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    std::uint32_t timestamp_bits = 0; ///< valid bits of a timestamp written here; 0: no timestamps
    std::mutex mutex;
};

/// What vkCreateDevice was given: the extensions and optional features that exist and are enabled. The
/// minimum requirements (physical_device.cpp) are always enabled: Vulkan 1.2, bufferDeviceAddress,
/// timelineSemaphore, scalarBlockLayout, shaderInt64, vulkanMemoryModel with device scope.
struct EnabledFeatures {
    bool vulkan_1_3 = false;
    bool synchronization2 = false; ///< core 1.3; vkCmdPipelineBarrier and vkQueueSubmit are always available
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

/// Where an address lies, as vkCmdCopyBuffer and similar calls need it.
struct BufferLocation {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;    ///< offset of the address in the VkBuffer
    VkDeviceSize remaining = 0; ///< bytes from the address to the end of the caller's block
    MemoryKind kind{};
};

/// How far one stream has progressed. Belongs to the stream, lives as long as anyone refers to it.
/// Thread-safe.
class StreamTimeline {
  public:
    virtual ~StreamTimeline() = default;
    /// The value that completed() reaches once everything queued so far, submitted or not, has run.
    virtual std::uint64_t queued() const = 0;
    /// Never decreases; asks the driver, does not wait.
    virtual std::uint64_t completed() const = 0;
    /// Submits what is needed and waits until completed() >= value. Throws DeviceLost.
    virtual void wait(std::uint64_t value) = 0;
    /// For process exit: waits until what was given to the driver has ended, at most until `until`. Returns
    /// whether it has ended.
    virtual bool settle(std::chrono::steady_clock::time_point until) noexcept = 0;
    /// Poison mode: fills the range with `word` before the next operation that is queued on the stream, and
    /// after those queued so far. Called by the allocator, from any thread, when a block is released. bytes:
    /// a multiple of 4; `at`: where the range lies, because the block is no longer live. The fill counts as
    /// queued: queued() includes it, wait() submits it. The allocator calls wait() from allocate() when
    /// memory runs out, and this function when a Buffer is released, in both cases with or without its locks
    /// held. So a stream must not hold the locks that these two take when it calls the allocator or releases
    /// Buffers.
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
    /// Like allocate(), for callers that have the stream's timeline.
    virtual Buffer allocate_on(std::uint64_t bytes, MemoryKind kind,
                               const std::shared_ptr<StreamTimeline>& stream) = 0;
    /// The live block that contains [pointer, pointer + bytes); the poison bit may be set. Throws Error when
    /// no block does.
    virtual BufferLocation locate(DevicePointer pointer, std::uint64_t bytes) = 0;
    /// Removes the poison bit from every 8-byte-aligned word of a push-constant block that is a pointer into
    /// a live block.
    virtual void strip_poison(std::span<std::byte> parameters) = 0;
    /// Guard-page mode: until the returned guard is destroyed, ranges that are only read are write-protected
    /// (pages that a written range touches stay writable). Otherwise: null.
    class ReadOnly {
      public:
        virtual ~ReadOnly() = default;
    };
    virtual std::unique_ptr<ReadOnly> protect(std::span<const Access> accesses) = 0;
    /// Takes back host blocks and foreign-stream blocks whose work has completed. Cheap; called after waits.
    virtual void collect() = 0;
    /// Poison mode: throws Error if a changed sentinel was found since the last call.
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
    const SelfTestResult& self_test() override; ///< run or read from the cache at the first call
    void synchronize() override;

    // Vulkan
    const VolkDeviceTable& vk() const noexcept { return vk_; }
    VkDevice handle() const noexcept { return device_; }
    VkPhysicalDevice physical() const noexcept { return physical_; }
    const VkPhysicalDeviceMemoryProperties& memory_properties() const noexcept { return memory_; }
    const VkPhysicalDeviceLimits& limits() const noexcept { return limits_; }
    const EnabledFeatures& enabled() const noexcept { return enabled_; }
    Queue& compute_queue() noexcept { return compute_; }
    /// A queue of a copy-only family, or null.
    Queue* transfer_queue() noexcept { return transfer_ ? &*transfer_ : nullptr; }
    /// The device's current heaps, with budget and usage if VK_EXT_memory_budget reports them.
    std::vector<Heap> heaps() const;

    const DeviceOptions& options() const noexcept { return options_; }
    const TestMode& test_mode() const noexcept { return test_mode_; }
    std::shared_ptr<VulkanDevice> shared() {
        return std::static_pointer_cast<VulkanDevice>(shared_from_this());
    }
    /// Thread-safe; the callback is never called concurrently.
    void log(LogLevel level, std::string_view text);

    /// For process exit: waits for what was submitted, at most until `until`, and saves pipelines. Returns
    /// false for a lost device and if work is still running.
    bool settle(std::chrono::steady_clock::time_point until) noexcept;

    // Pipelines
    /// The pipeline for that kernel with those constants; compiled at first use. Thread-safe. Throws
    /// Unsupported, Error.
    const Pipeline& pipeline(const kernels::Kernel& kernel,
                             std::span<const kernels::ConstantValue> constants);
    /// The same for every pipeline: no descriptor sets, push constants [0, 128) for the compute stage.
    VkPipelineLayout pipeline_layout() const noexcept { return layout_; }

    // Failures
    /// Returns `result` if it is not an error. Throws DeviceLost for VK_ERROR_DEVICE_LOST, OutOfMemory for
    /// the two out-of-memory codes, Error for others. `what`: the call, "vkQueueSubmit".
    VkResult check(VkResult result, std::string_view what);
    /// The device is gone: makes that sticky, adds the operations noted last, the driver's fault data and
    /// advice, and throws DeviceLost. `why`: "vkQueueSubmit returned VK_ERROR_DEVICE_LOST", "no progress for
    /// 30 s".
    [[noreturn]] void lose(std::string_view why);
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// Work of that stream is still running although the device is lost. The stream, the device and its
    /// memory stay as they are until the process ends, and process exit runs no exit() handlers, because
    /// those of drivers would destroy what the work uses. Nothing is logged after this.
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
    /// before the results of each self-test row are checked.
    bool inject(TestMode::Fault fault);

    // Existing streams; make_stream() adds them.
    void add_timeline(std::weak_ptr<StreamTimeline> timeline);
    /// For the next stream.
    std::uint32_t next_stream_number() noexcept { return stream_count_.fetch_add(1); }
    /// Those of the streams that still exist.
    std::vector<std::shared_ptr<StreamTimeline>> timelines();

  private:
    VulkanDevice(DeviceInfo info, DeviceOptions options, TestMode test_mode);
    void create();
    void create_layout();
    void throw_because_lost() const;
    [[noreturn]] void lose_with(std::string_view why, const std::string& fault);
    std::string fault_text() const; ///< from VK_EXT_device_fault, "" if the driver gives none
    void require_running() const;   ///< throws Unsupported on a compile-only device

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
    std::atomic<std::uint64_t> fault_calls_{0}; ///< calls of inject() for TestMode::fault
};

/// memory_source.cpp. The device owns the allocator, which is destroyed before the VkDevice; Buffers keep the
/// device alive through VulkanDevice::shared().
std::unique_ptr<DeviceAllocator> make_allocator(VulkanDevice& device);
/// stream.cpp. The stream keeps the device alive and registers its timeline with add_timeline.
std::unique_ptr<Stream> make_stream(VulkanDevice& device);
/// stream.cpp. The timeline of a stream made by make_stream.
const std::shared_ptr<StreamTimeline>& timeline_of(const Stream& stream);
/// profiler.cpp. The device owns it, like the allocator.
std::unique_ptr<Profiler> make_profiler(VulkanDevice& device);

} // namespace rekindle::runtime
