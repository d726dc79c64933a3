#pragma once
/// Work for a device, in order: kernels, copies, events.

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/memory.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rekindle::runtime {

struct Pipeline;

/// Workgroups of a dispatch.
struct Groups {
    std::uint32_t x = 1, y = 1, z = 1;
};

/// A range of addresses that a kernel reads or writes. The stream puts a barrier between two operations only
/// where a written range and a used one overlap; everything else may run at the same time.
struct Access {
    DevicePointer begin;
    std::uint64_t bytes = 0;
    bool writes = false;
};
inline Access reads(const Buffer& b) {
    return {b.pointer(), b.bytes(), false};
}
inline Access writes(const Buffer& b) {
    return {b.pointer(), b.bytes(), true};
} ///< writes, or reads and writes

/// A point in a stream. Copyable; cheap. Made by Stream::record. Thread-safe; outlives its stream.
class Event {
  public:
    Event() = default;
    struct State;
    explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
    /// Whether all work before it has completed. Submits nothing. True for an empty event. As all members:
    /// from any thread.
    bool done() const;
    /// Submits what is needed and waits. Throws DeviceLost (also when the watchdog finds no progress).
    void wait() const;
    /// Seconds on the device between two events that were recorded with timing and are done.
    double seconds_since(const Event& earlier) const;
    const std::shared_ptr<State>& state() const noexcept { return state_; }

  private:
    std::shared_ptr<State> state_;
};

/// A small block that the host writes and kernels read: parameters, tables of shapes and pointers. Made by
/// Stream::transient. To be written, and kept until the operations that read it are queued; its memory stays
/// as it is until they have completed, and needs no Access. Must not outlive its stream.
struct [[nodiscard]] Transient {
    struct Chunk; ///< defined in the library's sources alone
    struct Unpin {
        void operator()(Chunk* chunk) const noexcept;
    };
    std::span<std::byte>
        host;              ///< as long as asked for; write-combined memory on some devices: write it in order
    DevicePointer pointer; ///< a multiple of 16
    std::unique_ptr<Chunk, Unpin> pin;
};

/// An order of work. Commands are recorded and submitted when enough are there (bounded: estimated at most
/// 200 ms of work), when a few are there and the device has nothing to do, when asked, or at a wait.
/// Thread-safe, at some 20 ns a call: operations of several threads are queued one after the other, each as a
/// whole, in the order in which the calls take the stream (an upload or download of more than 16 MiB as
/// several); threads that need one order among them see to it. Several streams may run side by side.
/// Pointers' memory must live until the work is queued (device memory) or complete (host memory), which
/// Buffer does by itself. To be destroyed when no call is under way.
class Stream {
  public:
    virtual ~Stream() = default;

    /// Queues a dispatch without a look at names: the path for those that launch often. parameters: the
    /// kernel's push-constant block. Throws Error when their size is wrong or the pipeline is another
    /// device's. expected_seconds: how long the caller thinks it takes, 0 when it does not know: bounds a
    /// submit.
    virtual void launch(const Pipeline& pipeline, Groups groups, std::span<const std::byte> parameters,
                        std::span<const Access> accesses, double expected_seconds = 0) = 0;
    template <class P>
        requires std::is_trivially_copyable_v<P> &&
                 (!std::is_convertible_v<const P&, std::span<const std::byte>>)
    void launch(const Pipeline& pipeline, Groups groups, const P& parameters,
                std::span<const Access> accesses, double expected_seconds = 0) {
        launch(pipeline, groups, std::as_bytes(std::span(&parameters, 1)), accesses, expected_seconds);
    }
    /// Prepares and queues a dispatch. parameters: the kernel's push-constant block. Throws Unsupported when
    /// the device lacks a feature of the kernel, Error when the size of the parameters is wrong.
    /// expected_seconds: how long the caller thinks it takes, 0 when it does not know: bounds a submit.
    virtual void launch(const kernels::Kernel& kernel, Groups groups, std::span<const std::byte> parameters,
                        std::span<const Access> accesses,
                        std::span<const kernels::ConstantValue> constants = {},
                        double expected_seconds = 0) = 0;
    template <class P>
    void launch(const kernels::TypedKernel<P>& kernel, Groups groups,
                const std::type_identity_t<P>& parameters, std::span<const Access> accesses,
                std::span<const kernels::ConstantValue> constants = {}, double expected_seconds = 0) {
        launch(kernel.kernel, groups, std::as_bytes(std::span(&parameters, 1)), accesses, constants,
               expected_seconds);
    }

    /// A block for what kernels read beside their push constants; at most largest_transient bytes. The
    /// stream's own memory, used again and again: the driver is asked only while more work is under way than
    /// ever before. In the test modes of guard pages and poison every block is an allocation of its own.
    /// Pointers that are written into it are raw_address()es. Throws Error, OutOfMemory.
    virtual Transient transient(std::uint64_t bytes) = 0;
    static constexpr std::uint64_t largest_transient = 64 << 10;

    /// Device to device, or to and from mapped blocks; asynchronous. Ranges may not overlap.
    virtual void copy(DevicePointer to, DevicePointer from, std::uint64_t bytes) = 0;
    /// From any host memory: copied into staging memory before the call returns.
    virtual void upload(DevicePointer to, std::span<const std::byte> from) = 0;
    /// Waits for the stream's work and copies to the host.
    virtual void download(std::span<std::byte> to, DevicePointer from) = 0;
    /// bytes: a multiple of 4.
    virtual void fill(DevicePointer to, std::uint64_t bytes, std::uint32_t word) = 0;

    /// After all work queued so far. With timing, seconds_since() works.
    virtual Event record(bool timing = false) = 0;
    /// Later work of this stream starts after the event, of any stream of the same device.
    virtual void wait(const Event& event) = 0;
    /// Submits what is recorded.
    virtual void flush() = 0;
    /// Submits and waits for everything. Throws DeviceLost.
    virtual void synchronize() = 0;

    /// Of this device's streams, from 0; what Profiler::Record::stream says.
    virtual std::uint32_t number() const noexcept = 0;
    /// What the profiler's records of operations carry that the calling thread queues from now on, on any
    /// stream.
    static void set_correlation(std::uint64_t correlation) noexcept;
    /// The caller's name for what the calling thread queues from now on, on any stream: DeviceLost names it
    /// beside the kernels. The text lives for ever; nullptr: none.
    static void set_operation(const char* name) noexcept;
};

/// How often the calling thread has asked to wait for a device since it began. Code that must not wait in
/// secret is held to it by comparing before and after. Waits of the runtime's own (memory has run out, eight
/// submits are under way) do not count.
struct Synchronizations {
    std::uint64_t downloads = 0; ///< Stream::download
    std::uint64_t waits = 0;     ///< Stream::synchronize, Event::wait, Device::synchronize
    friend bool operator==(const Synchronizations&, const Synchronizations&) = default;
};
Synchronizations thread_synchronizations() noexcept;

/// Device time per kernel, summed over launches, and what was done when. Off at the start; switching it on
/// costs two timestamps an operation. Thread-safe.
class Profiler {
  public:
    struct Row {
        std::string kernel;
        std::uint64_t launches = 0;
        double seconds = 0;
    };
    /// One operation on the device.
    struct Record {
        std::string_view name;    ///< of the kernel, for ever; "copy", "upload" (from the host), "fill"
        std::uint32_t stream = 0; ///< Stream::number
        std::int64_t begin_ns = 0, end_ns = 0; ///< on the host's std::chrono::steady_clock; the begin is not
                                               ///< before the end of what the operation waited for
        std::uint64_t bytes = 0;       ///< copied or filled; of a launch: of the ranges that it said it uses
        std::uint64_t correlation = 0; ///< Stream::set_correlation
        /// The device's clock was compared with the host's by the driver (VK_EXT_calibrated_timestamps); else
        /// by a submit that was waited for, and all times may be off by the same fraction of a millisecond.
        bool calibrated = false;
    };
    virtual ~Profiler() = default;
    virtual void enable(bool on) = 0;
    virtual bool enabled() const = 0;
    /// Of completed work, the slowest kernel first.
    virtual std::vector<Row> rows() = 0;
    virtual void reset() = 0;

    /// Records of what is queued from now on. Large uploads travel on their stream's own queue meanwhile.
    /// Throws Unsupported when the compute queue has no timestamps.
    virtual void enable_records(bool on) = 0;
    /// Those of completed work, by begin, which are then forgotten. At most 1,000,000 are kept: `lost` is how
    /// many more there were.
    virtual std::vector<Record> take_records(std::uint64_t* lost = nullptr) = 0;
};

} // namespace rekindle::runtime
