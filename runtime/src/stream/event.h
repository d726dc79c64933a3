#pragma once
/// Events, and the interface of the streams and promises that reach them. Private to the library.

#include "device/vulkan_device.h"
#include "stream/hazards.h"

#include <rekindle/runtime/stream.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>
#include <volk.h>

namespace rekindle::runtime {

/// A timeline semaphore's value to wait for; `keep` keeps the semaphore alive.
struct TimelineWait {
    VkSemaphore semaphore = VK_NULL_HANDLE; ///< null: there is nothing to wait for
    std::uint64_t value = 0;
    std::shared_ptr<const void> keep;
};

/// The timeline that an event refers to: a stream's or a promise's. Values never decrease. Thread-safe.
class EventSource {
  public:
    virtual ~EventSource() = default;
    virtual VulkanDevice& device() const noexcept = 0;
    /// Asks the driver; does not wait.
    virtual std::uint64_t completed() const = 0;
    /// Whether the driver has all the work that `value` needs. Takes no lock.
    virtual bool submitted_to(std::uint64_t value) const noexcept = 0;
    /// What a submit must wait for to start after `value`. Call it only once submitted_to(value) is true.
    virtual TimelineWait submitted_wait(std::uint64_t value) = 0;
    /// Submits what `value` needs, except what must wait for a promise.
    virtual void flush_to(std::uint64_t value) = 0;
    /// Waits until submitted_to(value). Throws DeviceLost.
    virtual void await_submit(std::uint64_t value) = 0;
    /// Waits until completed() >= value. Throws DeviceLost.
    virtual void wait(std::uint64_t value) = 0;
    /// Collects completed submits: passes their times to events, the profiler and the estimates.
    virtual void gather() = 0;
    /// Like wait(), for callers of the runtime: also lets the allocator take back what is no longer in use.
    /// Throws DeviceLost; Error when poison mode has found damage.
    virtual void wait_and_collect(std::uint64_t value) = 0;
};

/// A point on a timeline that work must wait for before it uses certain memory. Immutable.
struct Dependency {
    /// ranges: that memory, without poison bits.
    Dependency(std::shared_ptr<EventSource> of, std::uint64_t at, std::span<const Access> ranges);
    bool reached() const { return source->completed() >= value; }
    /// Whether the memory overlaps the ranges.
    bool concerns(std::span<const Access> ranges) const;

    const std::shared_ptr<EventSource> source;
    const std::uint64_t value;

  private:
    AddressRanges memory_;
};
/// Shared, because many events and streams may have the same ones.
using Dependencies = std::vector<std::shared_ptr<const Dependency>>;

struct Event::State {
    /// A point that all later uses of any memory depend on.
    State(std::shared_ptr<EventSource> of, std::uint64_t at) : source(std::move(of)), value(at) {}
    /// A point that the device reaches only after all these points; it is the last of them. Later uses of
    /// memory depend only on the points that concern it.
    explicit State(Dependencies of)
        : source(of.back()->source), value(of.back()->value), dependencies(std::move(of)) {}

    const std::shared_ptr<EventSource> source;
    const std::uint64_t value;       ///< on the timeline of the source
    const Dependencies dependencies; ///< empty: only (source, value), for all memory
    bool timing = false;
    /// The event's timestamp, in ticks of the queue; valid only if `resolved`.
    std::uint64_t ticks = 0;
    std::atomic<bool> resolved{false};
};

} // namespace rekindle::runtime
