#include "normal.h"

#include <rekindle/base/text.h>
#include <rekindle/research/sharpe.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace rekindle::research {

namespace {

/// n times the variance of an estimated ratio. The moments of any sample give at least 0, so rounding errors
/// below 0 are cut off.
double variance_term(const SharpeEstimate& estimate) noexcept {
    const double ratio = estimate.ratio;
    return std::max(0.0, 1 - estimate.skewness * ratio + (estimate.kurtosis - 1) / 4 * ratio * ratio);
}

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace

double SharpeEstimate::standard_error() const noexcept {
    return std::sqrt(variance_term(*this) / static_cast<double>(periods - 1));
}

Expected<SharpeEstimate> estimate_sharpe(std::span<const double> returns) {
    if (!std::ranges::all_of(returns, [](double value) { return std::isfinite(value); }))
        throw usage_error("a return is not a finite number");
    if (returns.size() < 2)
        return Error("a Sharpe ratio needs at least two periods");
    SharpeEstimate estimate{.periods = returns.size(), .mean = mean_of(returns)};
    const auto count = static_cast<double>(returns.size());
    double second = 0, third = 0, fourth = 0, largest = 0;
    for (const double value : returns) {
        const double difference = value - estimate.mean, square = difference * difference;
        second += square;
        third += square * difference;
        fourth += square * square;
        largest = std::max(largest, std::abs(value));
    }
    // The values of a constant series differ only by rounding.
    if (second / count <= std::pow(1e-14 * largest, 2))
        return Error("the returns do not vary, so they have no Sharpe ratio");
    const double variance = second / count;
    estimate.return_std = std::sqrt(second / (count - 1));
    estimate.ratio = estimate.mean / estimate.return_std;
    estimate.skewness = third / count / std::pow(variance, 1.5);
    estimate.kurtosis = fourth / count / (variance * variance);
    return estimate;
}

double probabilistic_sharpe_ratio(const SharpeEstimate& estimate, double benchmark) noexcept {
    const double error = estimate.standard_error();
    const double above = estimate.ratio - benchmark;
    if (error == 0)
        return above > 0 ? 1 : above < 0 ? 0 : 0.5;
    return normal_distribution(above / error);
}

double expected_maximum_sharpe(std::size_t trials, double variance) noexcept {
    if (trials < 2)
        return 0;
    const auto count = static_cast<double>(trials);
    // Uses Φ⁻¹(1 - x) = -Φ⁻¹(x), because 1 - x loses digits for many trials.
    return -std::sqrt(variance) * ((1 - std::numbers::egamma) * normal_quantile(1 / count) +
                                   std::numbers::egamma * normal_quantile(1 / (count * std::numbers::e)));
}

double sharpe_variance_without_skill(std::size_t periods) noexcept {
    return 1 / static_cast<double>(periods - 1);
}

double deflated_sharpe_ratio(const SharpeEstimate& estimate, std::size_t trials, double variance) noexcept {
    return probabilistic_sharpe_ratio(estimate, expected_maximum_sharpe(trials, variance));
}

Expected<double> minimum_track_record_length(const SharpeEstimate& estimate, double benchmark,
                                             double confidence) {
    const double above = estimate.ratio - benchmark;
    if (!(above > 0))
        return Error("the Sharpe ratio does not exceed the benchmark, so no track record is long enough");
    return 1 + variance_term(estimate) * std::pow(normal_quantile(confidence) / above, 2);
}

std::vector<double> autocorrelations(std::span<const double> returns, std::size_t lags) {
    const double mean = mean_of(returns);
    const auto covariance = [&](std::size_t lag) {
        double sum = 0;
        for (std::size_t i = lag; i < returns.size(); ++i)
            sum += (returns[i] - mean) * (returns[i - lag] - mean);
        return sum;
    };
    const double total = covariance(0);
    std::vector<double> result(lags);
    for (std::size_t lag = 1; lag <= lags && total > 0; ++lag)
        result[lag - 1] = covariance(lag) / total;
    return result;
}

Expected<double> sharpe_aggregation_factor(std::size_t periods, std::span<const double> correlations) {
    const auto q = static_cast<double>(periods);
    double variance = q;
    for (std::size_t lag = 1; lag < periods && lag <= correlations.size(); ++lag)
        variance += 2 * (q - static_cast<double>(lag)) * correlations[lag - 1];
    if (!(variance > 0))
        return Error("the autocorrelations contradict each other: the variance of the sum is not positive");
    return q / std::sqrt(variance);
}

std::size_t usual_lags(std::size_t periods) noexcept {
    return static_cast<std::size_t>(4 * std::pow(static_cast<double>(periods) / 100, 2.0 / 9));
}

} // namespace rekindle::research
