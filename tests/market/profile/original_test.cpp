#include "random_bars.h"

#include <rekindle/market/volume_profile.h>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

namespace rekindle::market {
namespace {

using fixtures::metadata;
using fixtures::random_bars;

constexpr double tick_points = 0.25;

struct PointBar {
    double open, high, low, close, volume;
};

/// Figures in points.
struct Figures {
    double control, low, high;
};

/// A profile with floating-point prices, as in the original.
template <class Real>
struct Profile {
    std::vector<double> prices;
    std::vector<Real> volumes;
};

template <class Real>
Profile<Real> empty_profile(const std::vector<PointBar>& bars) {
    double low = bars[0].low;
    double high = bars[0].high;
    for (const PointBar& bar : bars) {
        low = std::min({low, bar.low, bar.open, bar.close});
        high = std::max({high, bar.high, bar.open, bar.close});
    }
    low = std::floor(low / tick_points) * tick_points;
    high = std::ceil(high / tick_points) * tick_points;
    Profile<Real> profile;
    for (double price = low; price <= high; price += tick_points)
        profile.prices.push_back(price);
    profile.volumes.resize(profile.prices.size());
    return profile;
}

std::vector<std::size_t> covered(const std::vector<double>& prices, const PointBar& bar) {
    std::vector<std::size_t> levels;
    for (std::size_t i = 0; i < prices.size(); ++i)
        if (prices[i] >= std::min({bar.open, bar.close, bar.low}) &&
            prices[i] <= std::max({bar.open, bar.close, bar.high}))
            levels.push_back(i);
    return levels;
}

/// Takes the remaining level with the most volume, the first of equal ones, until the target is reached.
template <class Sum, class Real>
Figures greedy_figures(const Profile<Real>& profile, Sum target) {
    std::vector<bool> used(profile.prices.size());
    Figures figures{0, 0, 0};
    Sum sum = 0;
    for (std::size_t taken = 0; taken < used.size(); ++taken) {
        std::size_t best = used.size();
        for (std::size_t i = 0; i < used.size(); ++i)
            if (!used[i] && (best == used.size() || profile.volumes[i] > profile.volumes[best]))
                best = i;
        used[best] = true;
        const double price = profile.prices[best];
        if (taken == 0)
            figures = {price, price, price};
        figures.low = std::min(figures.low, price);
        figures.high = std::max(figures.high, price);
        sum += static_cast<Sum>(profile.volumes[best]);
        if (sum >= target)
            break;
    }
    return figures;
}

Figures notebook_reference(const std::vector<PointBar>& bars) {
    Profile<double> profile = empty_profile<double>(bars);
    for (const PointBar& bar : bars) {
        const auto levels = covered(profile.prices, bar);
        for (const std::size_t level : levels)
            profile.volumes[level] += bar.volume / static_cast<double>(levels.size());
    }
    double total = 0;
    for (const double volume : profile.volumes)
        total += volume;
    return greedy_figures<double>(profile, total * 0.7);
}

Figures cpu_reference(const std::vector<PointBar>& bars) {
    Profile<double> profile = empty_profile<double>(bars);
    for (const PointBar& bar : bars) {
        const auto levels = covered(profile.prices, bar);
        std::map<std::size_t, double> weights;
        double sum = 0;
        for (const std::size_t level : levels) {
            weights[level] = 1;
            for (const double price : {bar.open, bar.high, bar.low, bar.close})
                weights[level] += 1 / (1 + std::abs(profile.prices[level] - price));
            sum += weights[level];
        }
        for (const std::size_t level : levels)
            profile.volumes[level] += weights[level] / sum * bar.volume;
    }
    const std::size_t count = profile.volumes.size();
    std::vector<double> smooth = profile.volumes;
    for (std::size_t i = 1; i + 1 < count; ++i)
        smooth[i] = (profile.volumes[i - 1] + profile.volumes[i] + profile.volumes[i + 1]) / 3;
    std::vector<double> sorted = smooth;
    std::sort(sorted.begin(), sorted.end());
    const double position = 0.95 * static_cast<double>(count - 1);
    const auto below = static_cast<std::size_t>(std::floor(position));
    const double next = sorted[std::min(below + 1, count - 1)];
    const double threshold = sorted[below] + (position - std::floor(position)) * (next - sorted[below]);
    double weight = 0;
    double weighted = 0;
    int levels = 0;
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        total += smooth[i];
        if (smooth[i] >= threshold) {
            ++levels;
            weight += smooth[i];
            weighted += smooth[i] * profile.prices[i];
        }
    }
    std::size_t highest = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (smooth[i] > smooth[highest])
            highest = i;
    double control = profile.prices[highest];
    if (levels >= 3) {
        const double mean = weighted / weight;
        control = profile.prices[0];
        for (const double price : profile.prices)
            if (std::abs(price - mean) < std::abs(control - mean))
                control = price;
    }
    std::size_t low = highest;
    std::size_t high = highest;
    double sum = smooth[highest];
    while (sum < total * 0.7 && (low > 0 || high + 1 < count)) {
        const double above = high + 1 < count ? smooth[high + 1] : -1;
        const double under = low > 0 ? smooth[low - 1] : -1;
        sum += std::max(above, under);
        if (above >= under)
            ++high;
        else
            --low;
    }
    return {control, profile.prices[low], profile.prices[high]};
}

Figures gpu_reference(const std::vector<PointBar>& bars, std::size_t chunk_bars) {
    const std::size_t step = bars.size() > 1000 ? chunk_bars : bars.size();
    std::map<double, float> merged;
    for (std::size_t begin = 0; begin < bars.size(); begin += step) {
        const std::vector<PointBar> chunk(
            bars.begin() + static_cast<std::ptrdiff_t>(begin),
            bars.begin() + static_cast<std::ptrdiff_t>(std::min(begin + step, bars.size())));
        Profile<float> profile = empty_profile<float>(chunk);
        for (const PointBar& bar : chunk) {
            std::map<std::size_t, float> weights;
            float sum = 0;
            for (const std::size_t level : covered(profile.prices, bar)) {
                const auto distance = static_cast<float>(std::abs(profile.prices[level] - bar.close));
                weights[level] = 1.0F / (1.0F + distance) + 1.0F;
                sum += weights[level];
            }
            for (const auto& [level, weight] : weights)
                profile.volumes[level] += weight / sum * static_cast<float>(bar.volume);
        }
        for (std::size_t i = 0; i < profile.prices.size(); ++i)
            merged[profile.prices[i]] += profile.volumes[i];
    }
    Profile<float> whole;
    double total = 0;
    float short_total = 0;
    for (const auto& [price, volume] : merged) {
        whole.prices.push_back(price);
        whole.volumes.push_back(volume);
        total += static_cast<double>(volume);
        short_total += volume;
    }
    return bars.size() > 1000 ? greedy_figures<double>(whole, total * 0.7)
                              : greedy_figures<float>(whole, short_total * 0.7F);
}

std::vector<PointBar> in_points(const BarBuffer& buffer) {
    std::vector<PointBar> bars;
    for (std::size_t i = 0; i < buffer.size(); ++i)
        bars.push_back({buffer.open[i] * tick_points, buffer.high[i] * tick_points,
                        buffer.low[i] * tick_points, buffer.close[i] * tick_points,
                        static_cast<double>(buffer.volume[i])});
    return bars;
}

Figures figures_in_points(const BarBuffer& bars, Compatibility generation, std::size_t chunk_bars = 3500) {
    const BarTable table = BarBuffer::into_table(BarBuffer{bars}, metadata(tick_points));
    ProfileRules rules;
    rules.compatibility = generation;
    rules.gpu_chunk_bars = chunk_bars;
    const auto found = session_figures(table, {.first = 0, .count = bars.size()}, rules);
    return {found.point_of_control * tick_points, found.value_area_low * tick_points,
            found.value_area_high * tick_points};
}

/// Random sessions of many shapes; volumes are at least 1.
std::vector<BarBuffer> sessions(bool equal_volumes) {
    std::vector<BarBuffer> made;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        made.push_back(
            random_bars(seed, {.count = 1 + seed % 50,
                               .max_levels = static_cast<std::uint32_t>(seed) % 25,
                               .max_volume = equal_volumes ? 0 : 1 + static_cast<std::uint32_t>(seed) % 7}));
        for (std::int64_t& volume : made.back().volume)
            ++volume;
    }
    for (const std::uint64_t seed : {300, 301})
        made.push_back(random_bars(seed, {.count = 1001 + 77 * (seed - 300), .max_volume = 4000}));
    return made;
}

