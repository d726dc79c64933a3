#include "profiler.h"

#include "stream_core.h"

#include <algorithm>

namespace rekindle::runtime {

void KernelProfiler::enable(bool on) {
    if (on && device_.compute_queue().timestamp_bits == 0)
        throw Unsupported(device_.info().name + " has no timestamps on its compute queue");
    enabled_.store(on, std::memory_order_relaxed);
}

void KernelProfiler::add(const kernels::Kernel& kernel, double seconds) {
    const std::scoped_lock lock(mutex_);
    Sum& sum = sums_[&kernel];
    ++sum.launches;
    sum.seconds += seconds;
}

void KernelProfiler::gather() {
    for (const auto& timeline : device_.timelines())
        if (auto* core = dynamic_cast<StreamCore*>(timeline.get()))
            core->gather();
}

std::vector<Profiler::Row> KernelProfiler::rows() {
    gather();
    std::vector<Row> rows;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [kernel, sum] : sums_)
            rows.push_back({std::string(kernel->name), sum.launches, sum.seconds});
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

std::unique_ptr<Profiler> make_profiler(VulkanDevice& device) {
    return std::make_unique<KernelProfiler>(device);
}

} // namespace rekindle::runtime
