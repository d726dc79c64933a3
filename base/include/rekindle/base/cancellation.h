#pragma once
/// Cooperative cancellation: Ctrl-C sets a token, and long work checks it at safe points.

#include <atomic>

namespace rekindle {

/// Set from a signal handler or another thread; read by workers. Lock-free.
class CancellationToken {
  public:
    void request() noexcept { requested_.store(true, std::memory_order_relaxed); }
    bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> requested_{false};
    static_assert(std::atomic<bool>::is_always_lock_free);
};

} // namespace rekindle
