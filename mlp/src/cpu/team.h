#pragma once
/// Threads for one call, with a barrier between its phases.

#include <rekindle/kernels/ceil_div.h>

#include <atomic>
#include <cstddef>
#include <immintrin.h>
#include <thread>
#include <vector>

namespace rekindle::mlp::cpu {

/// In this scope and thread, subnormals count as zero, rounding is to nearest, and exceptions are masked.
/// Without it AdamW's moments decay into subnormals and a step takes several times as long.
class FlushSubnormals {
  public:
    FlushSubnormals() noexcept : saved_(_mm_getcsr()) { _mm_setcsr(0x9FC0u); }
    ~FlushSubnormals() { _mm_setcsr(saved_); }
    FlushSubnormals(const FlushSubnormals&) = delete;
    FlushSubnormals& operator=(const FlushSubnormals&) = delete;

  private:
    unsigned saved_;
};

/// Waits for all threads of a team; spins briefly, then sleeps.
class Barrier {
  public:
    explicit Barrier(std::size_t threads) : threads_(threads) {}
    void wait() noexcept {
        if (threads_ == 1)
            return;
        const unsigned phase = phase_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            phase_.fetch_add(1, std::memory_order_acq_rel);
            phase_.notify_all();
            return;
        }
        for (int spin = 0; spin < 1000; ++spin) {
            if (phase_.load(std::memory_order_acquire) != phase)
                return;
            _mm_pause();
        }
        phase_.wait(phase, std::memory_order_acquire);
    }

  private:
    std::size_t threads_;
    std::atomic<std::size_t> arrived_{0};
    std::atomic<unsigned> phase_{0};
};

/// Runs job(0) … job(threads - 1) in parallel, job(0) on this thread, all with subnormals flushed. Jobs must
/// not throw.
template <class Job>
void run_team(std::size_t threads, const Job& job) {
    std::vector<std::jthread> others;
    others.reserve(threads - 1);
    for (std::size_t t = 1; t < threads; ++t)
        others.emplace_back([&job, t] {
            const FlushSubnormals flush;
            job(t);
        });
    const FlushSubnormals flush;
    job(0);
}

/// The part of [0, count) that belongs to thread t, in multiples of `step`.
struct Share {
    std::size_t begin, end;
};
inline Share share(std::size_t count, std::size_t step, std::size_t t, std::size_t threads) {
    const std::size_t units = kernels::ceil_div(count, step);
    const auto edge = [&](std::size_t i) {
        const std::size_t at = units * i / threads * step;
        return at < count ? at : count;
    };
    return {edge(t), edge(t + 1)};
}

} // namespace rekindle::mlp::cpu
