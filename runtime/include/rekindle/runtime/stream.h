#pragma once
/// Work for a device, in order: kernels, copies, events.

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/memory.h>

#include <array>
#include <chrono>
#include <concepts>
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

/// Workgroup counts of a dispatch.
struct Groups {
    std::uint32_t x = 1, y = 1, z = 1;
};

/// A range of addresses that a kernel reads or writes. The stream puts a barrier between two operations only
/// where a written range overlaps a used one; everything else may run at the same time.
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

/// Every address, for work that may use any memory.
constexpr Access all_memory{{0}, ~std::uint64_t{0}, true};

/// A point in a stream. Copyable; cheap. Made by Stream::record. Thread-safe; outlives its stream.
class Event {
  public:
    Event() = default;
    struct State;
    explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
    /// Whether all work before it has completed. Submits nothing. True for an empty event. Like all members,
    /// callable from any thread.
    bool done() const;
    /// Submits what is needed. Returns whether the driver then has all work before it: false while some of it
    /// is held back for a promise. True for an empty event.
    bool submit() const;
    /// Submits what is needed and waits. Throws DeviceLost (also when the watchdog sees no progress).
    void wait() const;
    /// Seconds on the device between two events that were recorded with timing and are done.
    double seconds_since(const Event& earlier) const;
    const std::shared_ptr<State>& state() const noexcept { return state_; }

  private:
    std::shared_ptr<State> state_;
};

/// An event for work that is not queued yet. Streams can already wait for it: operations after Stream::wait
/// are recorded, held back on the host, and submitted when the promise is kept, without blocking the calling
/// thread. Waiting on the host (Event::wait, Stream::synchronize, a download) blocks until then. Every
/// promise must be kept or abandoned; the thread that does so must not wait for work that is held back for
/// it. Made by Device::make_promise. Thread-safe.
class Promise {
  public:
    /// Abandons the promise if it was not kept.
    virtual ~Promise() = default;
    virtual Event event() const = 0;
    /// From now on, event() is done when `reached`, an event of the same device, is done. Submits the work
    /// that was held back for the promise. Does nothing if it was kept or abandoned before. Throws Error,
    /// DeviceLost.
    virtual void keep(const Event& reached) = 0;
    /// From now on, event() is done. Submits like keep().
    virtual void abandon() noexcept = 0;
    /// Declares that the calling thread keeps promises: when memory runs out, its allocations do not wait for
    /// work that is held back, because that work may be waiting for this thread's promises.
    static void this_thread_keeps_promises() noexcept;
};

/// Makes promises for work that the device runs in the order of the calls, so a stream that waits for one of
/// them also waits for the earlier ones. Made by Device::make_promise_sequence. Thread-safe.
class PromiseSequence {
  public:
    virtual ~PromiseSequence() = default;
    /// Returns the next promise. ranges: the memory that the promised work uses. If a stream waits for the
    /// promise, its record_uses() returns the promise's event only for memory that overlaps these ranges.
    virtual std::unique_ptr<Promise> next(std::span<const Access> ranges) = 0;
};

/// A small block that the host writes and kernels read: parameters, tables of shapes and pointers. Made by
/// Stream::transient. Write it, and keep it until the operations that read it are queued; its memory is not
/// reused until they have completed. Launches declare no Access for it. Must not outlive its stream.
struct [[nodiscard]] Transient {
    struct Chunk; ///< defined only in the library's sources
    struct Unpin {
        void operator()(Chunk* chunk) const noexcept;
    };
    std::span<std::byte>
        host; ///< as long as requested; write-combined memory on some devices: write it sequentially
    DevicePointer pointer; ///< a multiple of 16
    std::unique_ptr<Chunk, Unpin> pin;
};

/// An ordered queue of work. Commands are recorded, and submitted when enough have accumulated (bounded: at
/// most an estimated 200 ms of work), when a few are recorded and the device is idle, on request, or at a
/// wait. Thread-safe, at about 20 ns per call: operations of several threads are queued one after the other,
/// each as a whole, in the order in which the calls take the stream's lock (an upload or download of more
/// than 16 MiB as several). Threads that need a certain order among themselves must ensure it. Several
/// streams may run in parallel. Memory behind pointers must live until the work is queued (device memory) or
/// complete (host memory), which Buffer ensures by itself. Destroy a stream only when no call is in progress.
class Stream {
  public:
    virtual ~Stream() = default;

    /// Queues a dispatch without a lookup by name: for callers that launch often. parameters: the kernel's
    /// push-constant block. Throws Error when their size is wrong or the pipeline belongs to another device.
    /// expected_seconds: the caller's estimate of how long it takes, 0 if unknown; limits what one submit
    /// holds.
    virtual void launch(const Pipeline& pipeline, Groups groups, std::span<const std::byte> parameters,
                        std::span<const Access> accesses, double expected_seconds = 0) = 0;
    template <class P>
        requires std::is_trivially_copyable_v<P> &&
                 (!std::is_convertible_v<const P&, std::span<const std::byte>>)
    void launch(const Pipeline& pipeline, Groups groups, const P& parameters,
                std::span<const Access> accesses, double expected_seconds = 0) {
        launch(pipeline, groups, std::as_bytes(std::span(&parameters, 1)), accesses, expected_seconds);
    }
    /// Requests the pipeline and queues a dispatch. parameters: the kernel's push-constant block. Throws
    /// Unsupported when the device lacks a feature of the kernel, Error when the size of the parameters is
    /// wrong. expected_seconds: the caller's estimate of how long it takes, 0 if unknown; limits what one
    /// submit holds.
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
    template <class P, kernels::ConstantsStruct C>
        requires std::same_as<C, typename P::Constants>
    void launch(const kernels::TypedKernel<P>& kernel, Groups groups,
                const std::type_identity_t<P>& parameters, std::span<const Access> accesses,
                const C& constants, double expected_seconds = 0) {
        launch(kernel, groups, parameters, accesses,
               std::span<const kernels::ConstantValue>(constants.list()), expected_seconds);
    }

