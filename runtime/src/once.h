#pragma once
/// Work that is done at the first call.

#include <atomic>
#include <mutex>

namespace rekindle::runtime {

/// As std::once_flag with std::call_once, which goes through the C library's pthread_once: an exception on
/// that way aborts a program that has libgcc linked into it. Thread-safe.
class Once {
  public:
    /// Calls work() unless an earlier call has returned; concurrent callers wait for it. An exception goes to
    /// its caller, and the next one tries again. work() may not call the same object.
    template <class Work>
    void operator()(const Work& work) {
        if (done_.load(std::memory_order_acquire))
            return;
        const std::lock_guard lock(mutex_);
        if (done_.load(std::memory_order_relaxed))
            return;
        work();
        done_.store(true, std::memory_order_release);
    }

  private:
    std::mutex mutex_;
    std::atomic<bool> done_{false};
};

} // namespace rekindle::runtime
