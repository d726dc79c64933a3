#pragma once
/// Sums of device time. Private to the library.

#include "vulkan_device.h"

#include <rekindle/runtime/stream.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace rekindle::runtime {

/// The Profiler that streams fill. Thread-safe.
class KernelProfiler final : public Profiler {
  public:
    explicit KernelProfiler(VulkanDevice& device) : device_(device) {}

    void enable(bool on) override; ///< throws Unsupported when the compute queue has no timestamps
    bool enabled() const override { return enabled_.load(std::memory_order_relaxed); }
    std::vector<Row> rows() override;
    void reset() override;

    /// One launch of that kernel took so long.
    void add(const kernels::Kernel& kernel, double seconds);

  private:
    struct Sum {
        std::uint64_t launches = 0;
        double seconds = 0;
    };
    /// Hands in what has completed on every stream.
    void gather();

    VulkanDevice& device_;
    std::atomic<bool> enabled_{false};
    std::mutex mutex_;
    std::unordered_map<const kernels::Kernel*, Sum> sums_;
};

} // namespace rekindle::runtime