    /// A block for data that kernels read in addition to their push constants; at most largest_transient
    /// bytes. It is the stream's own memory and is reused: the driver is asked for more only while more work
    /// is in flight than ever before. In the guard-page and poison test modes every block is its own
    /// allocation. Pointers written into it must be raw_address()es. Throws Error, OutOfMemory.
    virtual Transient transient(std::uint64_t bytes) = 0;
    static constexpr std::uint64_t largest_transient = 64 << 10;

    /// Device to device, or to and from mapped blocks; asynchronous. Ranges must not overlap.
    virtual void copy(DevicePointer to, DevicePointer from, std::uint64_t bytes) = 0;
    /// From any host memory, which may be reused as soon as the call returns.
    virtual void upload(DevicePointer to, std::span<const std::byte> from) = 0;
    /// Waits for the stream's work and copies to the host.
    virtual void download(std::span<std::byte> to, DevicePointer from) = 0;
    /// bytes: a multiple of 4.
    virtual void fill(DevicePointer to, std::uint64_t bytes, std::uint32_t word) = 0;

    /// A point after all work queued so far. With timing, Event::seconds_since() can use it.
    virtual Event record(bool timing = false) = 0;
    /// Returns the events that another stream must wait for before it reads or writes the ranges. One event
    /// marks the last operation queued so far that declares an access to the ranges; the others are the
    /// events that this stream itself waits for, except those of promises that were made for other memory
    /// (PromiseSequence). The device may reach these events long before an event of record(), and operations
    /// that are queued later do not delay them. Events that the device has already reached are not returned.
    /// The first call on a stream may return later events than necessary, because the stream starts to record
    /// which memory its operations use at that call.
    virtual std::vector<Event> record_uses(std::span<const Access> ranges) = 0;
    /// Later work of this stream starts after the event. The calling thread waits only for events of other
    /// devices; it does not wait until a promise of this device is kept.
    virtual void wait(const Event& event) = 0;
    /// Submits what has been recorded, except what is held back for a promise.
    virtual void flush() = 0;
    /// Submits and waits for everything. Throws DeviceLost.
    virtual void synchronize() = 0;

    /// The number of this stream among the device's streams, from 0; Profiler::Record::stream reports it.
    virtual std::uint32_t number() const noexcept = 0;
    /// The value that the profiler's records carry for operations that the calling thread queues from now on,
    /// on any stream.
    static void set_correlation(std::uint64_t correlation) noexcept;
    /// The caller's name for what the calling thread queues from now on, on any stream; DeviceLost prints it
    /// with the kernels. The text must live forever; nullptr: none.
    static void set_operation(const char* name) noexcept;
};

/// How often the calling thread has asked to wait for a device since it started. Tests compare it before and
/// after code that must not wait implicitly. The runtime's own waits (memory has run out, eight submits are
/// in flight) do not count.
struct Synchronizations {
    std::uint64_t downloads = 0; ///< Stream::download
    std::uint64_t waits = 0;     ///< Stream::synchronize, Event::wait, Device::synchronize
    friend bool operator==(const Synchronizations&, const Synchronizations&) = default;
};
Synchronizations thread_synchronizations() noexcept;

/// Device time per kernel, summed over launches, and a record of each operation. Disabled at the start;
/// enabling it costs two timestamps per operation. Thread-safe.
class Profiler {
  public:
    struct Row {
        std::string kernel;
        std::uint64_t launches = 0;
        double seconds = 0;
    };
    /// One operation on the device.
    struct Record {
        std::string_view name;    ///< of the kernel, valid forever; "copy", "upload" (from the host), "fill"
        std::uint32_t stream = 0; ///< Stream::number
        std::int64_t begin_ns = 0, end_ns = 0; ///< on the host's std::chrono::steady_clock; the operation
                                               ///< does not begin before what it waited for has ended
        std::uint64_t bytes = 0;       ///< copied or filled; for a launch: of the ranges that it declared
        std::uint64_t correlation = 0; ///< Stream::set_correlation
        /// True: the driver compared the device's clock with the host's (VK_EXT_calibrated_timestamps).
        /// False: the profiler estimated the offset with a submit that it waited for, and all times may be
        /// off by the same fraction of a millisecond.
        bool calibrated = false;
    };
    virtual ~Profiler() = default;
    virtual void enable(bool on) = 0;
    virtual bool enabled() const = 0;
    /// The sums for completed work, slowest kernel first.
    virtual std::vector<Row> rows() = 0;
    virtual void reset() = 0;

    /// Starts recording what is queued from now on. While it is enabled, large uploads use their stream's own
    /// queue. Throws Unsupported when the compute queue has no timestamps.
    virtual void enable_records(bool on) = 0;
    /// Returns and clears the records of completed work, ordered by begin. At most 1,000,000 are kept; `lost`
    /// receives the number of records that were dropped.
    virtual std::vector<Record> take_records(std::uint64_t* lost = nullptr) = 0;
};

} // namespace rekindle::runtime
