#pragma once
/// Time on the device: how long launches are expected to take, and how long there may be no progress.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rekindle::runtime {

/// How long launches of one kernel take, learned from the submits that held them. Launches of different sizes
/// are distinguished by the power of two of their workgroup count. Not thread-safe.
class LaunchTime {
  public:
    /// One launch's estimate, kept until its submit has been measured.
    struct Sample {
        LaunchTime* of = nullptr;
        std::size_t size_class = 0;
        bool expected = false; ///< the caller gave an estimate
        double used = 0;       ///< seconds, or the factor applied to the caller's estimate
        double seconds = 0;    ///< estimated for this launch
        bool same_as(const Sample& other) const {
            return of == other.of && size_class == other.size_class && expected == other.expected;
        }
    };
    /// The duration assumed for a launch that was never measured, so that a submit holds at most 16 of them.
    static constexpr double unknown_seconds = 0.0125;

    /// expected_seconds: the caller's estimate; 0 if unknown.
    Sample estimate(std::uint64_t groups, double expected_seconds);
    /// The submit that held the sample's launch took `ratio` times the estimate for all of it. Estimates grow
    /// immediately and shrink by the square root, so that one short submit does not make the next one long.
    void learn(const Sample& sample, double ratio);

  private:
    static constexpr std::size_t size_classes = 40;
    std::array<double, size_classes> seconds_{}; ///< 0: not measured yet
    double correction_ = 1;                      ///< factor applied to callers' estimates
};

/// A deadline that restarts whenever a counter changes.
class ProgressDeadline {
  public:
    using Clock = std::chrono::steady_clock;
    ProgressDeadline(double seconds, std::uint64_t progress, Clock::time_point now)
        : seconds_(seconds), progress_(progress), since_(now) {}
    /// Whether the counter has not changed for the given time.
    bool expired(std::uint64_t progress, Clock::time_point now);

  private:
    std::chrono::duration<double> seconds_;
    std::uint64_t progress_;
    Clock::time_point since_;
};

} // namespace rekindle::runtime
