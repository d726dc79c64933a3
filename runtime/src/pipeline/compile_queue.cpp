#include "pipeline/compile_queue.h"

#include "device/process_state.h"

#include <utility>

namespace rekindle::runtime {

CompileQueue::~CompileQueue() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    jobs_.clear();
    changed_.notify_all();
    // The threads are joined after this, when the lock has been released.
}

void CompileQueue::add(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    if (stopped_)
        return;
    jobs_.push_back(std::move(job));
    if (idle_ < jobs_.size() && threads_.size() < most_threads_)
        threads_.emplace_back([this] { work(); });
    changed_.notify_all();
}

bool CompileQueue::stop(std::chrono::steady_clock::time_point until) noexcept {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    jobs_.clear();
    changed_.notify_all();
    return changed_.wait_until(lock, until, [this] { return running_ == 0; });
}

void CompileQueue::work() {
    this_thread_handles_exit();
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
        --idle_;
        if (stopped_)
            return;
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        ++running_;
        lock.unlock();
        job();
        lock.lock();
        --running_;
        if (stopped_)
            changed_.notify_all();
    }
}

} // namespace rekindle::runtime
