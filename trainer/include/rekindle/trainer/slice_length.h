#pragma once
/// How many batches are trained in one call, between checks of the cancellation token, the checkpoint
/// schedule and the progress display.

#include <cstddef>
#include <cstdint>

namespace rekindle::trainer {

/// Adapts to the measured speed, so that a slice takes 25 to 100 ms: checking the clock or launching work on
/// a GPU then costs nothing, and Ctrl-C takes effect immediately. The weights do not depend on it. Not
/// thread-safe.
class SliceLength {
  public:
    /// The first slice has 64 batches; for several networks, whose speed is not known yet, fewer (about 8,192
    /// network-steps in all), but at least one.
    explicit SliceLength(std::size_t networks) noexcept;

    std::uint64_t batches() const noexcept { return batches_; }
    /// A slice of any length took that long: doubles or halves the next one, within 1 to 2^24 batches.
    void took(double seconds) noexcept;

  private:
    std::uint64_t batches_;
};

} // namespace rekindle::trainer
