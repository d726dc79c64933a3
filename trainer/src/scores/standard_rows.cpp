#include "standard_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::trainer {

StandardRows::StandardRows(const RidgeRows& rows)
    : rows_(rows), mean_(rows.columns), inverse_std_(rows.columns), row_(rows.columns) {
    const auto count = static_cast<double>(size());
    for (std::size_t i = 0; i < size(); ++i) {
        target_mean_ += static_cast<double>(rows.targets[i]) / count;
        for (std::size_t j = 0; j < columns(); ++j)
            mean_[j] += input(i, j) / count;
    }
    std::vector<double> variance(columns());
    for (std::size_t i = 0; i < size(); ++i)
        for (std::size_t j = 0; j < columns(); ++j)
            variance[j] += (input(i, j) - mean_[j]) * (input(i, j) - mean_[j]) / count;
    for (std::size_t j = 0; j < columns(); ++j) {
        const double least = 10 * std::numeric_limits<double>::epsilon() * std::max(1.0, std::abs(mean_[j]));
        inverse_std_[j] = std::sqrt(variance[j]) > least ? 1 / std::sqrt(variance[j]) : 0;
    }
}

} // namespace rekindle::trainer
