#include "standard_rows.h"

#include <rekindle/trainer/logistic.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rekindle::trainer {

namespace {

/// log(1 + exp(x)) without overflow.
double softplus(double x) {
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

double probability_of(double x) {
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

/// The lower triangle L of L L' = A for a positive definite matrix, in place. Row-major.
class Cholesky {
  public:
    Cholesky(std::vector<double> matrix, std::size_t size) : lower_(std::move(matrix)), size_(size) {
        for (std::size_t j = 0; j < size; ++j)
            for (std::size_t i = j; i < size; ++i) {
                double sum = lower_[i * size + j];
                for (std::size_t k = 0; k < j; ++k)
                    sum -= lower_[i * size + k] * lower_[j * size + k];
                lower_[i * size + j] = i == j ? std::sqrt(std::max(sum, least)) : sum / lower_[j * size + j];
            }
    }
    /// x = L⁻¹ b, in place.
    void forward(std::span<double> x) const {
        for (std::size_t i = 0; i < size_; ++i) {
            for (std::size_t k = 0; k < i; ++k)
                x[i] -= lower_[i * size_ + k] * x[k];
            x[i] /= lower_[i * size_ + i];
        }
    }
    /// x = A⁻¹ b, in place.
    void solve(std::span<double> x) const {
        forward(x);
        for (std::size_t i = size_; i-- > 0;) {
            for (std::size_t k = i + 1; k < size_; ++k)
                x[i] -= lower_[k * size_ + i] * x[k];
            x[i] /= lower_[i * size_ + i];
        }
    }

  private:
    static constexpr double least = 1e-300;
    std::vector<double> lower_;
    std::size_t size_;
};

/// The function to minimize over the parameters (a, b). The intercept a comes first.
class Problem {
  public:
    explicit Problem(StandardRows& rows) : rows_(rows), row_(rows.columns() + 1) { row_[0] = 1; }

    std::size_t parameters() const { return row_.size(); }
    std::size_t rows() const { return rows_.size(); }
    bool is_up(std::size_t i) const { return rows_.target(i) > 0.5; }
    /// (1, x) of a row; valid until the next call.
    std::span<const double> row(std::size_t i) {
        std::ranges::copy(rows_.row(i), row_.begin() + 1);
        return row_;
    }
    static double score(std::span<const double> x, std::span<const double> parameters) {
        double sum = 0;
        for (std::size_t j = 0; j < x.size(); ++j)
            sum += x[j] * parameters[j];
        return sum;
    }

    double objective(std::span<const double> parameters, double penalty) {
        double sum = 0;
        for (std::size_t i = 0; i < rows(); ++i) {
            const double score_of_row = score(row(i), parameters);
            sum += softplus(is_up(i) ? -score_of_row : score_of_row);
        }
        for (std::size_t j = 1; j < parameters.size(); ++j)
            sum += penalty / 2 * parameters[j] * parameters[j];
        return sum;
    }
    /// The gradient of the objective; returns the Cholesky factor of its Hessian.
    Cholesky differentiate(std::span<const double> parameters, double penalty,
                           std::vector<double>& gradient) {
        const std::size_t size = row_.size();
        std::vector<double> hessian(size * size);
        gradient.assign(size, 0.0);
        for (std::size_t i = 0; i < rows(); ++i) {
            const auto x = row(i);
            const double p = probability_of(score(x, parameters));
            const double error = p - (is_up(i) ? 1 : 0), weight = p * (1 - p);
            for (std::size_t j = 0; j < size; ++j) {
                gradient[j] += error * x[j];
                for (std::size_t k = 0; k <= j; ++k)
                    hessian[j * size + k] += weight * x[j] * x[k];
            }
        }
        for (std::size_t j = 1; j < size; ++j) {
            gradient[j] += penalty * parameters[j];
            hessian[j * size + j] += penalty;
        }
        return {std::move(hessian), size};
    }

  private:
    StandardRows& rows_;
    std::vector<double> row_;
};

/// Newton's method with step halving, from `parameters`.
void minimize(Problem& problem, double penalty, std::vector<double>& parameters) {
    constexpr int most_steps = 50;
    constexpr double precise = 1e-12; // of the objective, relative
    std::vector<double> gradient, tried(parameters.size());
    double objective = problem.objective(parameters, penalty);
    for (int step = 0; step < most_steps; ++step) {
        const Cholesky hessian = problem.differentiate(parameters, penalty, gradient);
        hessian.solve(gradient);
        double length = 1, reached = std::numeric_limits<double>::infinity();
        for (; length > 1e-10; length /= 2) {
            for (std::size_t j = 0; j < tried.size(); ++j)
                tried[j] = parameters[j] - length * gradient[j];
            reached = problem.objective(tried, penalty);
            if (reached <= objective)
                break;
        }
        if (!(reached <= objective))
            return;
        const double saved = objective - reached;
        parameters = tried;
        objective = reached;
        if (saved <= precise * std::abs(objective))
            return;
    }
}

/// The mean loss of a row under the model that is fitted without it. One Newton step from the solution for
/// all rows approximates that model.
double leave_one_out_loss(Problem& problem, std::span<const double> parameters, double penalty) {
    std::vector<double> gradient, z(problem.parameters());
    const Cholesky hessian = problem.differentiate(parameters, penalty, gradient);
    double sum = 0;
    for (std::size_t i = 0; i < problem.rows(); ++i) {
        const auto x = problem.row(i);
        const double score = Problem::score(x, parameters), p = probability_of(score);
        std::ranges::copy(x, z.begin());
        hessian.forward(z);
        double leverage = 0; // x' H⁻¹ x
        for (const double value : z)
            leverage += value * value;
        const double others = std::max(1 - p * (1 - p) * leverage, std::numeric_limits<double>::epsilon());
        const double without = score + (p - (problem.is_up(i) ? 1 : 0)) * leverage / others;
        sum += softplus(problem.is_up(i) ? -without : without);
    }
    return sum / static_cast<double>(problem.rows());
}

} // namespace

std::vector<double> logistic_penalties(std::size_t rows) {
    std::vector<double> penalties;
    for (int decade = -4; decade <= 1; ++decade)
        penalties.push_back(static_cast<double>(rows) * std::pow(10.0, decade));
    return penalties;
}

Logistic Logistic::fit(const RidgeRows& rows) {
    return fit(rows, logistic_penalties(rows.targets.size()));
}

Logistic Logistic::fit(const RidgeRows& rows, std::span<const double> penalties) {
    StandardRows standard(rows);
    Problem problem(standard);
    Logistic best;
    std::vector<double> losses(penalties.size()), parameters(problem.parameters()), chosen;
    std::size_t best_index = penalties.size();
    // Begins with the largest penalty; each solution is the starting point for the next smaller penalty.
    for (std::size_t p = penalties.size(); p-- > 0;) {
        minimize(problem, penalties[p], parameters);
        losses[p] = penalties.size() == 1 ? 0 : leave_one_out_loss(problem, parameters, penalties[p]);
        if (best_index == penalties.size() || losses[p] < losses[best_index]) {
            best_index = p;
            chosen = parameters;
        }
    }
    best.penalty_ = penalties[best_index];
    best.losses_ = std::move(losses);
    best.intercept_ = chosen[0];
    for (std::size_t j = 0; j < rows.columns; ++j) {
        best.coefficients_.push_back(chosen[j + 1] * standard.inverse_std(j));
        best.intercept_ -= best.coefficients_[j] * standard.mean(j);
    }
    return best;
}

std::vector<double> Logistic::predict(std::span<const float> inputs) const {
    const std::size_t columns = coefficients_.size();
    std::vector<double> values(inputs.size() / columns, intercept_);
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = 0; j < columns; ++j)
            values[i] += coefficients_[j] * static_cast<double>(inputs[i * columns + j]);
        values[i] = probability_of(values[i]);
    }
    return values;
}

std::vector<double> logistic_predictions(const Dataset& set) {
    const std::size_t columns = set.matrix.columns();
    const market::Split& split = set.split;
    const std::span<const float> inputs(set.rows->inputs), targets(set.targets.values);
    const auto rows_of = [&](std::size_t begin, std::size_t end) {
        return inputs.subspan(begin * columns, (end - begin) * columns);
    };
    const Logistic logistic =
        Logistic::fit({rows_of(split.train_begin, split.train_end), columns,
                       targets.subspan(split.train_begin, split.train_end - split.train_begin)});
    std::vector<double> values = logistic.predict(rows_of(split.validation_begin, split.validation_end));
    set.rows->inputs.release(0, set.rows->inputs.size());
    return values;
}

} // namespace rekindle::trainer
