#pragma once
/// The commands of one submit: a reused command buffer, its operations and its timestamps.

#include "device/vulkan_device.h"
#include "pipeline/pipeline.h"
#include "stream/event.h"
#include "stream/hazards.h"
#include "stream/stream_time.h"

#include <rekindle/runtime/stream.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rekindle::runtime {

class KernelProfiler;

/// The queue that large uploads use.
enum class UploadQueue {
    own_family, ///< a copy-only queue, if the device has one
    stream,     ///< the stream's own
    second,     ///< like own_family; without one, a second lane of the compute queue, for tests
};

/// How a stream works. Outside of tests, only `queue` and `seconds_of_early_submit` are
/// set.
struct StreamOptions {
    StreamQueue queue = StreamQueue::main;
    bool barriers = true;         ///< false: dependent operations race, which tests must detect
    bool synchronization2 = true; ///< if the device has it
    UploadQueue upload_queue = UploadQueue::own_family;
    std::uint64_t large_upload_bytes = 4ull << 20; ///< from this size on, `upload_queue` is used
    std::uint32_t operations_per_submit = 256;
    std::size_t submits_in_flight = 8;
    double seconds_per_submit = 0.2;
    /// The recorded operations are submitted when there are this many (or 2, 4, 8 … times as many) and the
    /// device has no work from this stream; 0: never. Not while the test modes hold operations back.
    std::uint32_t operations_of_early_submit = 16;
    /// They are also submitted when they are estimated to take this long (or 2, 4, 8 … times as long) and the
    /// device has no work from this stream: the host may not queue more for a while. 0: never.
    double seconds_of_early_submit = 0;
    std::uint64_t staging_bytes = 16ull << 20; ///< size of one piece of an upload or download
    std::uint64_t piece_bytes = 64ull << 20;   ///< size of one copy or fill command
    /// While the main queue is busy, copy-only queues divide copies to the host into commands of this size.
    /// On an H200, a command that copies 4 MiB or more to the host halves the speed of kernels that run at
    /// the same time. Commands of 512 KiB do not slow them down, but they reach 28 GB/s instead of 42.
    std::uint64_t piece_bytes_beside_kernels = 512ull << 10;
};

/// A pipeline as a stream launches it. Lives as long as the stream; its address is stable.
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
/// Bytes that are embedded in the command buffer: at most 65,536, a multiple of 4, at an offset that is also
/// a multiple of 4.
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
/// All writes so far become visible to everything that follows.
struct Barrier {};
using Operation = std::variant<Dispatch, Copy, Update, Fill, Barrier>;

/// Where an operation comes from.
struct RecordTag {
    const char* operation = nullptr; ///< Stream::set_operation of the calling thread; null: none
    bool enabled = false;            ///< the profiler keeps records, which use the members below
    std::uint64_t bytes = 0, correlation = 0;
};

/// One recording. Reused after its submit has completed. Not thread-safe.
class Batch {
  public:
    Batch(VulkanDevice& device, KernelProfiler& profiler, const Queue& queue, const StreamOptions& options);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// The estimated duration of a copy or a fill; 0 for other operations.
    static double seconds_of(const Operation& operation);

    /// Starts an empty recording that will signal `value`.
    void begin(std::uint64_t value);
    void record(const Operation& operation, const RecordTag& tag);
    /// Makes the whole submit wait for a semaphore's value.
    void wait_for(TimelineWait wait);
    /// Makes the whole submit wait for work that may not be submitted yet.
    void wait_for(std::shared_ptr<EventSource> source, std::uint64_t value);
    /// Whether the driver has everything that the submit waits for.
    bool can_submit() const noexcept;
    /// Whether something that the submit waits for had not been submitted when it was recorded.
    bool was_held() const noexcept { return !sources_.empty(); }
    /// Notes that the recording uses these ranges; only for touches().
    void touch(std::span<const Access> accesses);
    bool touches(const Access& access) const { return touched_.overlaps(access.begin.address, access.bytes); }
    /// Records a timestamp that retire() passes to the event.
    void stamp(std::shared_ptr<Event::State> event);
    /// Adds an operation's estimated duration; a sample without a kernel learns nothing.
    void expect(const LaunchTime::Sample& sample);
    /// Completes the recording. Only if can_submit().
    void finish();
    /// Submits the commands; `signal` becomes value() when they are done. The queue's mutex must be held.
    /// Throws DeviceLost when the driver refuses; the commands are lost in that case.
    void submit(VkQueue queue, VkSemaphore signal);
    /// After the submit has completed: delivers its times and releases what it held. stream: its number.
    void retire(std::uint32_t stream);

    std::uint64_t value() const noexcept { return value_; }
    bool empty() const noexcept {
        return operations_ == 0 && waits_.empty() && sources_.empty() && stamps_.empty();
    }
    /// Whether it has room for that many more operations and an event.
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
        std::uint32_t query; ///< the timestamp of the start; that of the end is the next one
    };
    struct OperationName {
        const kernels::Kernel* kernel = nullptr; ///< null: `what`
        const char* what = "";
    };
    static OperationName named(const Operation& operation);
    /// A run of identical operations, for the text of DeviceLost.
    struct Note {
        const kernels::Kernel* kernel; ///< null: `what`
        const char* what;
        const char* operation; ///< Stream::set_operation; null: none
        std::uint64_t size;    ///< workgroups or bytes
        std::uint32_t count;
    };

    void create_queries();
    std::uint32_t timestamp();
    void put(const Dispatch& dispatch, const char* from);
    void put(const Copy& copy, const char* from);
    void put(const Update& update, const char* from);
    void put(const Fill& fill, const char* from);
    void put(const Barrier& barrier, const char* from);
    void note(const char* from, const kernels::Kernel* kernel, const char* what, std::uint64_t size);
    std::string summary() const;
    void memory_barrier(bool to_host);
    VkResult submit_commands(VkQueue queue, VkSemaphore signal);
    VkResult submit_commands2(VkQueue queue, VkSemaphore signal);
    void learn(double measured_seconds);

    VulkanDevice& device_;
    KernelProfiler& profiler_;
    const StreamOptions& options_;
    bool copies_alone_; ///< the queue's family has no compute stage and no queries
    std::uint32_t timestamp_bits_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkQueryPool queries_ = VK_NULL_HANDLE;

    std::uint64_t value_ = 0;
    std::uint32_t operations_ = 0, used_queries_ = 0;
    double seconds_ = 0;
    VkPipeline bound_ = VK_NULL_HANDLE;
    std::vector<TimelineWait> waits_;
    std::vector<std::pair<std::shared_ptr<EventSource>, std::uint64_t>> sources_;
    AddressRanges touched_;
    std::vector<LaunchTime::Sample> samples_;
    std::vector<Stamp> stamps_;
    std::vector<Timed> timed_;
    std::vector<Note> notes_;
    std::vector<std::uint64_t> ticks_;
};

} // namespace rekindle::runtime
