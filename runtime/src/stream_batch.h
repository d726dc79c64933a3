#pragma once
/// The commands of one submit: a reused command buffer, what it holds and what it measures.

#include "hazards.h"
#include "stream_time.h"
#include "vulkan_device.h"

#include <rekindle/runtime/stream.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rekindle::runtime {

class KernelProfiler;
class StreamCore;

/// What large uploads use.
enum class UploadQueue {
    own_family, ///< a queue for copies alone, where the device has one
    stream,     ///< the stream's own
    second,     ///< as own_family; without one a second lane of the compute queue, for tests
};

/// How a stream works. Everything but the defaults is for tests.
struct StreamOptions {
    bool barriers = true; ///< false: dependent operations race, which the tests of the tests want to see
    bool synchronization2 = true; ///< where the device has it
    UploadQueue upload_queue = UploadQueue::own_family;
    std::uint64_t large_upload_bytes = 4ull << 20; ///< from here on `upload_queue` is used
    std::uint32_t operations_per_submit = 256;
    std::size_t submits_in_flight = 8;
    double seconds_per_submit = 0.2;
    /// When so many operations are recorded, or twice, four times … as many, and the device has nothing of
    /// the stream's to do, they are submitted; 0: never. Not while operations are held back by the test
    /// modes.
    std::uint32_t operations_of_early_submit = 16;
    std::uint64_t staging_bytes = 16ull << 20; ///< of one piece of an upload or download
    std::uint64_t piece_bytes = 64ull << 20;   ///< of one copy or fill command
};

/// A pipeline as a stream launches it. Lives as long as the stream; the address is stable.
struct PreparedKernel {
    const Pipeline* pipeline = nullptr;
    LaunchTime time;
};

struct Dispatch {
    PreparedKernel* kernel = nullptr;
    Groups groups;
    std::span<const std::byte> data; ///< parameters
};
struct Copy {
    VkBuffer from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
    VkDeviceSize from_offset = 0, to_offset = 0, bytes = 0;
};
/// Bytes that travel inside the command buffer: at most 65,536, a multiple of 4, at an offset that is one
/// too.
struct Update {
    VkBuffer to = VK_NULL_HANDLE;
    VkDeviceSize to_offset = 0;
    std::span<const std::byte> data;
};
struct Fill {
    VkBuffer to = VK_NULL_HANDLE;
    VkDeviceSize to_offset = 0, bytes = 0;
    std::uint32_t word = 0;
};
using Operation = std::variant<Dispatch, Copy, Update, Fill>;

/// A timeline semaphore's value to wait for; `keep` holds the semaphore.
struct TimelineWait {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::uint64_t value = 0;
    std::shared_ptr<const void> keep;
};

/// What the profiler's record of an operation says beside its times.
struct RecordTag {
    bool wanted = false; ///< records are on
    std::uint64_t bytes = 0, correlation = 0;
};

/// One recording. Used again after its submit has completed. Not thread-safe.
class Batch {
  public:
    Batch(VulkanDevice& device, const Queue& queue, const StreamOptions& options);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// What a copy or a fill is reckoned with; 0 for others.
    static double seconds_of(const Operation& operation);

    /// Starts an empty recording that will signal `value`.
    void begin(std::uint64_t value);
    void record(const Operation& operation, const RecordTag& tag);
    /// All writes so far become visible to all that follows.
    void barrier();
    /// Waits before the whole submit.
    void wait_for(TimelineWait wait);
    /// These ranges are used by what is recorded; kept for touches() alone.
    void touch(std::span<const Access> accesses);
    bool touches(const Access& access) const { return touched_.overlaps(access.begin.address, access.bytes); }
    /// Records a timestamp that retire() hands to the event.
    void stamp(std::shared_ptr<Event::State> event);
    /// Reckons with an operation that long; a sample without a kernel learns nothing.
    void expect(const LaunchTime::Sample& sample);
    /// The recording is complete.
    void finish();
    /// `signal` becomes value() when it is done. The queue's mutex is held. Throws DeviceLost when the driver
    /// refuses: the commands are gone then.
    void submit(VkQueue queue, VkSemaphore signal);
    /// After the submit has completed: hands out its times and lets go of what it held. stream: its number.
    void retire(std::uint32_t stream);

    std::uint64_t value() const noexcept { return value_; }
    bool empty() const noexcept { return operations_ == 0 && waits_.empty() && stamps_.empty(); }
    /// Whether it may hold so many more operations, and an event.
    bool room_for(std::size_t more) const;
    double seconds() const noexcept { return seconds_; } ///< estimated
    std::uint32_t operations() const noexcept { return operations_; }

  private:
    struct Stamp {
        std::shared_ptr<Event::State> event;
        std::uint32_t query;
    };
    struct Timed {
        const kernels::Kernel* kernel; ///< null: `what`
        const char* what;
        RecordTag tag;
        std::uint32_t query; ///< of the begin; the end is the next one
    };
    struct OperationName {
        const kernels::Kernel* kernel = nullptr; ///< null: `what`
        const char* what = "";
    };
    static OperationName named(const Operation& operation);
    /// A run of like operations, for the text of DeviceLost.
    struct Note {
        const kernels::Kernel* kernel; ///< null: `what`
        const char* what;
        const char* operation; ///< Stream::set_operation; null: none
        std::uint64_t size;    ///< workgroups or bytes
        std::uint32_t count;
    };

    void create_queries();
    std::uint32_t timestamp();
    void record(const Dispatch& dispatch);
    void record(const Copy& copy);
    void record(const Update& update);
    void record(const Fill& fill);
    void note(const kernels::Kernel* kernel, const char* what, std::uint64_t size);
    std::string summary() const;
    void memory_barrier(bool to_host);
    VkResult submit_commands(VkQueue queue, VkSemaphore signal);
    VkResult submit_commands2(VkQueue queue, VkSemaphore signal);
    void learn(double measured_seconds);

    VulkanDevice& device_;
    KernelProfiler& profiler_;
    const StreamOptions& options_;
    bool copies_alone_; ///< the queue's family knows no compute stage and no queries
    std::uint32_t timestamp_bits_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkQueryPool queries_ = VK_NULL_HANDLE;

    std::uint64_t value_ = 0;
    std::uint32_t operations_ = 0, used_queries_ = 0;
    double seconds_ = 0;
    VkPipeline bound_ = VK_NULL_HANDLE;
    std::vector<TimelineWait> waits_;
    AddressRanges touched_;
    std::vector<LaunchTime::Sample> samples_;
    std::vector<Stamp> stamps_;
    std::vector<Timed> timed_;
    std::vector<Note> notes_;
    std::vector<std::uint64_t> ticks_;
};

} // namespace rekindle::runtime
