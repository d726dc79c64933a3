#pragma once
/// Time on the device: how long launches are expected to take, and how long nothing may happen.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rekindle::runtime {

/// How long launches of one kernel take, learned from the submits that held them. Launches of unlike size are
/// kept apart by the power of two of their workgroups. Not thread-safe.
class LaunchTime {
  public:
    /// One launch's estimate, kept until its submit has been measured.
    struct Sample {
        LaunchTime* of = nullptr;
        std::size_t size_class = 0;
        bool expected = false; ///< the caller gave a figure
        double used = 0;       ///< seconds, or the factor on the caller's figure
        double seconds = 0;    ///< of this launch
        bool same_as(const Sample& other) const {
            return of == other.of && size_class == other.size_class && expected == other.expected;
        }
    };
    /// What a launch of unknown length counts: a submit holds at most 16 of them until the first is measured.
    static constexpr double unknown_seconds = 0.0125;

    /// expected_seconds: what the caller thinks; 0 when he does not know.
    Sample estimate(std::uint64_t groups, double expected_seconds);
    /// The submit that held the sample's launch took `ratio` times what was estimated for all of it.
    /// Estimates grow at once and shrink by the square root, so that one short submit does not make the next
    /// one long.
    void learn(const Sample& sample, double ratio);

  private:
    static constexpr std::size_t size_classes = 40;
    std::array<double, size_classes> seconds_{}; ///< 0: not measured yet
    double correction_ = 1;                      ///< of callers' figures
};

/// A deadline that starts anew whenever a counter moves.
class ProgressDeadline {
  public:
    using Clock = std::chrono::steady_clock;
    ProgressDeadline(double seconds, std::uint64_t progress, Clock::time_point now)
        : seconds_(seconds), progress_(progress), since_(now) {}
    /// Whether the counter has stood still for the given time.
    bool expired(std::uint64_t progress, Clock::time_point now);

  private:
    std::chrono::duration<double> seconds_;
    std::uint64_t progress_;
    Clock::time_point since_;
};

} // namespace rekindle::runtime
