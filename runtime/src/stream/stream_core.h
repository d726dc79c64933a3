#pragma once
/// The state of a stream: what is recorded, submitted, and completed.

#include "device/vulkan_device.h"
#include "memory/device_allocator.h"
#include "pipeline/pipeline_store.h"
#include "stream/batch.h"
#include "stream/event.h"
#include "stream/hazards.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace rekindle::runtime {

VkSemaphore make_timeline(VulkanDevice& device);

/// The parts that the streams of a device share. VulkanDevice::shared() keeps all of them alive.
struct StreamParts {
    VulkanDevice& device;
    PipelineStore& pipelines;
    DeviceAllocator& allocator;
    KernelProfiler& profiler;
};

/// Belongs to a stream and to its events. Thread-safe: every member locks by itself.
class StreamCore final : public StreamTimeline,
                         public EventSource,
                         public std::enable_shared_from_this<StreamCore> {
  public:
    StreamCore(const StreamParts& parts, Queue& queue, const StreamOptions& options);
    ~StreamCore() override;
    StreamCore(const StreamCore&) = delete;
    StreamCore& operator=(const StreamCore&) = delete;

    /// Throws like VulkanDevice::throw_if_lost.
    DeviceAllocator& allocator() const {
        device_->throw_if_lost();
        return parts_.allocator;
    }
    PipelineStore& pipelines() const noexcept { return parts_.pipelines; }
    std::uint32_t number() const noexcept { return number_; }
    const StreamOptions& options() const noexcept { return options_; }
    /// Whether a test mode lets barriers end submits, which therefore cannot be held back.
    bool submits_at_barriers() const noexcept { return collecting_; }

    /// Queues one dispatch. accesses: without poison bits. Throws Error when the pipeline belongs to another
    /// device.
    void put(const Pipeline& pipeline, Groups groups, std::span<const std::byte> parameters,
             std::span<const Access> accesses, double expected_seconds);
    /// Queues one operation of another kind. accesses: without poison bits.
    void put(const Operation& operation, std::span<const Access> accesses);
    std::shared_ptr<Event::State> record(bool timing);
    /// Stream::record_uses. Later operations do not delay the events. ranges: without poison bits.
    std::vector<Event> record_uses(std::span<const Access> ranges);
    /// Later operations start after the event. If the driver does not have all the work before it yet, they
    /// are held back on the host.
    void wait_for(const Event::State& event);
    /// The stream that executes this one's large uploads to that range; it already waits for everything that
    /// they must follow. Null: they are work of this stream. After the upload, the caller makes this stream
    /// wait for it.
    std::shared_ptr<StreamCore> upload_lane(const Access& target);
    /// The value after the last operation that used a byte of the range, submitted now unless it is held
    /// back; 0: no unfinished operation did. Only for streams that have an upload lane.
    std::uint64_t last_use(const Access& range);
    /// Submits what has been recorded, except what is held back.
    void flush();
    /// The last value given to the driver.
    std::uint64_t submitted() const noexcept override { return submitted_.load(std::memory_order_acquire); }
    /// Number of barriers recorded so far.
    std::uint64_t barriers() const noexcept { return barriers_.load(std::memory_order_relaxed); }
    /// No more operations will come; waits for those that are queued. Never throws: failures are logged.
    void close() noexcept;

    // StreamTimeline
    std::uint64_t queued() const override;
    std::uint64_t completed() const override;
    void wait(std::uint64_t value) override;
    void gather() override;
    bool settle(std::chrono::steady_clock::time_point until) noexcept override;
    void fill_before_next(const BufferLocation& at, DevicePointer begin, std::uint64_t bytes,
                          std::uint32_t word) override;
    void submit_held() override;

    // EventSource
    VulkanDevice& device() const noexcept override { return *device_; }
    bool submitted_to(std::uint64_t value) const noexcept override { return submitted() >= value; }
    TimelineWait submitted_wait(std::uint64_t value) override {
        return {timeline_, value, shared_from_this()};
    }
    void flush_to(std::uint64_t value) override;
    void await_submit(std::uint64_t value) override;
    void wait_and_collect(std::uint64_t value) override;

    /// Ends injected hangs, so that the device can be closed.
    void release_hang() noexcept;

  private:
    /// An operation that waits until its group is complete, or until its pipeline is compiled.
    struct Pending {
        Operation operation;
        std::vector<std::byte> data;
        RecordTag tag;
    };
    /// A submit that waits on the host, for the compiler or until the work that it must follow is submitted.
    /// Meanwhile the host records the next one.
    struct Waiting {
        std::unique_ptr<Batch> batch;
        std::deque<Pending> group;
    };
    static constexpr std::size_t most_waiting = 512;

    /// Locks mutex_. Throws Error when the process is exiting, which may have started while this waited.
    std::unique_lock<std::mutex> acquire();
    /// The same, after the device has completed enough for one more submit.
    std::unique_lock<std::mutex> acquire_with_room();

    // All with mutex_ held.
    PreparedKernel& prepared(const Pipeline& pipeline);
    PreparedKernel& prepare(const Pipeline& pipeline);
    Batch& open();
    /// Returns the value of the last submit that uses a byte of the ranges and that the device has not
    /// finished; 0 if there is none. It may still be open or waiting for the compiler.
    std::uint64_t last_submit_with(std::span<const Access> ranges) const;
    /// Adds the event's dependencies to inherited_.
    void inherit(const Event::State& event);
    /// Returns the entries of inherited_ that concern the ranges. Removes those that the device has reached.
    Dependencies inherited_for(std::span<const Access> ranges);
    void place(const Operation& operation, std::span<const Access> accesses,
               const LaunchTime::Sample& sample);
    /// Records the fills collected by fill_before_next().
    void place_poison_fills();
    void record_or_hold(const Operation& operation, std::span<const Access> accesses, const RecordTag& tag);
    bool bindable(const Operation& operation) const;
    /// Records an operation whose pipeline may have to be waited for. Throws DeviceLost when the driver
    /// refuses to compile it, because what follows relies on its results.
    void record_now(Batch& batch, Pending& pending);
    /// Records the operations at the front of the group whose pipelines are compiled.
    void emit_compiled(Batch& batch, std::deque<Pending>& group);
    /// Records the whole group.
    void emit_group(Batch& batch, std::deque<Pending>& group);
    /// Called when the open submit is full: submits it, or sets it aside to wait for the compiler.
    void next_submit();
    /// Takes the first waiting submit, if all work that it must follow is submitted and, unless `compile`,
    /// its pipelines are compiled; otherwise null. With `compile`, it waits for the pipelines.
    std::unique_ptr<Batch> take_waiting(bool compile);
    /// Moves the open submit behind those that wait.
    void set_aside();
    /// Submits if the device is idle and enough is recorded.
    void submit_for_idle_device();
    RecordTag tag_of(const Operation& operation, std::span<const Access> accesses) const;
    /// Records a barrier, or holds it back behind the operations that are held back.
    void place_barrier();
    /// Submits everything, waiting for pipelines, except what is held back.
    void submit();
    /// Directs later fills to the next submit. Returns false if some have arrived for this one.
    bool close_for_fills();
    void execute(std::unique_ptr<Batch> batch);
    void inject_faults(Batch& batch);
    void gather_completed();

    /// Throws DeviceLost when the device makes no more progress.
    void await(std::uint64_t value);
    /// Polls for at most 50 ms, first without pause, then with naps. Returns whether the device has reached
    /// the value.
    bool completes_soon(std::uint64_t value) const;
    /// Whether the submitted work has ended, successfully or not.
    bool drained() const noexcept;
    /// Sums the progress of all streams of the device, because one may stand still while another's long work
    /// runs ahead of it.
    std::uint64_t progress() const;

    const std::shared_ptr<VulkanDevice> device_;
    const StreamParts parts_;
    const StreamOptions options_;
    const std::uint32_t number_;
    Queue& queue_;
    Queue* const upload_queue_; ///< the upload lane's queue; null: no lane
    bool notes_ranges_;         ///< submits after without_ranges_ keep a list of the ranges that they use
    std::uint64_t without_ranges_ = 0;
    const bool collecting_; ///< test modes: operations are held back until their group is complete
    VkSemaphore timeline_ = VK_NULL_HANDLE;

    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<PreparedKernel>> prepared_; ///< by pipeline number; null: not launched here
    HazardTracker hazards_;
    std::unique_ptr<Batch> open_;
    double early_submit_seconds_ =
        0;                        ///< submit `open_` early once it is estimated to take this long; 0: never
    std::deque<Waiting> waiting_; ///< in order, all before open_
    std::deque<std::unique_ptr<Batch>> in_flight_;
    std::vector<std::unique_ptr<Batch>> free_;
    std::deque<Pending> group_; ///< operations of open_ that are held back
    std::vector<Access> group_accesses_;
    std::mt19937_64 random_;

    struct PoisonFill {
        Fill fill;
        Access access;
    };
    // With their own lock, because the allocator adds to them with its lock held.
    mutable std::mutex fills_mutex_;
    std::vector<PoisonFill> fills_;
    std::atomic<bool> has_fills_{false};
    std::uint64_t fills_value_ = 0,
                  next_fill_value_ = 1; ///< the submit that holds the last fill, and the next one

    std::atomic<std::uint64_t> queued_{0}, submitted_{0};
    mutable std::atomic<std::uint64_t> completed_{0};
    std::atomic<std::uint64_t> barriers_{0};

    std::mutex lane_mutex_;            ///< one upload at a time determines what the lane waits for
    std::shared_ptr<StreamCore> lane_; ///< created at the first large upload
    /// The points of other streams that this stream waits for and that the device may not have reached yet.
    /// Streams that may overtake this stream's work (those that call record_uses(), and the upload lane) must
    /// wait for them, too, unless they use other memory. Empty unless notes_ranges_.
    Dependencies inherited_;
    std::mutex gate_mutex_;
    VkSemaphore gate_ = VK_NULL_HANDLE; ///< an injected hang waits for its value 1
    bool gate_open_ = false;
};

/// stream.cpp. The stream keeps the device's owner alive and registers its timeline with add_timeline.
std::unique_ptr<Stream> make_stream(const StreamParts& parts, const StreamOptions& options);

} // namespace rekindle::runtime
