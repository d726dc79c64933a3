#pragma once
/// Ridge regression on the network's own inputs: the linear baseline that a network has to beat.

#include <rekindle/trainer/dataset.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// Row-major inputs with one target per row.
struct RidgeRows {
    std::span<const float> inputs; ///< targets.size() × columns, finite
    std::size_t columns = 0;
    std::span<const float> targets; ///< at least one
};

/// Minimizes sum (y - a - x·b)² + penalty · |b|² over the training rows, where x are the inputs standardized
/// on those rows and a is not penalized (Hoerl and Kennard, 1970). A column that is constant in training has
/// no effect. In double precision, on one thread: the same rows give the same bits.
class Ridge {
  public:
    /// Chooses the penalty with the lowest mean squared leave-one-out error, which has a closed form (Allen,
    /// 1974); of equal ones the larger. No other rows than these are used.
    static Ridge fit(const RidgeRows& rows);
    /// With one of these penalties, all above 0.
    static Ridge fit(const RidgeRows& rows, std::span<const double> penalties);

    /// One value for each row of `inputs`.
    std::vector<double> predict(std::span<const float> inputs) const;
    double penalty() const noexcept { return penalty_; }
    /// Mean squared leave-one-out error of each penalty that was tried, in their order.
    const std::vector<double>& leave_one_out_errors() const noexcept { return errors_; }

  private:
    double penalty_ = 0;
    double intercept_ = 0;
    std::vector<double> coefficients_; ///< of the inputs as they are, not standardized
    std::vector<double> errors_;
};

/// The penalties that fit() tries for this many rows: from 1e-6 to 1e4 times their number, in steps of the
/// square root of 10. With the largest, predictions are close to the mean of the training targets.
std::vector<double> ridge_penalties(std::size_t rows);

/// Fits ridge regression on the training rows and predicts the validation rows, in the unit of the targets
/// (directions are 0 and 1, and predictions lie around that range).
std::vector<double> ridge_predictions(const Dataset& set);

} // namespace rekindle::trainer
