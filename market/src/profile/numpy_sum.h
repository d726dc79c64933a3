#pragma once
/// The order in which NumPy adds up a contiguous array of doubles ("pairwise summation"): blocks of up to 128
/// with eight running sums, halves of longer arrays. Generations N and C took their totals this way, and a
/// total decides on which side of 70 % a value area ends.

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
