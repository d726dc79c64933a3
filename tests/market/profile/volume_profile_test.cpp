#include "random_bars.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/volume_profile.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

namespace rekindle::market {
namespace {

using fixtures::random_bars;
__extension__ typedef __int128 Wide;

/// A literal implementation of the definition of a profile, one price at a time.
std::map<Ticks, Wide> literal_profile(const BarColumns& bars, TickSize tick, Weighting weighting) {
    std::map<Ticks, Wide> volumes;
    const auto term = [&](Ticks a, Ticks b) {
        return static_cast<Wide>(std::floor(16777216.0 * (1.0 / (1.0 + std::abs(a - b) * tick.points))));
    };
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const auto weight = [&](Ticks price) -> Wide {
            Wide sum = Wide{1} << 24;
            if (weighting != Weighting::uniform)
                sum += term(price, bars.close[i]);
            if (weighting == Weighting::ohlc)
                sum += term(price, bars.open[i]) + term(price, bars.high[i]) + term(price, bars.low[i]);
            return sum;
        };
        Wide weights = 0;
        for (Ticks price = bars.low[i]; price <= bars.high[i]; ++price)
            weights += weight(price);
        for (Ticks price = bars.low[i]; price <= bars.high[i]; ++price) {
            const Wide volume = bars.volume[i];
            volumes[price] += weighting == Weighting::uniform
                                  ? (volume << 16) / (bars.high[i] - bars.low[i] + 1)
                                  : ((volume << 40) / weights * weight(price)) >> 24;
        }
    }
    const Ticks first = volumes.begin()->first;
    for (Ticks price = first; price < volumes.rbegin()->first; ++price)
        volumes.try_emplace(price, 0);
    return volumes;
}

/// Whether price a is preferred to price b of the same volume.
bool preferred(Ticks a, Ticks b, Ticks lowest, Ticks highest, TieRule tie) {
    const double middle = (static_cast<double>(lowest) + highest) / 2;
    if (tie == TieRule::nearest_middle && std::abs(a - middle) != std::abs(b - middle))
        return std::abs(a - middle) < std::abs(b - middle);
    return a < b;
}

Ticks literal_control(const std::map<Ticks, Wide>& volumes, TieRule tie) {
    const Ticks lowest = volumes.begin()->first;
    const Ticks highest = volumes.rbegin()->first;
    Ticks best = lowest;
    for (const auto& [price, volume] : volumes)
        if (volume > volumes.at(best) ||
            (volume == volumes.at(best) && preferred(price, best, lowest, highest, tie)))
            best = price;
    return best;
}

Wide sum_between(const std::map<Ticks, Wide>& volumes, Ticks low, Ticks high) {
    Wide sum = 0;
    for (Ticks price = low; price <= high; ++price)
        sum += volumes.contains(price) ? volumes.at(price) : 0;
    return sum;
}

ValueArea literal_area(std::map<Ticks, Wide> volumes, ValueAreaMethod method, TieRule tie, int percent) {
    const std::map<Ticks, Wide> all = volumes;
    const Ticks lowest = all.begin()->first;
    const Ticks highest = all.rbegin()->first;
    const Wide total = sum_between(all, lowest, highest);
    Ticks low = literal_control(all, tie);
    Ticks high = low;
    if (method == ValueAreaMethod::greedy) {
        for (Wide taken = 0;;) {
            Ticks best = volumes.begin()->first;
            for (const auto& [price, volume] : volumes)
                if (volume > volumes.at(best) ||
                    (volume == volumes.at(best) && preferred(price, best, lowest, highest, tie)))
                    best = price;
            low = std::min(low, best);
            high = std::max(high, best);
            taken += volumes.at(best);
            volumes.erase(best);
            if (taken * 100 >= total * percent || volumes.empty())
                break;
        }
    } else {
        const Ticks rows = method == ValueAreaMethod::two_row ? 2 : 1;
        while (sum_between(all, low, high) * 100 < total * percent && (low > lowest || high < highest)) {
            const Ticks top = std::min(high + rows, highest);
            const Ticks bottom = std::max(low - rows, lowest);
            const Wide above = high < highest ? sum_between(all, high + 1, top) : -1;
            const Wide below = low > lowest ? sum_between(all, bottom, low - 1) : -1;
            if (above >= below)
                high = top;
            else
                low = bottom;
        }
    }
    return {low, high, static_cast<std::int64_t>(sum_between(all, low, high))};
}

class ProfileByWeighting : public testing::TestWithParam<Weighting> {};

TEST_P(ProfileByWeighting, MatchesTheLiteralDefinitionWithPlateausAndTies) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const BarBuffer bars = random_bars(
            seed, {.count = 1 + seed % 40, .max_levels = 1 + static_cast<std::uint32_t>(seed) % 15});
        VolumeProfile profile({0.25}, GetParam());
        profile.add(bars.columns());
        const auto literal = literal_profile(bars.columns(), {0.25}, GetParam());
        ASSERT_EQ(profile.lowest(), literal.begin()->first);
        ASSERT_EQ(profile.highest(), literal.rbegin()->first);
        for (const auto& [price, volume] : literal)
            ASSERT_EQ(profile.volume_at(price), static_cast<std::int64_t>(volume)) << "seed " << seed;
        for (const TieRule tie : {TieRule::lowest, TieRule::nearest_middle}) {
            ASSERT_EQ(profile.point_of_control(tie), literal_control(literal, tie)) << "seed " << seed;
            for (const auto method :
                 {ValueAreaMethod::greedy, ValueAreaMethod::contiguous, ValueAreaMethod::two_row})
                for (const int percent : {1, 50, 70, 100})
                    ASSERT_EQ(profile.value_area(method, tie, percent / 100.0),
                              literal_area(literal, method, tie, percent))
                        << "seed " << seed << " method " << static_cast<int>(method) << " percent "
                        << percent;
        }
    }
}

