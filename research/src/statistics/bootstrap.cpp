#include "enough_periods.h"

#include <rekindle/base/philox.h>
#include <rekindle/base/text.h>
#include <rekindle/research/bootstrap.h>
#include <rekindle/research/sharpe.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace rekindle::research {

namespace {

constexpr double min_blocks = 10;

double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const double next = sorted[std::min(below + 1, sorted.size() - 1)];
    return sorted[below] + (place - static_cast<double>(below)) * (next - sorted[below]);
}

/// Strategies whose sums stay in registers while a resample is read.
constexpr std::size_t summed_together = 16;
using StrategyGroup = std::array<double, summed_together>;

/// A period that a resample contains, and how often.
struct DrawnPeriod {
    std::size_t period;
    double times;
};

std::vector<DrawnPeriod> drawn_periods(const std::vector<std::uint32_t>& resample) {
    std::vector<double> times(resample.size());
    for (const std::uint32_t period : resample)
        times[period] += 1;
    std::vector<DrawnPeriod> drawn;
    for (std::size_t period = 0; period < times.size(); ++period)
        if (times[period] > 0)
            drawn.push_back({period, times[period]});
    return drawn;
}

/// A copy of `count` strategies without gaps between periods, padded with zeros.
std::vector<StrategyGroup> columns_of(const Panel& panel, std::size_t first, std::size_t count) {
    std::vector<StrategyGroup> rows(panel.periods());
    for (std::size_t period = 0; period < rows.size(); ++period)
        for (std::size_t s = 0; s < count; ++s)
            rows[period][s] = panel.at(period, first + s);
    return rows;
}

} // namespace

std::optional<Error> too_few_periods(std::size_t periods, double block_length) {
    if (periods < min_judged_periods)
        return Error(fmt::format("{} are too few: an interval needs {}", counted(periods, "period"),
                                 min_judged_periods));
    if (static_cast<double>(periods) < min_blocks * block_length)
        return Error(
            fmt::format("{} that depend on each other over about {:.0f} periods form fewer than {:.0f} "
                        "independent blocks",
                        counted(periods, "period"), block_length, min_blocks));
    return std::nullopt;
}

Expected<double> optimal_block_length(std::span<const double> values) {
    const std::size_t count = values.size();
    if (count < 16)
        return Error("a block length needs at least 16 values");
    const auto n = static_cast<double>(count);
    const auto consecutive = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(n)))));
    const std::size_t most =
        std::min(static_cast<std::size_t>(std::ceil(std::sqrt(n))) + consecutive, count - 1);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double variance = 0;
    for (const double value : values)
        variance += (value - mean) * (value - mean) / n;
    if (!(variance > 0))
        return Error("the values do not vary, so they have no block length");
    const std::vector<double> correlation = autocorrelations(values, most); // element k - 1 is that of lag k

    // The smallest lag after which `consecutive` autocorrelations are all insignificant.
    const double insignificant = 2 * std::sqrt(std::log10(n) / n);
    std::size_t bandwidth = most;
    for (std::size_t lag = 0; lag + consecutive <= most; ++lag)
        if (std::all_of(correlation.begin() + static_cast<std::ptrdiff_t>(lag),
                        correlation.begin() + static_cast<std::ptrdiff_t>(lag + consecutive),
                        [&](double value) { return std::abs(value) < insignificant; })) {
            bandwidth = std::min(2 * std::max<std::size_t>(lag, 1), most);
            break;
        }
    double slope = 0, spectrum = variance;
    for (std::size_t lag = 1; lag <= bandwidth; ++lag) {
        const double share = static_cast<double>(lag) / static_cast<double>(bandwidth);
        const double window = share <= 0.5 ? 1 : 2 * (1 - share);
        slope += 2 * window * static_cast<double>(lag) * variance * correlation[lag - 1];
        spectrum += 2 * window * variance * correlation[lag - 1];
    }
    const double longest = std::ceil(std::min(3 * std::sqrt(n), n / 3));
    if (!(spectrum > 0))
        return longest;
    return std::clamp(std::cbrt(slope * slope / (spectrum * spectrum) * n), 1.0, longest);
}

std::vector<std::uint32_t> stationary_resample(std::size_t rows, double block_length, std::uint64_t seed,
                                               std::uint32_t replicate) {
    // Index 1, because trainer's bootstrap uses index 0 of this purpose.
    PhiloxStream random(seed, RandomPurpose::bootstrap, replicate, 1);
    const auto bound = static_cast<std::uint32_t>(rows);
    const double ends = 1 / block_length;
    std::vector<std::uint32_t> drawn(rows);
    std::uint32_t row = random.next_below(bound);
    for (std::uint32_t& place : drawn) {
        place = row;
        if (random.next_double() < ends)
            row = random.next_below(bound);
        else
            row = row + 1 == bound ? 0 : row + 1;
    }
    return drawn;
}

Expected<BootstrapInterval>
bootstrap_interval(std::span<const double> values,
                   const std::function<double(std::span<const double>)>& statistic,
                   const BootstrapOptions& options) {
    if (auto reason = too_few_periods(values.size(), options.block_length))
        return *reason;
    double length = options.block_length;
    if (length == 0) {
        const Expected<double> optimal = optimal_block_length(values);
        if (!optimal)
            return optimal.error();
        length = *optimal;
        if (auto reason = too_few_periods(values.size(), length))
            return *reason;
    }
    std::vector<double> results, resample(values.size());
    for (std::uint32_t replicate = 0; replicate < options.replicates; ++replicate) {
        const auto rows = stationary_resample(values.size(), length, options.seed, replicate);
        std::ranges::transform(rows, resample.begin(), [&](std::uint32_t row) { return values[row]; });
        if (const double result = statistic(resample); std::isfinite(result))
            results.push_back(result);
    }
    if (2 * results.size() < options.replicates || results.empty())
        return Error("the statistic is not defined for most resamples of these values");
    std::ranges::sort(results);
    const double tail = (1 - options.level) / 2;
    const Interval interval{quantile(results, tail), quantile(results, 1 - tail)};
    const double own = statistic(values);
    return BootstrapInterval{std::isfinite(own) ? interval.including(own) : interval, options.level, length};
}

std::vector<double> bootstrap_means(const Panel& panel, double block_length, const BootstrapOptions& options,
                                    ThreadPool& pool) {
    const std::size_t periods = panel.periods(), strategies = panel.strategies;
    std::vector<std::vector<DrawnPeriod>> resamples(options.replicates);
    pool.for_each(resamples.size(), [&](std::size_t r) {
        resamples[r] = drawn_periods(
            stationary_resample(periods, block_length, options.seed, static_cast<std::uint32_t>(r)));
    });
    std::vector<double> means(options.replicates * strategies);
    pool.for_each((strategies + summed_together - 1) / summed_together, [&](std::size_t group) {
        const std::size_t first = group * summed_together;
        const std::size_t count = std::min(summed_together, strategies - first);
        const std::vector<StrategyGroup> rows = columns_of(panel, first, count);
        for (std::size_t r = 0; r < resamples.size(); ++r) {
            StrategyGroup sums{};
            for (const DrawnPeriod& drawn : resamples[r])
                for (std::size_t s = 0; s < summed_together; ++s)
                    sums[s] += drawn.times * rows[drawn.period][s];
            for (std::size_t s = 0; s < count; ++s)
                means[r * strategies + first + s] = sums[s] / static_cast<double>(periods);
        }
    });
    return means;
}

} // namespace rekindle::research
