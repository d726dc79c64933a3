#pragma once
/// The training rows of a linear model, standardized.

#include <rekindle/trainer/ridge.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// Standardizes the training rows one at a time, so that no full matrix of doubles is stored.
class StandardRows {
  public:
    explicit StandardRows(const RidgeRows& rows);

    std::size_t size() const { return rows_.targets.size(); }
    std::size_t columns() const { return rows_.columns; }
    double target(std::size_t i) const { return static_cast<double>(rows_.targets[i]); }
    double target_mean() const { return target_mean_; }
    double mean(std::size_t column) const { return mean_[column]; }
    double inverse_std(std::size_t column) const { return inverse_std_[column]; }
    double centered_target(std::size_t i) const {
        return static_cast<double>(rows_.targets[i]) - target_mean_;
    }
    /// Valid until the next call.
    std::span<const double> row(std::size_t i) {
        for (std::size_t j = 0; j < columns(); ++j)
            row_[j] = (input(i, j) - mean_[j]) * inverse_std_[j];
        return row_;
    }

  private:
    double input(std::size_t i, std::size_t j) const {
        return static_cast<double>(rows_.inputs[i * rows_.columns + j]);
    }

    RidgeRows rows_;
    double target_mean_ = 0;
    std::vector<double> mean_, inverse_std_, row_;
};

} // namespace rekindle::trainer
