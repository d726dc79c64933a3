#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace rekindle::trainer {

/// The median: the mean of the two middle values when their number is even, NaN when there are none.
inline double median(std::vector<double> values) {
    if (values.empty())
        return std::numeric_limits<double>::quiet_NaN();
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1)
        return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

} // namespace rekindle::trainer
