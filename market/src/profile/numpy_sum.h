#pragma once
/// Sums doubles in the same order as NumPy does for a contiguous array ("pairwise summation"): blocks of up
/// to 128 with eight running sums, longer arrays by halves. Generations N and C computed their totals this
/// way, and the last bit of a total can decide where a value area ends.

#include <cstddef>
#include <span>

namespace rekindle::market::profile {

inline double numpy_sum(std::span<const double> values) noexcept {
    constexpr std::size_t lanes = 8;
    constexpr std::size_t block = 128;
    const std::size_t count = values.size();
    if (count < lanes) {
        double sum = 0;
        for (const double value : values)
            sum += value;
        return sum;
    }
    if (count > block) {
        const std::size_t half = count / 2 - count / 2 % lanes;
        return numpy_sum(values.first(half)) + numpy_sum(values.subspan(half));
    }
    double lane[lanes];
    for (std::size_t j = 0; j < lanes; ++j)
        lane[j] = values[j];
    std::size_t i = lanes;
    for (; i < count - count % lanes; i += lanes)
        for (std::size_t j = 0; j < lanes; ++j)
            lane[j] += values[i + j];
    double sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    for (; i < count; ++i)
        sum += values[i];
    return sum;
}

} // namespace rekindle::market::profile
