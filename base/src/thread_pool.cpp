#include <rekindle/base/thread_pool.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <sched.h>
#include <thread>
#include <utility>
#include <vector>

namespace rekindle {

std::size_t available_cpus() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
    return std::max(1u, std::thread::hardware_concurrency());
}

struct ThreadPool::State {
    std::mutex mutex;
    std::condition_variable_any work_ready;
    std::condition_variable work_done;
    const std::function<void(std::size_t)>* job = nullptr;
    std::size_t count = 0;
    std::atomic<std::size_t> next{0};
    std::size_t generation = 0;
    std::size_t busy = 0;
    std::exception_ptr failure;
    std::vector<std::jthread> threads; // last: joined before the rest is destroyed

    void run_jobs() {
        for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
            try {
                (*job)(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failure)
                    failure = std::current_exception();
                next.store(count);
            }
        }
    }

    void serve(const std::stop_token& stop) {
        std::size_t seen = 0;
        std::unique_lock lock(mutex);
        while (work_ready.wait(lock, stop, [&] { return generation != seen; })) {
            seen = generation;
            lock.unlock();
            run_jobs();
            lock.lock();
            if (--busy == 0)
                work_done.notify_one();
        }
    }
};

ThreadPool::ThreadPool(std::size_t threads) : state_(std::make_unique<State>()) {
    const std::size_t total = threads == 0 ? available_cpus() : threads;
    for (std::size_t i = 1; i < total; ++i)
        state_->threads.emplace_back([this](const std::stop_token& stop) { state_->serve(stop); });
}

ThreadPool::~ThreadPool() = default;

std::size_t ThreadPool::size() const noexcept {
    return state_->threads.size() + 1;
}

void ThreadPool::for_each(std::size_t count, const std::function<void(std::size_t)>& job) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->job = &job;
        state_->count = count;
        state_->next.store(0);
        state_->failure = nullptr;
        state_->busy = state_->threads.size();
        ++state_->generation;
    }
    state_->work_ready.notify_all();
    state_->run_jobs();
    std::unique_lock lock(state_->mutex);
    state_->work_done.wait(lock, [&] { return state_->busy == 0; });
    if (state_->failure)
        std::rethrow_exception(std::exchange(state_->failure, nullptr));
}

} // namespace rekindle
