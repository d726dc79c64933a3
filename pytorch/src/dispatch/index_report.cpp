#include "index_report.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <c10/util/Exception.h>
#include <mutex>

namespace rvk {

namespace {

constexpr std::size_t maximum_devices = 64;
constexpr std::size_t report_words = 3;

/// Memory of each device that its kernels write and the host reads. It lives as long as the process, as
/// devices do.
class Reports {
  public:
    static Reports& instance() {
        static auto* const reports = new Reports;
        return *reports;
    }
    runtime::Buffer& of(DeviceIndex index) {
        const auto at = static_cast<std::size_t>(index);
        TORCH_CHECK(at < maximum_devices, "more than 64 devices");
        if (!ready_[at].load(std::memory_order_acquire)) {
            const std::lock_guard lock(mutex_);
            if (!ready_[at].load(std::memory_order_relaxed)) {
                buffers_[at] = device(index).allocator().allocate(report_words * sizeof(std::int64_t),
                                                                  runtime::MemoryKind::readback);
                std::ranges::fill(buffers_[at].host(), std::byte{0});
                ready_[at].store(true, std::memory_order_release);
            }
        }
        return buffers_[at];
    }
    bool has(DeviceIndex index) const noexcept {
        const auto at = static_cast<std::size_t>(index);
        return at < maximum_devices && ready_[at].load(std::memory_order_acquire);
    }

  private:
    std::mutex mutex_;
    std::array<std::atomic<bool>, maximum_devices> ready_{};
    std::array<runtime::Buffer, maximum_devices> buffers_;
};

} // namespace

std::uint64_t index_report_address(DeviceIndex index) {
    return Reports::instance().of(index).pointer().address;
}

void check_index_report(DeviceIndex index) {
    if (!Reports::instance().has(index))
        return;
    const auto words = Reports::instance().of(index).host_as<volatile std::int64_t>();
    if (words[0] == 0)
        return;
    words[0] = 0;
    TORCH_CHECK_INDEX(false, "index ", std::int64_t{words[1]}, " is out of bounds for dimension with size ",
                      std::int64_t{words[2]}, " (an operator queued earlier on rvk:", static_cast<int>(index),
                      " reported it; its result holds zeros there)");
}

} // namespace rvk
