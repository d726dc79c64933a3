#pragma once
/// Lets threads wait until a promise is kept.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rekindle::runtime {

/// Promise::this_thread_keeps_promises of the calling thread.
inline bool& thread_keeps_promises() noexcept {
    thread_local constinit bool keeps = false;
    return keeps;
}

/// Counts the kept promises and the submits of a device. Thread-safe.
class PromiseBoard {
  public:
    std::uint64_t kept() const {
        const std::scoped_lock lock(mutex_);
        return kept_;
    }
    /// Waits until kept() differs from `before`, but at most a second, so that callers notice a lost device.
    void wait(std::uint64_t before) const {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(1), [&] { return kept_ != before; });
    }
    void keep() {
        const std::scoped_lock lock(mutex_);
        ++kept_;
        changed_.notify_all();
    }

    std::uint64_t submits() const noexcept { return submits_.load(std::memory_order_acquire); }
    void count_submit() noexcept { submits_.fetch_add(1, std::memory_order_acq_rel); }

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::uint64_t kept_ = 0;
    std::atomic<std::uint64_t> submits_{0};
};

} // namespace rekindle::runtime
