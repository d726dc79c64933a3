#pragma once
/// The interface through which the device and its memory see streams.

#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <volk.h>

namespace rekindle::runtime {

/// Where an address lies, as vkCmdCopyBuffer and similar calls need it.
struct BufferLocation {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;    ///< offset of the address in the VkBuffer
    VkDeviceSize remaining = 0; ///< bytes from the address to the end of the caller's block
    MemoryKind kind{};
};

/// The progress of one stream. Belongs to the stream, and lives as long as anyone refers to it. Thread-safe.
class StreamTimeline {
  public:
    virtual ~StreamTimeline() = default;
    /// The value that completed() reaches once everything queued so far, submitted or not, has run.
    virtual std::uint64_t queued() const = 0;
    /// The value that completed() reaches without any further submit.
    virtual std::uint64_t submitted() const noexcept = 0;
    /// Never decreases; asks the driver, does not wait.
    virtual std::uint64_t completed() const = 0;
    /// Submits what is needed and waits until completed() >= value. Throws DeviceLost.
    virtual void wait(std::uint64_t value) = 0;
    /// Collects completed submits: passes their times to events, the profiler and the estimates.
    virtual void gather() = 0;
    /// For process exit: waits until what was given to the driver has ended, at most until `until`. Returns
    /// whether it has ended.
    virtual bool settle(std::chrono::steady_clock::time_point until) noexcept = 0;
    /// Poison mode: fills the range with `word` before the next operation that is queued on the stream, and
    /// after those queued so far. Called by the allocator, from any thread, when a block is released. bytes:
    /// a multiple of 4; `at`: where the range lies, which cannot be looked up because the block is no longer
    /// live. The fill counts as queued: queued() includes it, wait() submits it. The allocator calls wait()
    /// from allocate() when memory runs out, and this function when a Buffer is released, in both cases with
    /// or without its locks held. Therefore a stream must not hold the locks that these two functions take
    /// when it calls the allocator or releases Buffers.
    virtual void fill_before_next(const BufferLocation& at, DevicePointer begin, std::uint64_t bytes,
                                  std::uint32_t word) = 0;
    /// Submits what was held back for work that has since been submitted.
    virtual void submit_held() = 0;
};

/// Every Stream of the runtime is one.
class TimelineStream : public Stream {
  public:
    virtual const std::shared_ptr<StreamTimeline>& timeline() const noexcept = 0;
};

inline const std::shared_ptr<StreamTimeline>& timeline_of(const Stream& stream) {
    return static_cast<const TimelineStream&>(stream).timeline();
}

} // namespace rekindle::runtime
