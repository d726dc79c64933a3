#pragma once
/// Totals of device time, and records of operations. Private to the library.

#include "device/vulkan_device.h"

#include <rekindle/runtime/stream.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rekindle::runtime {

/// One moment on two clocks.
struct ClockPair {
    std::uint64_t ticks = 0;  ///< of the compute queue's timestamps
    std::int64_t host_ns = 0; ///< of std::chrono::steady_clock
    bool calibrated = false;  ///< reported by the driver
};

/// Converts `ticks` to nanoseconds on the host's clock. bits: valid bits of a timestamp; `ticks` must be
/// within half their range of the pair's. period_ns: duration of a tick.
std::int64_t host_time(const ClockPair& pair, std::uint64_t ticks, std::uint32_t bits, double period_ns);

/// The Profiler that streams fill. Thread-safe.
class KernelProfiler final : public Profiler {
  public:
    /// `make_stream`: makes a stream of the device; where the driver does not compare its clock with the
    /// host's, the profiler does so with a submit.
    KernelProfiler(VulkanDevice& device, std::function<std::unique_ptr<Stream>()> make_stream)
        : device_(device), make_stream_(std::move(make_stream)) {}

    void enable(bool on) override; ///< throws Unsupported when the compute queue has no timestamps
    bool enabled() const override { return enabled_.load(std::memory_order_relaxed); }
    std::vector<Row> rows() override;
    void reset() override;
    void enable_records(bool on) override;
    std::vector<Record> take_records(std::uint64_t* lost) override;

    bool records() const { return records_on_.load(std::memory_order_relaxed); }
    /// Adds the duration of one launch of that kernel.
    void add(const kernels::Kernel& kernel, double seconds);
    /// Adds an operation that ran between two timestamps, from which the record's times are computed.
    void add_record(Record record, std::uint64_t begin, std::uint64_t end);

    static constexpr std::size_t most_records = 1'000'000;

  private:
    struct Sum {
        std::uint64_t launches = 0;
        double seconds = 0;
    };
    /// Collects what has completed on every stream.
    void gather();
    void require_timestamps() const;
    /// The two clocks, compared by the driver.
    ClockPair compared() const;
    /// The two clocks, compared by waiting for a submit.
    ClockPair estimated() const;
    /// Compares the clocks again if the last comparison is old, because they drift apart.
    void renew_locked();

    VulkanDevice& device_;
    const std::function<std::unique_ptr<Stream>()> make_stream_;
    std::atomic<bool> enabled_{false}, records_on_{false};
    std::mutex mutex_;
    std::unordered_map<std::string_view, Sum> sums_; ///< by the kernel's name
    ClockPair clocks_;
    std::vector<Record> records_;
    std::uint64_t lost_ = 0;
};

} // namespace rekindle::runtime
