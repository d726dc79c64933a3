#pragma once
/// The stationary bootstrap: resamples a series in blocks of random length to preserve its autocorrelation.

#include <rekindle/base/thread_pool.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/scores.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rekindle::research {

using trainer::Interval;

/// The returns of several strategies, one row per period. The caller owns the values.
struct Panel {
    std::span<const double> values;
    std::size_t strategies = 1;

    std::size_t periods() const noexcept { return values.size() / strategies; }
    double at(std::size_t period, std::size_t strategy) const noexcept {
        return values[period * strategies + strategy];
    }
};

/// The optimal mean block length for the stationary bootstrap of a mean, at least 1 (Politis and White, 2004,
/// with the correction of Patton, Politis, and White, 2009). Returns the reason instead if there are fewer
/// than 16 values or the values do not vary.
Expected<double> optimal_block_length(std::span<const double> values);

/// Row numbers of one resample. Blocks begin at random rows and wrap around, and each row ends its block with
/// probability 1 / block_length (Politis and Romano, 1994). For given rows and block length, a resample
/// depends only on seed and replicate.
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

/// The percentile interval of a statistic of the series, extended if necessary to contain the statistic of
/// the series itself. Ignores replicates whose statistic is not finite. Returns the reason instead if there
/// are fewer than 30 values or 10 blocks, if the values do not vary, or if too few replicates have a finite
/// statistic.
Expected<BootstrapInterval>
bootstrap_interval(std::span<const double> values,
                   const std::function<double(std::span<const double>)>& statistic,
                   const BootstrapOptions& options = {});

/// The mean of every strategy in every resample, one row per resample. All strategies are resampled together.
std::vector<double> bootstrap_means(const Panel& panel, double block_length, const BootstrapOptions& options,
                                    ThreadPool& pool);

} // namespace rekindle::research
