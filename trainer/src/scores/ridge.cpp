#include "standard_rows.h"
#include "symmetric_eigen.h"

#include <rekindle/trainer/ridge.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rekindle::trainer {

namespace {

/// Ridge regression in the eigenbasis of X'X, where each further penalty costs only divisions.
struct Diagonalized {
    SymmetricEigen eigen;            ///< of X'X
    std::vector<double> correlation; ///< V'X'y

    explicit Diagonalized(StandardRows& rows) : correlation(rows.columns()) {
        const std::size_t columns = rows.columns();
        std::vector<double> gram(columns * columns), products(columns);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto x = rows.row(i);
            const double y = rows.centered_target(i);
            for (std::size_t j = 0; j < columns; ++j) {
                products[j] += x[j] * y;
                for (std::size_t k = j; k < columns; ++k)
                    gram[j * columns + k] += x[j] * x[k];
            }
        }
        for (std::size_t j = 0; j < columns; ++j)
            for (std::size_t k = 0; k < j; ++k)
                gram[j * columns + k] = gram[k * columns + j];
        eigen = symmetric_eigen(std::move(gram), columns);
        for (double& value : eigen.values)
            value = std::max(0.0, value); // of collinear columns, up to rounding
        rotate(products, correlation);
    }

    /// z = V'x
    void rotate(std::span<const double> x, std::span<double> z) const {
        std::fill(z.begin(), z.end(), 0.0);
        for (std::size_t j = 0; j < x.size(); ++j)
            for (std::size_t k = 0; k < x.size(); ++k)
                z[k] += eigen.vectors[j * x.size() + k] * x[j];
    }
    /// The coefficients of the standardized inputs.
    std::vector<double> solution(double penalty) const {
        const std::size_t columns = correlation.size();
        std::vector<double> result(columns);
        for (std::size_t j = 0; j < columns; ++j)
            for (std::size_t k = 0; k < columns; ++k)
                result[j] += eigen.vectors[j * columns + k] * correlation[k] / (eigen.values[k] + penalty);
        return result;
    }
};

/// Mean squared leave-one-out errors: each residual divided by 1 - h, where h is the row's own weight in its
/// prediction, is the error of the regression without that row.
std::vector<double> leave_one_out(StandardRows& rows, const Diagonalized& problem,
                                  std::span<const double> penalties) {
    const auto count = static_cast<double>(rows.size());
    const std::size_t columns = rows.columns();
    std::vector<double> inverse(penalties.size() * columns), errors(penalties.size()), z(columns);
    for (std::size_t p = 0; p < penalties.size(); ++p)
        for (std::size_t k = 0; k < columns; ++k)
            inverse[p * columns + k] = 1 / (problem.eigen.values[k] + penalties[p]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        problem.rotate(rows.row(i), z);
        for (std::size_t p = 0; p < penalties.size(); ++p) {
            double residual = rows.centered_target(i), others = 1 - 1 / count;
            for (std::size_t k = 0; k < columns; ++k) {
                const double weighted = z[k] * inverse[p * columns + k];
                residual -= weighted * problem.correlation[k];
                others -= weighted * z[k];
            }
            const double error = residual / std::max(others, std::numeric_limits<double>::epsilon());
            errors[p] += error * error / count;
        }
    }
    return errors;
}

} // namespace

std::vector<double> ridge_penalties(std::size_t rows) {
    std::vector<double> penalties;
    for (int half_decade = -12; half_decade <= 8; ++half_decade)
        penalties.push_back(static_cast<double>(rows) * std::pow(10.0, half_decade / 2.0));
    return penalties;
}

Ridge Ridge::fit(const RidgeRows& rows) {
    return fit(rows, ridge_penalties(rows.targets.size()));
}

Ridge Ridge::fit(const RidgeRows& rows, std::span<const double> penalties) {
    StandardRows standard(rows);
    const Diagonalized problem(standard);
    Ridge ridge;
    ridge.errors_ = leave_one_out(standard, problem, penalties);
    std::size_t best = 0;
    for (std::size_t p = 1; p < penalties.size(); ++p)
        if (ridge.errors_[p] < ridge.errors_[best] ||
            (ridge.errors_[p] == ridge.errors_[best] && penalties[p] > penalties[best]))
            best = p;
    ridge.penalty_ = penalties[best];
    ridge.coefficients_ = problem.solution(ridge.penalty_);
    ridge.intercept_ = standard.target_mean();
    for (std::size_t j = 0; j < rows.columns; ++j) {
        ridge.coefficients_[j] *= standard.inverse_std(j);
        ridge.intercept_ -= ridge.coefficients_[j] * standard.mean(j);
    }
    return ridge;
}

std::vector<double> Ridge::predict(std::span<const float> inputs) const {
    const std::size_t columns = coefficients_.size();
    std::vector<double> values(inputs.size() / columns, intercept_);
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = 0; j < columns; ++j)
            values[i] += coefficients_[j] * static_cast<double>(inputs[i * columns + j]);
    return values;
}

std::vector<double> ridge_predictions(const Dataset& set) {
    const std::size_t columns = set.matrix.columns();
    const market::Split& split = set.split;
    const std::span<const float> inputs(set.rows->inputs);
    const auto rows_of = [&](std::size_t begin, std::size_t end) {
        return inputs.subspan(begin * columns, (end - begin) * columns);
    };
    // Returns of several instruments are learned in their own scale, as the network learns them.
    const bool several = !set.instruments.empty();
    const std::span<const float> targets(several ? set.rows->targets : set.targets.values);
    const Ridge ridge = Ridge::fit({rows_of(split.train_begin, split.train_end), columns,
                                    targets.subspan(split.train_begin, split.train_end - split.train_begin)});
    std::vector<double> values = ridge.predict(rows_of(split.validation_begin, split.validation_end));
    for (std::size_t i = 0; i < values.size() && several; ++i)
        values[i] = set.meaning_of(split.validation_begin + i).outcome(values[i]);
    set.rows->inputs.release(0, set.rows->inputs.size());
    return values;
}

} // namespace rekindle::trainer
