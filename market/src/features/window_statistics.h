#pragma once
/// Statistics of a window of values, recomputed from the values, so that they depend on nothing before the
/// window.

#include <cmath>
#include <cstddef>

namespace rekindle::market {

/// Deviations are taken from the first value: a window of equal values has a deviation of exactly 0.
struct WindowStatistics {
    double mean = 0;
    double sample_deviation = 0; ///< divisor count - 1; NaN for one value
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
        const double deviation = value(i) - first - mean;
        squares += deviation * deviation;
    }
    return {first + mean, std::sqrt(squares / (n - 1))};
}

inline double percent_change(double now, double before) {
    return 100 * (now / before - 1);
}

} // namespace rekindle::market
