#include "profile/original.h"

#include "profile/numpy_sum.h"

#include <rekindle/foundation/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rekindle::market::profile {
namespace {

/// The selected bars, in order, and the price levels that they cover.
struct OriginalSession {
    std::vector<std::size_t> bars;
    std::int64_t lowest = 0;
    std::size_t levels = 0;
    double tick = 0;

    std::size_t level(Ticks price) const noexcept { return static_cast<std::size_t>(price - lowest); }
    double points(std::size_t level) const noexcept {
        return static_cast<double>(lowest + static_cast<std::int64_t>(level)) * tick;
    }
    ProfileFigures figures(std::size_t control, std::size_t low, std::size_t high) const noexcept {
        const auto base = static_cast<double>(lowest);
        return {base + static_cast<double>(control), base + static_cast<double>(low),
                base + static_cast<double>(high)};
    }
};

OriginalSession session_of(const BarColumns& bars, std::uint16_t contract, TickSize tick) {
    OriginalSession session;
    session.tick = tick.points;
    std::int64_t highest = 0;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (contract != mixed_contracts && bars.contract[i] != contract)
            continue;
        if (session.bars.empty()) {
            session.lowest = bars.low[i];
            highest = bars.high[i];
        }
        session.lowest = std::min<std::int64_t>(session.lowest, bars.low[i]);
        highest = std::max<std::int64_t>(highest, bars.high[i]);
        session.bars.push_back(i);
    }
    session.levels = static_cast<std::size_t>(highest - session.lowest + 1);
    return session;
}

/// The first of the largest values.
template <class Real>
std::size_t first_largest(std::span<const Real> values) noexcept {
    return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

/// Levels by decreasing volume; of equal ones the lowest price first.
template <class Real>
std::vector<std::size_t> by_falling_volume(std::span<const Real> volumes) {
    std::vector<std::size_t> order(volumes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return volumes[a] > volumes[b]; });
    return order;
}

struct Taken {
    std::size_t low = 0;
    std::size_t high = 0;
};

/// Takes levels in order until their sum, of type Sum, reaches the target.
template <class Sum, class Real>
Taken take_until(std::span<const std::size_t> order, std::span<const Real> volumes, Sum target) {
    Taken taken{order.front(), order.front()};
    Sum sum = 0;
    for (const std::size_t level : order) {
        sum += static_cast<Sum>(volumes[level]);
        taken.low = std::min(taken.low, level);
        taken.high = std::max(taken.high, level);
        if (sum >= target)
            break;
    }
    return taken;
}

ProfileFigures notebook_figures(const BarColumns& bars, const OriginalSession& session, double share) {
    std::vector<double> volumes(session.levels);
    for (const std::size_t i : session.bars) {
        const std::size_t low = session.level(bars.low[i]);
        const std::size_t high = session.level(bars.high[i]);
        const double per_level = static_cast<double>(bars.volume[i]) / static_cast<double>(high - low + 1);
        for (std::size_t level = low; level <= high; ++level)
            volumes[level] += per_level;
    }
    const std::vector<std::size_t> order = by_falling_volume<double>(volumes);
    std::vector<double> falling(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
        falling[k] = volumes[order[k]];
    const auto taken = take_until<double, double>(order, volumes, numpy_sum(falling) * share);
    return session.figures(first_largest<double>(volumes), taken.low, taken.high);
}

/// Generation C's weights: 1 + the proximity to open, high, low and close, added in this order.
std::vector<double> ohlc_profile(const BarColumns& bars, const OriginalSession& session) {
    std::vector<double> volumes(session.levels);
    std::vector<double> weights;
    for (const std::size_t i : session.bars) {
        const std::size_t low = session.level(bars.low[i]);
        weights.assign(session.level(bars.high[i]) - low + 1, 1.0);
        for (const Ticks price : {bars.open[i], bars.high[i], bars.low[i], bars.close[i]})
            for (std::size_t k = 0; k < weights.size(); ++k)
                weights[k] +=
                    1.0 /
                    (1.0 + std::abs(session.points(low + k) - static_cast<double>(price) * session.tick));
        const double sum = numpy_sum(weights);
        for (std::size_t k = 0; k < weights.size(); ++k)
            volumes[low + k] += weights[k] / sum * static_cast<double>(bars.volume[i]);
    }
    return volumes;
}

/// Mean of three levels, computed like pandas' rolling mean: a running sum whose additions and removals are
/// each compensated (Kahan), and runs of three equal values returned unchanged. The two ends keep their
/// volume.
std::vector<double> rolling_mean_of_three(std::span<const double> volumes) {
    std::vector<double> means(volumes.begin(), volumes.end());
    double sum = 0;
    double added_error = 0;
    double removed_error = 0;
    std::size_t equal_run = 0;
    double previous = volumes.empty() ? 0 : volumes.front();
    const auto accumulate = [&sum](double value, double& error) {
        const double corrected = value - error;
        const double next = sum + corrected;
        error = next - sum - corrected;
        sum = next;
    };
    for (std::size_t entering = 0; entering < volumes.size(); ++entering) {
        if (entering >= 3)
            accumulate(-volumes[entering - 3], removed_error);
        accumulate(volumes[entering], added_error);
        equal_run = volumes[entering] == previous ? equal_run + 1 : 1;
        previous = volumes[entering];
        if (entering >= 2)
            means[entering - 1] = equal_run >= 3 ? previous : std::max(sum / 3, 0.0);
    }
    return means;
}

/// NumPy's linear quantile.
double quantile(std::span<const double> values, double q) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const double position = static_cast<double>(sorted.size() - 1) * q;
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double fraction = position - static_cast<double>(below);
    const double difference = sorted[above] - sorted[below];
    return fraction < 0.5 ? sorted[below] + difference * fraction
                          : sorted[above] - difference * (1 - fraction);
}

