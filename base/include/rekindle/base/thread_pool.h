#pragma once
/// A fixed set of threads for independent, indexed work.

#include <cstddef>
#include <functional>
#include <memory>

namespace rekindle {

/// Runs indexed jobs on `threads` threads, including the calling one. Not for concurrent use: one for_each at
/// a time.
class ThreadPool {
  public:
    /// threads = 0 uses the number of CPUs that this process may use.
    explicit ThreadPool(std::size_t threads = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    std::size_t size() const noexcept;
    /// Calls job(i) for each i in [0, count), in any order, and returns when all are done. The first
    /// exception is rethrown here; jobs that have not started by then are skipped.
    void for_each(std::size_t count, const std::function<void(std::size_t)>& job);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Number of CPUs that this process may use (from its affinity mask), at least 1.
std::size_t available_cpus() noexcept;

} // namespace rekindle
