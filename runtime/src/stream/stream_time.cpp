#include "stream/stream_time.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rekindle::runtime {

LaunchTime::Sample LaunchTime::estimate(std::uint64_t groups, double expected_seconds) {
    const std::size_t size_class = std::min<std::size_t>(std::bit_width(groups), size_classes - 1);
    if (expected_seconds > 0)
        return {this, size_class, true, correction_, expected_seconds * correction_};
    // If this size was not measured, scales the time of the nearest smaller size with the workgroup count,
    // which is the worst case; without one, takes the time of a larger size, which is an upper bound.
    double seconds = 0;
    for (std::size_t c = size_class + 1; c-- > 0 && seconds == 0;)
        seconds = seconds_[c] * static_cast<double>(1ull << (size_class - c));
    for (std::size_t c = size_class + 1; c < size_classes && seconds == 0; ++c)
        seconds = seconds_[c];
    if (seconds == 0)
        seconds = unknown_seconds;
    return {this, size_class, false, seconds, seconds};
}

void LaunchTime::learn(const Sample& sample, double ratio) {
    if (!(ratio > 0) || !std::isfinite(ratio))
        return;
    // Based on the estimate that the submit used, not on the current one, so that several submits in flight
    // that used the same estimate correct it only once.
    const double factor = ratio > 1 ? ratio : std::sqrt(ratio);
    if (sample.expected)
        correction_ = std::clamp(sample.used * factor, 1e-6, 1e6);
    else
        seconds_[sample.size_class] = std::clamp(sample.used * factor, 1e-9, 1e6);
}

bool ProgressDeadline::expired(std::uint64_t progress, Clock::time_point now) {
    if (progress != progress_) {
        progress_ = progress;
        since_ = now;
    }
    return now - since_ >= seconds_;
}

} // namespace rekindle::runtime