/// The level nearest to the volume-weighted mean price of the top 5 % of levels, if these are at least three
/// levels.
std::size_t cluster_control(const OriginalSession& session, std::span<const double> smoothed) {
    const double threshold = quantile(smoothed, 0.95);
    std::vector<double> weights;
    std::vector<double> weighted_prices;
    for (std::size_t level = 0; level < smoothed.size(); ++level)
        if (smoothed[level] >= threshold) {
            weights.push_back(smoothed[level]);
            weighted_prices.push_back(session.points(level) * smoothed[level]);
        }
    if (weights.size() < 3)
        return first_largest<double>(smoothed);
    const double mean = numpy_sum(weighted_prices) / numpy_sum(weights);
    std::size_t nearest = 0;
    for (std::size_t level = 1; level < smoothed.size(); ++level)
        if (std::abs(session.points(level) - mean) < std::abs(session.points(nearest) - mean))
            nearest = level;
    return nearest;
}

ProfileFigures cpu_figures(const BarColumns& bars, const OriginalSession& session, double share) {
    const std::vector<double> smoothed = rolling_mean_of_three(ohlc_profile(bars, session));
    const double target = numpy_sum(smoothed) * share;
    Taken area{first_largest<double>(smoothed), first_largest<double>(smoothed)};
    double sum = smoothed[area.low];
    while (sum < target && (area.high + 1 < smoothed.size() || area.low > 0)) {
        const bool can_rise = area.high + 1 < smoothed.size();
        const double upper = can_rise ? smoothed[area.high + 1] : 0;
        const double lower = area.low > 0 ? smoothed[area.low - 1] : 0;
        if (can_rise && upper >= lower) {
            ++area.high;
            sum += upper;
        } else if (area.low > 0) {
            --area.low;
            sum += lower;
        } else {
            break;
        }
    }
    return session.figures(cluster_control(session, smoothed), area.low, area.high);
}

/// Generation G's profile of the bars [begin, end) of the session, all in float32.
void add_gpu_chunk(const BarColumns& bars, const OriginalSession& session, std::size_t begin, std::size_t end,
                   std::span<float> volumes) {
    std::vector<float> weights;
    for (std::size_t b = begin; b < end; ++b) {
        const std::size_t i = session.bars[b];
        const std::size_t low = session.level(bars.low[i]);
        const auto close = static_cast<float>(static_cast<double>(bars.close[i]) * session.tick);
        weights.resize(session.level(bars.high[i]) - low + 1);
        float sum = 0;
        for (std::size_t k = 0; k < weights.size(); ++k) {
            const float distance = std::abs(static_cast<float>(session.points(low + k)) - close);
            weights[k] = 1.0F / (1.0F + distance) + 1.0F;
            sum += weights[k];
        }
        for (std::size_t k = 0; k < weights.size(); ++k)
            volumes[low + k] += weights[k] / sum * static_cast<float>(bars.volume[i]);
    }
}

std::vector<float> gpu_profile(const BarColumns& bars, const OriginalSession& session,
                               std::size_t chunk_bars) {
    std::vector<float> volumes(session.levels);
    add_gpu_chunk(bars, session, 0, std::min(chunk_bars, session.bars.size()), volumes);
    std::vector<float> chunk;
    for (std::size_t begin = chunk_bars; begin < session.bars.size(); begin += chunk_bars) {
        chunk.assign(session.levels, 0.0F);
        add_gpu_chunk(bars, session, begin, std::min(begin + chunk_bars, session.bars.size()), chunk);
        for (std::size_t level = 0; level < chunk.size(); ++level)
            volumes[level] += chunk[level];
    }
    return volumes;
}

/// In the original, longer sessions pass through a table of doubles and shorter ones stay in float32.
template <class Sum>
Taken gpu_area(std::span<const float> volumes, double share) {
    Sum total = 0;
    for (const float volume : volumes)
        total += static_cast<Sum>(volume);
    return take_until<Sum, float>(by_falling_volume<float>(volumes), volumes,
                                  total * static_cast<Sum>(share));
}

ProfileFigures gpu_figures(const BarColumns& bars, const OriginalSession& session,
                           const ProfileRules& rules) {
    constexpr std::size_t max_bars_in_one_piece = 1000;
    const bool in_chunks = session.bars.size() > max_bars_in_one_piece;
    const std::size_t chunk =
        in_chunks ? std::max<std::size_t>(rules.gpu_chunk_bars, 1) : max_bars_in_one_piece;
    const std::vector<float> volumes = gpu_profile(bars, session, chunk);
    const Taken area = in_chunks ? gpu_area<double>(volumes, rules.value_area_share)
                                 : gpu_area<float>(volumes, rules.value_area_share);
    return session.figures(first_largest<float>(volumes), area.low, area.high);
}

} // namespace

ProfileFigures original_figures(const BarColumns& bars, std::uint16_t contract, TickSize tick,
                                const ProfileRules& rules) {
    const OriginalSession session = session_of(bars, contract, tick);
    switch (rules.compatibility) {
    case Compatibility::notebook:
        return notebook_figures(bars, session, rules.value_area_share);
    case Compatibility::cpu:
        return cpu_figures(bars, session, rules.value_area_share);
    case Compatibility::gpu:
        return gpu_figures(bars, session, rules);
    case Compatibility::none:
        break;
    }
    throw internal_error("original_figures() without a generation");
}

} // namespace rekindle::market::profile
