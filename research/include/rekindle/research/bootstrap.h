#pragma once
/// The stationary bootstrap: resamples a series in blocks of random length, so that its autocorrelation
/// survives.

#include <rekindle/base/error.h>
#include <rekindle/trainer/scores.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rekindle::research {

using trainer::Interval;

/// Period-by-period figures of several strategies, in rows of one period each. The caller owns the values.
struct Panel {
    std::span<const double> values;
    std::size_t strategies = 1;

    std::size_t periods() const noexcept { return values.size() / strategies; }
    double at(std::size_t period, std::size_t strategy) const noexcept {
        return values[period * strategies + strategy];
    }
};

/// The mean block length that the stationary bootstrap of a mean needs, at least 1 (Politis and White, 2004,
/// with the correction of Patton, Politis, and White, 2009). The reason why there is none: fewer than 16
/// values, or they do not vary.
Expected<double> optimal_block_length(std::span<const double> values);

/// Row numbers of one resample: blocks begin at random rows and wrap around; each row ends its block with
/// probability 1 / block_length (Politis and Romano, 1994). A resample depends only on seed and replicate.
/// Preconditions: 1 <= rows < 2^32, block_length >= 1.
std::vector<std::uint32_t> stationary_resample(std::size_t rows, double block_length, std::uint64_t seed,
                                               std::uint32_t replicate);

struct BootstrapOptions {
    double level = 0.95;     ///< of the interval
    double block_length = 0; ///< mean number of rows in a block; 0: optimal_block_length()
    std::size_t replicates = 2000;
    std::uint64_t seed = 0;
};

struct BootstrapInterval {
    Interval interval;
    double level = 0;
    double block_length = 0;
};

/// The percentile interval of a statistic of the series. It always contains the statistic of the series
/// itself. Replicates whose statistic is not finite are left out. The reason why there is none: fewer than 30
/// values, fewer than 10 blocks, values that do not vary, or hardly a replicate with a finite statistic.
Expected<BootstrapInterval>
bootstrap_interval(std::span<const double> values,
                   const std::function<double(std::span<const double>)>& statistic,
                   const BootstrapOptions& options = {});

/// Means of every strategy in every resample, in rows of one resample. All strategies use the same rows.
std::vector<double> bootstrap_means(const Panel& panel, double block_length, const BootstrapOptions& options);

} // namespace rekindle::research
