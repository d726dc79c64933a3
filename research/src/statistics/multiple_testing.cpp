#include "enough_periods.h"

#include <rekindle/research/multiple_testing.h>

#include <algorithm>
#include <cmath>
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
double shared_block_length(const Panel& panel, const BootstrapOptions& options) {
    if (options.block_length > 0)
        return options.block_length;
    double sum = 0, count = 0;
    for (std::size_t s = 0; s < panel.strategies; ++s)
        if (const Expected<double> length = optimal_block_length(column(panel, s))) {
            sum += *length;
            ++count;
        }
    return count > 0 ? sum / count : 1;
}

Expected<Studentized> studentize(const Panel& panel, const BootstrapOptions& options) {
    Studentized result;
    result.periods = panel.periods();
    result.resamples = options.replicates;
    result.block_length = shared_block_length(panel, options);
    if (auto reason = too_few_periods(result.periods, result.block_length))
        return *reason;
    const std::vector<double> all = bootstrap_means(panel, result.block_length, options);
    const auto count = static_cast<double>(options.replicates);
    for (std::size_t s = 0; s < panel.strategies; ++s) {
        double sum = 0, squares = 0;
        for (std::size_t r = 0; r < options.replicates; ++r)
            sum += all[r * panel.strategies + s];
        for (std::size_t r = 0; r < options.replicates; ++r)
            squares += std::pow(all[r * panel.strategies + s] - sum / count, 2);
        if (!(squares > 0))
            continue;
        const std::vector<double> values = column(panel, s);
        result.strategies.push_back(s);
        result.means.push_back(std::accumulate(values.begin(), values.end(), 0.0) /
                               static_cast<double>(values.size()));
        result.errors.push_back(std::sqrt(squares / (count - 1)));
    }
    if (result.strategies.empty())
        return Error("no strategy differs from the reference");
    for (std::size_t r = 0; r < options.replicates; ++r)
        for (const std::size_t s : result.strategies)
            result.replicates.push_back(all[r * panel.strategies + s]);
    return result;
}

/// The share of resamples whose largest difference from `centers` reaches the statistic.
double p_value(const Studentized& data, std::span<const double> centers, double statistic) {
    std::size_t reached = 0;
    for (std::size_t r = 0; r < data.resamples; ++r) {
        double largest = 0;
        for (std::size_t s = 0; s < centers.size(); ++s)
            largest = std::max(largest, data.difference(r, s, centers[s]));
        reached += largest >= statistic ? 1 : 0;
    }
    return static_cast<double>(reached) / static_cast<double>(data.resamples);
}

} // namespace

Expected<SuperiorAbility> superior_ability(const Panel& advantages, const BootstrapOptions& options) {
    const Expected<Studentized> studentized = studentize(advantages, options);
    if (!studentized)
        return studentized.error();
    const Studentized& data = *studentized;
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
    result.lower = p_value(data, lower, result.statistic);
    result.p_value = p_value(data, consistent, result.statistic);
    result.upper = p_value(data, data.means, result.statistic);
    result.block_length = data.block_length;
    return result;
}

Expected<std::vector<double>> stepdown_p_values(const Panel& advantages, const BootstrapOptions& options) {
    const Expected<Studentized> studentized = studentize(advantages, options);
    if (!studentized)
        return studentized.error();
    const Studentized& data = *studentized;
    std::vector<std::size_t> order(data.means.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return data.statistic(a) > data.statistic(b); });

    // The stepdown compares each strategy with the largest of itself and all weaker strategies.
    std::vector<std::size_t> reached(order.size());
    for (std::size_t r = 0; r < data.resamples; ++r) {
        double largest = -std::numeric_limits<double>::infinity();
        for (std::size_t place = order.size(); place-- > 0;) {
            const std::size_t s = order[place];
            largest = std::max(largest, data.difference(r, s, data.means[s]));
            reached[place] += largest >= data.statistic(s) ? 1 : 0;
        }
    }
    std::vector<double> result(advantages.strategies, 1.0);
    double previous = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        previous =
            std::max(previous, static_cast<double>(reached[place]) / static_cast<double>(data.resamples));
        result[data.strategies[order[place]]] = previous;
    }
    return result;
}

} // namespace rekindle::research
