#pragma once
/// Memory for floats: aligned to a cache line and initially zero.

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace rekindle::mlp::cpu {

class Arena {
  public:
    Arena() = default;
    /// An offset of `skew` cache lines keeps arenas that are traversed together from using the same cache
    /// sets.
    explicit Arena(std::size_t floats, std::size_t skew = 0) : size_(floats), skew_(skew * 16) {
        const std::size_t bytes = (floats + skew_ + 16) / 16 * 16 * sizeof(float) + 64;
        // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
        memory_.reset(static_cast<float*>(std::aligned_alloc(64, bytes / 64 * 64)));
        if (!memory_)
            throw std::bad_alloc();
        clear();
    }
    explicit operator bool() const { return memory_ != nullptr; }
    float* data() { return memory_ ? memory_.get() + skew_ : nullptr; }
    const float* data() const { return memory_ ? memory_.get() + skew_ : nullptr; }
    std::size_t size() const { return size_; }
    std::span<float> values() { return {data(), size_}; }
    std::span<const float> values() const { return {data(), size_}; }
    void clear() {
        if (size_ != 0)
            std::memset(data(), 0, size_ * sizeof(float));
    }

  private:
    struct Free {
        // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
        void operator()(float* p) const { std::free(p); }
    };
    std::unique_ptr<float, Free> memory_;
    std::size_t size_ = 0, skew_ = 0;
};

} // namespace rekindle::mlp::cpu
