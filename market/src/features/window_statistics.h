#pragma once
/// Statistics of a window, recomputed from its values, so that they do not depend on anything before the
/// window.

#include <cmath>
#include <cstddef>
#include <limits>

namespace rekindle::market {

/// Differences are taken from the first value, so the std of a window of equal values is exactly 0.
struct WindowStatistics {
    double mean = 0;
    double sample_std = 0; ///< divisor count - 1; NaN for one value
};

/// value(i) for i in [0, count), count >= 1.
template <class Value>
WindowStatistics window_statistics(std::size_t count, Value value) {
    const double first = value(std::size_t{0});
    const auto n = static_cast<double>(count);
    double sum = 0;
    for (std::size_t i = 1; i < count; ++i)
        sum += value(i) - first;
    const double mean = sum / n;
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double difference = value(i) - first - mean;
        squares += difference * difference;
    }
    return {first + mean, std::sqrt(squares / (n - 1))};
}

/// NaN if `before` is below 0, where a percentage means nothing.
inline double percent_change(double now, double before) {
    return before < 0 ? std::numeric_limits<double>::quiet_NaN() : 100 * (now / before - 1);
}

} // namespace rekindle::market
