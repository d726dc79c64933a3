#pragma once
/// Points in streams, and the interface of a stream for code that waits for such a point. Private to the
/// library.

#include "device/vulkan_device.h"

#include <rekindle/runtime/stream.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace rekindle::runtime {

/// The stream of an event.
class EventStream : public StreamTimeline {
  public:
    virtual VulkanDevice& device() const noexcept = 0;
    /// Reaches a value when completed() does.
    virtual VkSemaphore semaphore() const noexcept = 0;
    /// Submits at least everything that `value`, a result of queued(), needs.
    virtual void flush_to(std::uint64_t value) = 0;
    /// For callers of the runtime: also lets the allocator take back what is no longer in use. Throws
    /// DeviceLost; Error when poison mode has found damage.
    virtual void wait_and_collect(std::uint64_t value) = 0;
};

struct Event::State {
    State(std::shared_ptr<EventStream> of, std::uint64_t at) : stream(std::move(of)), value(at) {}

    const std::shared_ptr<EventStream> stream;
    const std::uint64_t value; ///< on the stream's timeline
    bool timing = false;
    /// In ticks of the queue; valid only if `resolved`.
    std::uint64_t ticks = 0;
    std::atomic<bool> resolved{false};
};

} // namespace rekindle::runtime
