#include "stream/profiler.h"

#include "device/vulkan_structure.h"
#include "stream/event.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace rekindle::runtime {

namespace {

std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

std::int64_t host_time(const ClockPair& pair, std::uint64_t ticks, std::uint32_t bits, double period_ns) {
    const std::uint32_t unused = 64 - bits;
    const auto passed = static_cast<std::int64_t>((ticks - pair.ticks) << unused) >> unused;
    return pair.host_ns + std::llround(static_cast<double>(passed) * period_ns);
}

void KernelProfiler::require_timestamps() const {
    if (device_.compute_queue().timestamp_bits == 0)
        throw Unsupported(device_.info().name + " has no timestamps on its compute queue");
}

void KernelProfiler::enable(bool on) {
    if (on)
        require_timestamps();
    enabled_.store(on, std::memory_order_relaxed);
}

void KernelProfiler::add(const kernels::Kernel& kernel, double seconds) {
    const std::scoped_lock lock(mutex_);
    Sum& sum = sums_[kernel.name];
    ++sum.launches;
    sum.seconds += seconds;
}

void KernelProfiler::gather() {
    require_usable();
    for (const auto& timeline : device_.timelines())
        timeline->gather();
}

std::vector<Profiler::Row> KernelProfiler::rows() {
    gather();
    std::vector<Row> rows;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [kernel, sum] : sums_)
            rows.push_back({std::string(kernel), sum.launches, sum.seconds});
    }
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return a.seconds != b.seconds ? a.seconds > b.seconds : a.kernel < b.kernel;
    });
    return rows;
}

void KernelProfiler::reset() {
    gather();
    const std::scoped_lock lock(mutex_);
    sums_.clear();
}

ClockPair KernelProfiler::compared() const {
    // std::chrono::steady_clock is CLOCK_MONOTONIC on Linux.
    auto device = structure<VkCalibratedTimestampInfoEXT>(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT);
    auto host = device;
    device.timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    host.timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    const std::array domains{device, host};
    std::array<std::uint64_t, 2> now{};
    std::uint64_t uncertainty = 0;
    device_.check(device_.vk().vkGetCalibratedTimestampsEXT(device_.handle(), 2, domains.data(), now.data(),
                                                            &uncertainty),
                  "vkGetCalibratedTimestampsEXT");
    return {now[0], static_cast<std::int64_t>(now[1]), true};
}

ClockPair KernelProfiler::estimated() const {
    const std::unique_ptr<Stream> stream = make_stream_();
    ClockPair best;
    std::int64_t shortest = 0;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const std::int64_t before = steady_ns();
        const Event event = stream->record(true);
        event.state()->source->wait(event.state()->value);
        const std::int64_t after = steady_ns();
        if (attempt > 0 && after - before >= shortest)
            continue;
        shortest = after - before;
        best = {event.state()->ticks, before + shortest / 2, false};
    }
    return best;
}

void KernelProfiler::renew_locked() {
    constexpr std::int64_t long_ago_ns = 500'000'000;
    if (clocks_.calibrated && steady_ns() - clocks_.host_ns > long_ago_ns)
        clocks_ = compared();
}

void KernelProfiler::enable_records(bool on) {
    if (on) {
        require_timestamps();
        const ClockPair clocks = device_.enabled().calibrated_timestamps ? compared() : estimated();
        const std::scoped_lock lock(mutex_);
        clocks_ = clocks;
    }
    records_on_.store(on, std::memory_order_relaxed);
}

void KernelProfiler::add_record(Record record, std::uint64_t begin, std::uint64_t end) {
    const std::uint32_t bits = device_.compute_queue().timestamp_bits;
    const double period = device_.info().can.timestamp_period_ns;
    const std::scoped_lock lock(mutex_);
    if (records_.size() == most_records) {
        ++lost_;
        return;
    }
    renew_locked();
    record.begin_ns = host_time(clocks_, begin, bits, period);
    record.end_ns = host_time(clocks_, end, bits, period);
    record.calibrated = clocks_.calibrated;
    records_.push_back(record);
}

std::vector<Profiler::Record> KernelProfiler::take_records(std::uint64_t* lost) {
    gather();
    std::vector<Record> records;
    {
        const std::scoped_lock lock(mutex_);
        records.swap(records_);
        const std::uint64_t dropped = std::exchange(lost_, 0);
        if (lost != nullptr)
            *lost = dropped;
    }
    std::ranges::stable_sort(records, {}, &Record::begin_ns);
    return records;
}

} // namespace rekindle::runtime
