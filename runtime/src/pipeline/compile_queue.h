#pragma once
/// Threads that compile pipelines ahead of their first use.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rekindle::runtime {

/// Thread-safe. Jobs start in the order in which they were added, each on the next idle thread; threads are
/// started when there is work for them and stay until stop().
class CompileQueue {
  public:
    /// `threads`: at most this many, at least 1.
    explicit CompileQueue(std::size_t threads) : most_threads_(threads) {}
    /// Drops the jobs that have not started and waits for the others.
    ~CompileQueue();
    CompileQueue(const CompileQueue&) = delete;
    CompileQueue& operator=(const CompileQueue&) = delete;

    /// `job` must not throw. After stop() it is dropped.
    void add(std::function<void()> job);
    /// Drops the jobs that have not started. Waits for those that are running, at most until `until`, and
    /// returns whether they have ended.
    bool stop(std::chrono::steady_clock::time_point until) noexcept;

  private:
    void work();

    const std::size_t most_threads_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    std::size_t idle_ = 0, running_ = 0;
    bool stopped_ = false;
    std::vector<std::jthread> threads_;
};

} // namespace rekindle::runtime
