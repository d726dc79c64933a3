#pragma once
/// Logistic regression on the network's own inputs: the linear baseline for a probability.

#include <rekindle/trainer/ridge.h>

#include <span>
#include <vector>

namespace rekindle::trainer {

/// Minimizes sum log(1 + exp(-s (a + x·b))) + penalty / 2 · |b|² over the training rows, where s is 1 for a
/// target above 1/2 and -1 otherwise, x are the inputs standardized on those rows and a is not penalized
/// (Hosmer and Lemeshow, 2000; scikit-learn's LogisticRegression with C = 1 / penalty on StandardScaler's
/// output). A column that is constant in training has no effect. In double precision, on one thread: the same
/// rows give the same bits.
class Logistic {
  public:
    /// Chooses the penalty with the lowest leave-one-out log loss, approximated by one Newton step per row
    /// (Pregibon, 1981); if several are equal, the largest. Uses only these rows.
    static Logistic fit(const RidgeRows& rows);
    /// Chooses among these penalties, all above 0.
    static Logistic fit(const RidgeRows& rows, std::span<const double> penalties);

    /// The probability of a target above 1/2, for each row of `inputs`.
    std::vector<double> predict(std::span<const float> inputs) const;
    double penalty() const noexcept { return penalty_; }
    double intercept() const noexcept { return intercept_; }
    /// For unstandardized inputs.
    const std::vector<double>& coefficients() const noexcept { return coefficients_; }
    /// Mean approximate leave-one-out log loss of each penalty, in the order in which they were given.
    const std::vector<double>& leave_one_out_losses() const noexcept { return losses_; }

  private:
    double penalty_ = 0;
    double intercept_ = 0;
    std::vector<double> coefficients_;
    std::vector<double> losses_;
};

/// The penalties that Logistic::fit() tries for this many rows: from 1e-4 to 10 times their number, in
/// decades.
std::vector<double> logistic_penalties(std::size_t rows);

/// Fits logistic regression on the training rows and predicts the validation rows.
std::vector<double> logistic_predictions(const Dataset& set);

} // namespace rekindle::trainer