bool equal(const Figures& a, const Figures& b) {
    return a.control == b.control && a.low == b.low && a.high == b.high;
}

testing::AssertionResult describe(const Figures& found, const Figures& expected, std::size_t session) {
    return testing::AssertionFailure()
           << "session " << session << ": " << found.control << ' ' << found.low << ' ' << found.high
           << " instead of " << expected.control << ' ' << expected.low << ' ' << expected.high;
}

testing::AssertionResult agree(const std::vector<BarBuffer>& all, Compatibility generation,
                               const std::function<Figures(const std::vector<PointBar>&)>& reference,
                               std::size_t chunk_bars = 3500) {
    for (std::size_t s = 0; s < all.size(); ++s) {
        const Figures expected = reference(in_points(all[s]));
        const Figures found = figures_in_points(all[s], generation, chunk_bars);
        if (!equal(found, expected))
            return describe(found, expected, s);
    }
    return testing::AssertionSuccess();
}

TEST(OriginalNotebook, MatchesTheLiteralReference) {
    EXPECT_TRUE(agree(sessions(false), Compatibility::notebook, notebook_reference));
    EXPECT_TRUE(agree(sessions(true), Compatibility::notebook, notebook_reference));
}

TEST(OriginalCpu, MatchesTheLiteralReference) {
    EXPECT_TRUE(agree(sessions(false), Compatibility::cpu, cpu_reference));
    EXPECT_TRUE(agree(sessions(true), Compatibility::cpu, cpu_reference));
}

