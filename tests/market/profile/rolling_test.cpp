#include "random_bars.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/rolling_profile.h>

#include <gtest/gtest.h>

namespace rekindle::market {
namespace {

using fixtures::quarter_tick;
using fixtures::random_bars;

/// Bars that jump between distant ranges, so that windows lose their extremes, with periods without volume.
BarBuffer jumping_bars(std::uint64_t seed, std::size_t count) {
    BarBuffer bars = random_bars(seed, {.count = count, .max_levels = 9, .max_volume = 3});
    PhiloxStream random(seed, RandomPurpose::test, 2);
    Ticks jump = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (random.next_below(25) == 0)
            jump = static_cast<Ticks>(random.next_below(200)) - 100;
        for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close})
            (*column)[i] += jump;
        if (i % 60 > 45)
            bars.volume[i] = 0;
    }
    return bars;
}

/// The profile of the window, computed from scratch.
MovingProfilePoint rebuilt(const BarColumns& bars, std::size_t i, std::size_t window,
                           const ProfileRules& rules) {
    const std::size_t first = i + 1 > window ? i + 1 - window : 0;
    VolumeProfile profile(quarter_tick, rules.weighting);
    profile.add(bars.subspan(first, i + 1 - first));
    if (profile.total_volume() == 0)
        return {bars.close[i], profile.lowest(), profile.highest()};
    const ValueArea area = profile.value_area(rules.value_area, rules.tie, rules.value_area_share);
    return {profile.point_of_control(rules.tie), area.low, area.high};
}

std::vector<ProfileRules> all_rules() {
    std::vector<ProfileRules> all;
    for (const auto weighting : {Weighting::uniform, Weighting::close, Weighting::ohlc})
        for (const auto area :
             {ValueAreaMethod::greedy, ValueAreaMethod::contiguous, ValueAreaMethod::two_row})
            for (const auto tie : {TieRule::lowest, TieRule::nearest_middle})
                all.push_back({.weighting = weighting, .value_area = area, .tie = tie});
    return all;
}

TEST(RollingProfile, MatchesTheProfileComputedFromScratchAtEveryBar) {
    for (const ProfileRules& rules : all_rules())
        for (const std::size_t window : {1u, 2u, 13u, 60u, 1000u}) {
            const BarBuffer bars = jumping_bars(window, 260);
            const auto points = rolling_profile(bars.columns(), quarter_tick, window, rules);
            const auto controls = rolling_point_of_control(bars.columns(), quarter_tick, window, rules);
            ASSERT_EQ(points.size(), bars.size());
            ASSERT_EQ(controls.size(), bars.size());
            for (std::size_t i = 0; i < bars.size(); ++i) {
                ASSERT_EQ(points[i], rebuilt(bars.columns(), i, window, rules))
                    << "bar " << i << " window " << window << " weighting "
                    << static_cast<int>(rules.weighting) << " area " << static_cast<int>(rules.value_area)
                    << " tie " << static_cast<int>(rules.tie);
                ASSERT_EQ(controls[i], points[i].point_of_control);
            }
        }
}

TEST(RollingProfile, PrefixOfTheBarsGivesAPrefixOfTheResults) {
    const BarBuffer bars = jumping_bars(4, 300);
    const ProfileRules rules;
    const auto whole = rolling_profile(bars.columns(), quarter_tick, 40, rules);
    const auto developing = developing_profile(bars.columns(), quarter_tick, rules);
    for (const std::size_t count : {1u, 39u, 41u, 170u}) {
        const auto part = rolling_profile(bars.columns().subspan(0, count), quarter_tick, 40, rules);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
        const auto developed = developing_profile(bars.columns().subspan(0, count), quarter_tick, rules);
        EXPECT_TRUE(std::equal(developed.begin(), developed.end(), developing.begin()));
    }
}

TEST(RollingProfile, EndsWithTheFiguresOfTheSession) {
    for (const ProfileRules& rules : all_rules()) {
        const BarBuffer bars = random_bars(21, {.count = 200});
        const BarTable table = BarBuffer::into_table(BarBuffer{bars}, fixtures::metadata());
        const auto figures = session_figures(table, {.count = bars.size()}, rules);
        const MovingProfilePoint last = developing_profile(bars.columns(), quarter_tick, rules).back();
        EXPECT_EQ(last.point_of_control, figures.point_of_control);
        EXPECT_EQ(last.value_area_low, figures.value_area_low);
        EXPECT_EQ(last.value_area_high, figures.value_area_high);
    }
}

TEST(RollingProfile, ShiftsContractsOntoOneScale) {
    const BarBuffer one_contract = jumping_bars(8, 240);
    BarBuffer two_contracts = one_contract;
    std::vector<std::int64_t> shift(two_contracts.size());
    for (std::size_t i = 120; i < two_contracts.size(); ++i) {
        shift[i] = 55;
        for (auto* column :
             {&two_contracts.open, &two_contracts.high, &two_contracts.low, &two_contracts.close})
            (*column)[i] += 55;
    }
    const auto expected = rolling_profile(one_contract.columns(), quarter_tick, 50, {});
    const auto shifted = rolling_profile(two_contracts.columns(), quarter_tick, 50, {}, shift);
    for (std::size_t i = 0; i < two_contracts.size(); ++i) {
        const auto offset = static_cast<Ticks>(shift[i]);
        const MovingProfilePoint back{shifted[i].point_of_control - offset,
                                      shifted[i].value_area_low - offset,
                                      shifted[i].value_area_high - offset};
        EXPECT_EQ(back, expected[i]) << "bar " << i;
    }
}

TEST(RollingProfile, ManyBarsWithTheVolumesOfTheSp500LeaveNoTrace) {
    BarBuffer bars = random_bars(30, {.count = 30'000, .max_levels = 30});
    for (std::size_t i = 0; i < bars.size(); ++i)
        bars.volume[i] = 1'000'000'000 + static_cast<std::int64_t>(i * i % 9'000'000'000);
    const auto controls = rolling_point_of_control(bars.columns(), quarter_tick, 390, {});
    for (std::size_t i = 1000; i < bars.size(); i += 997)
        EXPECT_EQ(controls[i], rebuilt(bars.columns(), i, 390, {}).point_of_control) << "bar " << i;
}

TEST(RollingProfile, RejectsInvalidArguments) {
    BarBuffer bars = random_bars(1, {.count = 3});
    EXPECT_THROW(rolling_profile(bars.columns(), quarter_tick, 0, {}), Error);
    ProfileRules rules;
    rules.compatibility = Compatibility::gpu;
    EXPECT_THROW(developing_profile(bars.columns(), quarter_tick, rules), Error);
    EXPECT_TRUE(developing_profile({}, quarter_tick, {}).empty());
    bars.volume = {max_profile_volume, max_profile_volume, 1};
    EXPECT_NO_THROW(rolling_point_of_control(bars.columns(), quarter_tick, 1, {}));
    EXPECT_THROW(rolling_point_of_control(bars.columns(), quarter_tick, 2, {}), Error);
    bars.low[0] = -2'000'000'000;
    EXPECT_THROW(rolling_point_of_control(bars.columns(), quarter_tick, 1, {}), Error);
}

} // namespace
} // namespace rekindle::market
