#pragma once
/// Work that is done at the first call.

#include <atomic>
#include <mutex>

namespace rekindle::runtime {

/// Like std::once_flag with std::call_once. Those go through the C library's pthread_once, where an exception
/// aborts a program that is linked statically with libgcc. Thread-safe.
class Once {
  public:
    /// Calls work() unless an earlier call has returned; concurrent callers wait for it. An exception reaches
    /// the caller that ran it, and the next caller tries again. work() must not call the same object.
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