TEST(OriginalGpu, MatchesTheLiteralReference) {
    for (const std::size_t chunk : {3500u, 500u, 37u}) {
        const auto reference = [&](const std::vector<PointBar>& bars) { return gpu_reference(bars, chunk); };
        EXPECT_TRUE(agree(sessions(false), Compatibility::gpu, reference, chunk)) << "chunks of " << chunk;
        EXPECT_TRUE(agree(sessions(true), Compatibility::gpu, reference, chunk)) << "chunks of " << chunk;
    }
}

/// data/original_profiles.txt has the results of NumPy and pandas for random sessions;
/// make_original_golden.py wrote it.
TEST(OriginalGenerations, MatchTheLibrariesThatTheOriginalUsed) {
    std::ifstream file(std::string(REKINDLE_TEST_DATA) + "/original_profiles.txt");
    ASSERT_TRUE(file);
    const std::map<std::string, std::pair<Compatibility, std::size_t>> generations{
        {"N", {Compatibility::notebook, 3500}},
        {"C", {Compatibility::cpu, 3500}},
        {"G", {Compatibility::gpu, 3500}},
        {"G2", {Compatibility::gpu, 400}}};
    BarBuffer bars;
    std::size_t compared = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name == "session") {
            bars = {};
        } else if (generations.contains(name)) {
            double control = 0;
            double low = 0;
            double high = 0;
            ASSERT_TRUE(words >> control >> low >> high);
            const auto& [generation, chunk] = generations.at(name);
            const Figures expected{control * tick_points, low * tick_points, high * tick_points};
            const Figures found = figures_in_points(bars, generation, chunk);
            EXPECT_TRUE(equal(found, expected))
                << describe(found, expected, compared / 4).message() << " (" << name << ")";
            ++compared;
        } else if (name[0] != '#') {
            std::istringstream numbers(line);
            Ticks open = 0;
            Ticks high = 0;
            Ticks low = 0;
            Ticks close = 0;
            std::int64_t volume = 0;
            ASSERT_TRUE(numbers >> open >> high >> low >> close >> volume) << line;
            bars.time.push_back(static_cast<std::int64_t>(60 * bars.size()));
            bars.open.push_back(open);
            bars.high.push_back(high);
            bars.low.push_back(low);
            bars.close.push_back(close);
            bars.volume.push_back(volume);
            bars.contract.push_back(0);
        }
    }
    EXPECT_EQ(compared, 4u * 51u);
}

} // namespace
} // namespace rekindle::market