TEST_P(ProfileByWeighting, OrderAndChunksDoNotMatter) {
    const BarBuffer bars = random_bars(7, {.count = 500, .max_volume = 1000});
    VolumeProfile whole({0.25}, GetParam());
    whole.add(bars.columns());
    for (const std::size_t chunk : {1u, 7u, 100u}) {
        VolumeProfile forwards({0.25}, GetParam());
        VolumeProfile backwards({0.25}, GetParam());
        for (std::size_t first = 0; first < bars.size(); first += chunk) {
            VolumeProfile part({0.25}, GetParam());
            part.add(bars.columns().subspan(first, std::min(chunk, bars.size() - first)));
            forwards.add(part);
            part.add(backwards);
            backwards = part;
        }
        EXPECT_EQ(forwards, whole);
        EXPECT_EQ(backwards, whole);
    }
}

INSTANTIATE_TEST_SUITE_P(Weightings, ProfileByWeighting,
                         testing::Values(Weighting::uniform, Weighting::close, Weighting::ohlc));

TEST(VolumeProfile, PointOfControlIsCloseToTheExactMaximum) {
    constexpr std::int64_t multiple = 720720; // least common multiple of 1 … 16
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const BarBuffer bars = random_bars(seed, {.count = 200, .max_levels = 15, .max_volume = 50});
        std::map<Ticks, std::int64_t> exact;
        for (std::size_t i = 0; i < bars.size(); ++i)
            for (Ticks price = bars.low[i]; price <= bars.high[i]; ++price)
                exact[price] += bars.volume[i] * (multiple / (bars.high[i] - bars.low[i] + 1));
        VolumeProfile profile;
        profile.add(bars.columns());
        std::int64_t most = 0;
        for (const auto& [price, volume] : exact)
            most = std::max(most, volume);
        const double short_of_it = static_cast<double>(most - exact[profile.point_of_control()]) / multiple;
        EXPECT_LE(short_of_it, 200.0 / 65536) << "seed " << seed;
    }
}

