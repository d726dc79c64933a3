#include "enough_periods.h"

#include <rekindle/research/multiple_testing.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace rekindle::research {

namespace {

/// The strategies that differ from the reference, with their studentized means and bootstrap means.
struct Studentized {
    std::vector<std::size_t> strategies; ///< their columns in the panel
    std::vector<double> means, errors;   ///< per strategy: the mean advantage and its standard error
    std::vector<double> replicates;      ///< bootstrap means, one row per resample
    std::size_t resamples = 0, periods = 0;
    double block_length = 0;

    double statistic(std::size_t s) const { return means[s] / errors[s]; }
    /// A resample's mean minus `center`, in standard errors.
    double difference(std::size_t resample, std::size_t s, double center) const {
        return (replicates[resample * strategies.size() + s] - center) / errors[s];
    }
};

std::vector<double> column(const Panel& panel, std::size_t strategy) {
    std::vector<double> values(panel.periods());
    for (std::size_t period = 0; period < values.size(); ++period)
        values[period] = panel.at(period, strategy);
    return values;
}

/// The block length for all strategies: the mean of their optimal block lengths.
double shared_block_length(const Panel& panel, const BootstrapOptions& options, ThreadPool& pool) {
    if (options.block_length > 0)
        return options.block_length;
    std::vector<std::optional<double>> lengths(panel.strategies);
    pool.for_each(lengths.size(), [&](std::size_t s) {
        if (const Expected<double> length = optimal_block_length(column(panel, s)))
            lengths[s] = *length;
    });
    double sum = 0, count = 0;
    for (const auto& length : lengths)
        if (length) {
            sum += *length;
            ++count;
        }
    return count > 0 ? sum / count : 1;
}

/// Per strategy: the std of its bootstrap means; 0 if they do not vary.
std::vector<double> standard_errors(std::span<const double> means, std::size_t strategies) {
    const auto count = static_cast<double>(means.size() / strategies);
    std::vector<double> centers(strategies), errors(strategies);
    for (std::size_t i = 0; i < means.size(); i += strategies)
        for (std::size_t s = 0; s < strategies; ++s)
            centers[s] += means[i + s];
    for (double& center : centers)
        center /= count;
    for (std::size_t i = 0; i < means.size(); i += strategies)
        for (std::size_t s = 0; s < strategies; ++s) {
            const double difference = means[i + s] - centers[s];
            errors[s] += difference * difference;
        }
    for (double& error : errors)
        error = std::sqrt(error / (count - 1));
    return errors;
}

/// Keeps only these columns of a table with `width` columns.
void keep_columns(std::vector<double>& table, std::size_t width, std::span<const std::size_t> columns) {
    std::size_t kept = 0;
    for (std::size_t row = 0; row < table.size(); row += width)
        for (const std::size_t column : columns)
            table[kept++] = table[row + column];
    table.resize(kept);
}

Expected<Studentized> studentize(const Panel& panel, const BootstrapOptions& options, ThreadPool& pool) {
    Studentized result;
    result.periods = panel.periods();
    result.resamples = options.replicates;
    result.block_length = shared_block_length(panel, options, pool);
    if (auto reason = too_few_periods(result.periods, result.block_length))
        return *reason;
    result.replicates = bootstrap_means(panel, result.block_length, options, pool);
    const std::vector<double> errors = standard_errors(result.replicates, panel.strategies);
    for (std::size_t s = 0; s < panel.strategies; ++s) {
        if (!(errors[s] > 0))
            continue;
        const std::vector<double> values = column(panel, s);
        result.strategies.push_back(s);
        result.means.push_back(std::accumulate(values.begin(), values.end(), 0.0) /
                               static_cast<double>(values.size()));
        result.errors.push_back(errors[s]);
    }
    if (result.strategies.empty())
        return Error("no strategy differs from the reference");
    if (result.strategies.size() < panel.strategies)
        keep_columns(result.replicates, panel.strategies, result.strategies);
    return result;
}

/// The share of resamples whose largest difference from `centers` reaches the statistic.
double p_value(const Studentized& data, std::span<const double> centers, double statistic, ThreadPool& pool) {
    std::vector<std::uint8_t> reached(data.resamples);
    pool.for_each(data.resamples, [&](std::size_t r) {
        double largest = 0;
        for (std::size_t s = 0; s < centers.size(); ++s)
            largest = std::max(largest, data.difference(r, s, centers[s]));
        reached[r] = largest >= statistic ? 1 : 0;
    });
    return static_cast<double>(std::ranges::count(reached, 1)) / static_cast<double>(data.resamples);
}

SuperiorAbility superior_ability(const Studentized& data, ThreadPool& pool) {
    const double hopeless = -std::sqrt(2 * std::log(std::log(static_cast<double>(data.periods))));
    std::vector<double> lower = data.means, consistent = data.means;
    std::size_t best = 0;
    for (std::size_t s = 0; s < data.means.size(); ++s) {
        lower[s] = std::max(lower[s], 0.0);
        if (data.statistic(s) < hopeless)
            consistent[s] = 0;
        if (data.statistic(s) > data.statistic(best))
            best = s;
    }
    SuperiorAbility result;
    result.statistic = std::max(0.0, data.statistic(best));
    result.best = data.strategies[best];
    result.lower = p_value(data, lower, result.statistic, pool);
    result.p_value = p_value(data, consistent, result.statistic, pool);
    result.upper = p_value(data, data.means, result.statistic, pool);
    result.block_length = data.block_length;
    return result;
}

/// How many resamples reach each strategy's statistic, by its place in `order` (the best first). A strategy
/// is compared with the largest of itself and all weaker ones.
std::vector<std::size_t> resamples_that_reach(const Studentized& data, std::span<const std::size_t> order,
                                              ThreadPool& pool) {
    std::vector<std::vector<std::size_t>> parts(pool.size(), std::vector<std::size_t>(order.size()));
    pool.for_each(parts.size(), [&](std::size_t part) {
        for (std::size_t r = part; r < data.resamples; r += parts.size()) {
            double largest = -std::numeric_limits<double>::infinity();
            for (std::size_t place = order.size(); place-- > 0;) {
                const std::size_t s = order[place];
                largest = std::max(largest, data.difference(r, s, data.means[s]));
                parts[part][place] += largest >= data.statistic(s) ? 1 : 0;
            }
        }
    });
    std::vector<std::size_t> reached(order.size());
    for (const auto& part : parts)
        std::ranges::transform(reached, part, reached.begin(), std::plus<>());
    return reached;
}

/// One p-value for each of `strategies` strategies.
std::vector<double> stepdown_p_values(const Studentized& data, std::size_t strategies, ThreadPool& pool) {
    std::vector<std::size_t> order(data.means.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return data.statistic(a) > data.statistic(b); });
    const std::vector<std::size_t> reached = resamples_that_reach(data, order, pool);
    std::vector<double> result(strategies, 1.0);
    double previous = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        previous =
            std::max(previous, static_cast<double>(reached[place]) / static_cast<double>(data.resamples));
        result[data.strategies[order[place]]] = previous;
    }
    return result;
}

} // namespace

Expected<StrategyTests> test_strategies(const Panel& advantages, const BootstrapOptions& options,
                                        ThreadPool& pool) {
    const Expected<Studentized> data = studentize(advantages, options, pool);
    if (!data)
        return data.error();
    return StrategyTests{superior_ability(*data, pool),
                         stepdown_p_values(*data, advantages.strategies, pool)};
}

} // namespace rekindle::research
