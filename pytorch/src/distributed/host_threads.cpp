#include "host_threads.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <c10/core/InferenceMode.h>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <sched.h>
#include <thread>
#include <utility>
#include <vector>

namespace rvk::distributed {

namespace {

constexpr std::size_t smallest_part = 512 << 10; // bytes; smaller parts are not worth a thread
constexpr int most_threads = 4;

int processes_of_host() {
    for (const char* const name : {"LOCAL_WORLD_SIZE", "WORLD_SIZE"})
        if (const char* const text = std::getenv(name); text && *text)
            return std::max(1, std::atoi(text));
    return 1;
}

/// The number of threads to use.
int thread_count() {
    static const int count = [] {
        cpu_set_t usable;
        const int cpus = ::sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
        return std::clamp(cpus / processes_of_host(), 1, most_threads);
    }();
    return count;
}

/// A pool of thread_count() - 1 threads, because the calling thread works too. Lives as long as the process.
class Pool {
  public:
    static Pool& instance() {
        static auto* const pool = new Pool; // its threads may outlive static objects
        return *pool;
    }
    std::future<void> start(std::function<void()> job) {
        std::packaged_task<void()> task(std::move(job));
        std::future<void> result = task.get_future();
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(task));
        added_.notify_one();
        return result;
    }

  private:
    Pool() {
        for (int number = 1; number < thread_count(); ++number)
            std::thread([this] { run(); }).detach();
    }
    [[noreturn]] void run() {
        compute_alone();
        const c10::InferenceMode guard; // only this mode may overwrite inference tensors
        for (;;)
            next()();
    }
    std::packaged_task<void()> next() {
        std::unique_lock lock(mutex_);
        added_.wait(lock, [this] { return !jobs_.empty(); });
        std::packaged_task<void()> task = std::move(jobs_.front());
        jobs_.pop_front();
        return task;
    }

    std::mutex mutex_;
    std::condition_variable added_;
    std::deque<std::packaged_task<void()>> jobs_;
};

} // namespace

void compute_alone() {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    const int count = at::get_num_threads();
    at::set_num_threads(1); // also changes the default for new threads, which the next line restores
    std::thread([count] { at::set_num_threads(count); }).join();
}

void in_parts(std::int64_t count, std::size_t element_bytes,
              const std::function<void(std::int64_t, std::int64_t)>& run) {
    const auto worthwhile =
        static_cast<std::int64_t>(static_cast<std::size_t>(count) * element_bytes / smallest_part);
    const std::int64_t parts = std::clamp<std::int64_t>(worthwhile, 1, thread_count());
    const auto begin_of = [&](std::int64_t part) { return count * part / parts; };
    std::vector<std::future<void>> others;
    for (std::int64_t part = 1; part < parts; ++part)
        others.push_back(Pool::instance().start(
            [&run, begin = begin_of(part), end = begin_of(part + 1)] { run(begin, end); }));
    const auto await_all = [&others] {
        for (const std::future<void>& each : others)
            each.wait(); // the other parts refer to the caller's variables
    };
    try {
        run(0, begin_of(1));
    } catch (...) {
        await_all();
        throw;
    }
    await_all();
    for (std::future<void>& each : others)
        each.get();
}

void copy_host(std::span<std::byte> to, std::span<const std::byte> from) {
    in_parts(static_cast<std::int64_t>(to.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
    });
}

} // namespace rvk::distributed