TEST(VolumeProfile, HandlesTheVolumesOfTheSp500) {
    BarBuffer bars = random_bars(3, {.count = 5000, .max_levels = 3000});
    for (std::int64_t& volume : bars.volume)
        volume = 9'999'999'999;
    VolumeProfile profile({0.01});
    profile.add(bars.columns());
    EXPECT_EQ(profile.total_volume(), 5000 * 9'999'999'999);
    const Wide held = std::accumulate(profile.volumes().begin(), profile.volumes().end(), Wide{0});
    EXPECT_LE(held, static_cast<Wide>(profile.total_volume()) << 16);
    EXPECT_GE(held, (static_cast<Wide>(profile.total_volume()) << 16) - 5000 * 3001);
    EXPECT_EQ(profile.point_of_control(),
              literal_control(literal_profile(bars.columns(), {0.01}, Weighting::uniform), TieRule::lowest));
}

TEST(VolumeProfile, RejectsTooMuchVolumeAndTooManyLevels) {
    BarBuffer bars = random_bars(1, {.count = 2, .max_levels = 0});
    bars.volume = {max_profile_volume, 0};
    VolumeProfile full;
    EXPECT_NO_THROW(full.add(bars.columns()));
    bars.volume = {max_profile_volume, 1};
    VolumeProfile profile;
    EXPECT_THROW(profile.add(bars.columns()), Error);
    EXPECT_TRUE(profile.empty()) << "a rejected block leaves no trace";
    bars.volume = {1, std::numeric_limits<std::int64_t>::max()};
    EXPECT_THROW(profile.add(bars.columns()), Error);

    bars.volume = {1, 1};
    bars.low[0] = bars.open[0] = bars.close[0] = bars.high[0] = std::numeric_limits<Ticks>::min();
    bars.low[1] = bars.open[1] = bars.close[1] = bars.high[1] = std::numeric_limits<Ticks>::max();
    try {
        profile.add(bars.columns());
        FAIL() << "4,294,967,296 levels were accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_NE(error.render().find("4,294,967,296 price levels"), std::string::npos) << error.render();
    }
    bars.low[0] = bars.open[0] = bars.close[0] = bars.high[0] = 0;
    bars.low[1] = bars.open[1] = bars.close[1] = bars.high[1] = 100;
    profile.add(bars.columns());
    for (const double share : {0.0, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_THROW(profile.value_area(ValueAreaMethod::greedy, TieRule::lowest, share), Error) << share;
}

TEST(VolumeProfile, UsesTheBarsOfOneContract) {
    const BarBuffer bars = random_bars(11, {.count = 300, .contracts = 3});
    BarBuffer second;
    for (std::size_t i = 0; i < bars.size(); ++i)
        if (bars.contract[i] == 2) {
            second.time.push_back(bars.time[i]);
            second.open.push_back(bars.open[i]);
            second.high.push_back(bars.high[i]);
            second.low.push_back(bars.low[i]);
            second.close.push_back(bars.close[i]);
            second.volume.push_back(bars.volume[i]);
            second.contract.push_back(2);
        }
    VolumeProfile expected;
    expected.add(second.columns());
    VolumeProfile taken;
    taken.add(bars.columns(), 2);
    EXPECT_EQ(taken, expected);
    VolumeProfile none;
    none.add(bars.columns(), 9);
    EXPECT_TRUE(none.empty());
}

VolumeProfile profile_of(std::initializer_list<std::int64_t> volumes) {
    BarBuffer bars;
    Ticks price = 100;
    for (const std::int64_t volume : volumes) {
        bars.time.push_back(price);
        for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close})
            column->push_back(price);
        bars.volume.push_back(volume);
        bars.contract.push_back(0);
        ++price;
    }
    VolumeProfile profile;
    profile.add(bars.columns());
    return profile;
}

TEST(VolumeProfile, TieRulesByHand) {
    const VolumeProfile profile = profile_of({5, 1, 5, 5, 1, 1, 5});
    EXPECT_EQ(profile.point_of_control(TieRule::lowest), 100);
    EXPECT_EQ(profile.point_of_control(TieRule::nearest_middle), 103);
    EXPECT_EQ(profile_of({0, 7, 0, 7, 0}).point_of_control(TieRule::nearest_middle), 101)
        << "the lower of two";
}

TEST(VolumeProfile, ValueAreasByHand) {
    //                                        100 101 102 103 104 105 106
    const VolumeProfile profile = profile_of({10, 2, 6, 20, 5, 7, 10});
    const auto area = [&](ValueAreaMethod method) { return profile.value_area(method); };
    // The total is 60 and the target 42: 20 + 10 + 10 = 40 falls short, and 7 at 105 reaches it.
    EXPECT_EQ(area(ValueAreaMethod::greedy), (ValueArea{100, 106, std::int64_t{60} << 16}));
    // 103 (20), 102 (26), 104 (31), 105 (38), 106 (48).
    EXPECT_EQ(area(ValueAreaMethod::contiguous), (ValueArea{102, 106, std::int64_t{48} << 16}));
    // 103 (20), 104–105 of 12 against 101–102 of 8 (32), 106 alone of 10 against 8 (42).
    EXPECT_EQ(area(ValueAreaMethod::two_row), (ValueArea{103, 106, std::int64_t{42} << 16}));
}

TEST(VolumeProfile, NodesByHand) {
    const NodeRules sharp{.half_width = 0, .min_prominence = 0.2};
    //                                        100 1  2  3  4  5  6  7  8  9  110
    const VolumeProfile profile = profile_of({1, 9, 2, 0, 0, 0, 5, 4, 5, 1, 10});
    // 106 is 5 above the valley of 0, but 108 is only 1 above 107: it counts with a tenth of the highest, but
    // not with a fifth.
    EXPECT_EQ(profile.nodes(sharp), (VolumeNodes{{101, 106, 110}, {104, 109}}));
    EXPECT_EQ(profile.nodes({.half_width = 0, .min_prominence = 0.1}),
              (VolumeNodes{{101, 106, 108, 110}, {104, 107, 109}}));
    EXPECT_EQ(profile_of({3, 3, 3, 3}).nodes(sharp), (VolumeNodes{{101}, {}})) << "one plateau is one node";
    EXPECT_EQ(profile_of({0, 0, 0}).nodes(sharp), VolumeNodes{});
    EXPECT_EQ(profile_of({4, 0, 4, 4, 4, 0, 4}).nodes({.half_width = 1, .min_prominence = 0.01}),
              (VolumeNodes{{103}, {}}))
        << "smoothing joins them";
}

} // namespace
} // namespace rekindle::market
