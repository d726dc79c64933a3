#pragma once
/// The Sharpe ratio and how far it can be trusted: its standard error, its probabilistic and deflated forms,
/// the minimum track record length, and the aggregation of autocorrelated returns. docs/statistics.md
/// explains each in words.
///
/// All ratios are per period of the returns: a ratio of daily returns is not annualized. Returns are those
/// above the reference's; if the reference is cash, they are used unchanged. Every function is pure and
/// thread-safe.

#include <rekindle/foundation/error.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rekindle::research {

/// With fewer periods, no intervals or probabilities are given, because the formulas hold for long samples.
inline constexpr std::size_t min_judged_periods = 30;

/// The Sharpe ratio of a sample and the moments that determine its standard error.
struct SharpeEstimate {
    std::size_t periods = 0;
    double mean = 0;
    double return_std = 0; ///< divisor periods - 1
    double ratio = 0;      ///< mean / return_std
    double skewness = 0;   ///< m3 / m2^1.5, central moments with divisor `periods`
    double kurtosis = 3;   ///< m4 / m2²; 3 for a normal distribution

    /// sqrt((1 - skewness · ratio + (kurtosis - 1) / 4 · ratio²) / (periods - 1)), for independent returns
    /// that need not be normal (Mertens, 2002; Bailey and López de Prado, 2012).
    double standard_error() const noexcept;
};

/// Estimates the Sharpe ratio. Returns the reason instead if there are fewer than two periods or the returns
/// do not vary. Throws Error (usage) if a return is not finite.
Expected<SharpeEstimate> estimate_sharpe(std::span<const double> returns);

/// The probability that the true ratio exceeds `benchmark`: Φ((ratio - benchmark) / standard error) (Bailey
/// and López de Prado, "The Sharpe ratio efficient frontier", 2012).
double probabilistic_sharpe_ratio(const SharpeEstimate& estimate, double benchmark = 0) noexcept;

/// The ratio that the best of `trials` strategies without skill is expected to reach when their ratios have
/// this variance: sqrt(variance) · ((1 - γ) Φ⁻¹(1 - 1/N) + γ Φ⁻¹(1 - 1/(N e))), with γ = 0.5772… (Bailey and
/// López de Prado, "The deflated Sharpe ratio", 2014). 0 for one trial. Precondition: trials >= 1, variance
/// >= 0.
double expected_maximum_sharpe(std::size_t trials, double variance) noexcept;

/// The variance of the estimated ratio of a strategy without skill: 1 / (periods - 1). Use it if the ratios
/// of the trials are not known. Precondition: periods >= 2.
double sharpe_variance_without_skill(std::size_t periods) noexcept;

/// The deflated Sharpe ratio: the probabilistic Sharpe ratio against the best ratio that `trials` strategies
/// without skill are expected to reach. `trials` counts every setting that was tried, even if it was dropped.
double deflated_sharpe_ratio(const SharpeEstimate& estimate, std::size_t trials, double variance) noexcept;

/// The number of periods at which the probabilistic ratio against `benchmark` reaches `confidence`, if ratio,
/// skewness, and kurtosis stay as they are (Bailey and López de Prado, 2012). Returns the reason instead if
/// the ratio does not exceed the benchmark. Precondition: 0 < confidence < 1.
Expected<double> minimum_track_record_length(const SharpeEstimate& estimate, double benchmark = 0,
                                             double confidence = 0.95);

/// Autocorrelations at lags 1 to `lags`. Every autocovariance is divided by the number of returns. All are 0
/// if the returns do not vary. Precondition: lags < returns.size().
std::vector<double> autocorrelations(std::span<const double> returns, std::size_t lags);

/// The factor that converts the ratio of one period to that of q = `periods` periods:
/// q / sqrt(q + 2 Σ (q - k) ρk), summed over the given lags k < q (Lo, "The statistics of Sharpe ratios",
/// 2002). Without autocorrelation it is sqrt(q). Returns the reason instead if the autocorrelations
/// contradict each other. Precondition: periods >= 1.
Expected<double> sharpe_aggregation_factor(std::size_t periods, std::span<const double> correlations);

/// The number of lags that Newey and West (1994) recommend for this sample size: 4 (periods / 100)^(2/9),
/// rounded down.
std::size_t usual_lags(std::size_t periods) noexcept;

} // namespace rekindle::research
