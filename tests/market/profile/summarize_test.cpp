#include "random_bars.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/volume_profile.h>

#include <gtest/gtest.h>

#include <cmath>

namespace rekindle::market {
namespace {

using fixtures::metadata;
using fixtures::random_bars;
using fixtures::random_sessions;

bool same(const SessionSummary& a, const SessionSummary& b) {
    const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return a.date == b.date && a.end_time == b.end_time && a.first_bar == b.first_bar && a.bars == b.bars &&
           a.contract == b.contract && a.roll_offset == b.roll_offset && a.open == b.open &&
           a.high == b.high && a.low == b.low && a.close == b.close && a.total_volume == b.total_volume &&
           a.point_of_control == b.point_of_control && a.value_area_low == b.value_area_low &&
           a.value_area_high == b.value_area_high && equal(a.vwap, b.vwap) && equal(a.vix, b.vix);
}

TEST(SummarizeSessions, AgreesWithTheBars) {
    BarBuffer buffer = random_bars(5, {.count = 900, .contracts = 2});
    for (std::size_t i = 0; i < buffer.size(); ++i)
        buffer.vix.push_back(i < 100 ? std::nanf("") : static_cast<float>(i) / 8);
    const BarBuffer bars = buffer;
    const BarTable table = BarBuffer::into_table(std::move(buffer), metadata(0.25, {"A", "B"}));
    std::vector<Session> sessions = random_sessions(5, bars.size(), 90, 1);
    sessions[2].roll_offset = 17;
    ThreadPool pool(1);
    const auto summaries = summarize_sessions(table, sessions, {}, pool);
    ASSERT_EQ(summaries.size(), sessions.size());
    for (std::size_t s = 0; s < sessions.size(); ++s) {
        const SessionSummary& summary = summaries[s];
        std::vector<std::size_t> used;
        for (std::size_t i = sessions[s].first; i < sessions[s].first + sessions[s].count; ++i)
            if (bars.contract[i] == 1)
                used.push_back(i);
        double money = 0;
        std::int64_t volume = 0;
        Ticks high = bars.high[used[0]];
        Ticks low = bars.low[used[0]];
        for (const std::size_t i : used) {
            money += static_cast<double>(bars.close[i]) * static_cast<double>(bars.volume[i]);
            volume += bars.volume[i];
            high = std::max(high, bars.high[i]);
            low = std::min(low, bars.low[i]);
        }
        EXPECT_EQ(summary.bars, used.size());
        EXPECT_EQ(summary.date, sessions[s].date);
        EXPECT_EQ(summary.first_bar, sessions[s].first);
        EXPECT_EQ(summary.roll_offset, sessions[s].roll_offset);
        EXPECT_EQ(summary.end_time, bars.time[used.back()]);
        EXPECT_EQ(summary.open, bars.open[used.front()]);
        EXPECT_EQ(summary.close, bars.close[used.back()]);
        EXPECT_EQ(summary.high, high);
        EXPECT_EQ(summary.low, low);
        EXPECT_EQ(summary.total_volume, volume);
        EXPECT_EQ(summary.vwap, volume == 0 ? bars.close[used.back()] : money / static_cast<double>(volume));
        if (used.back() < 100)
            EXPECT_TRUE(std::isnan(summary.vix));
        else
            EXPECT_EQ(summary.vix, static_cast<double>(bars.vix[used.back()]));
        if (volume == 0)
            continue;
        VolumeProfile profile;
        profile.add(bars.columns().subspan(sessions[s].first, sessions[s].count), 1);
        EXPECT_EQ(summary.point_of_control, profile.point_of_control());
        EXPECT_EQ(summary.value_area_low, profile.value_area().low);
        EXPECT_EQ(summary.value_area_high, profile.value_area().high);
    }
}

TEST(SummarizeSessions, DoesNotDependOnThreads) {
    const BarTable table = BarBuffer::into_table(random_bars(9, {.count = 20'000}), metadata());
    const std::vector<Session> sessions = random_sessions(9, table.size(), 120);
    for (const auto compatibility :
         {Compatibility::none, Compatibility::notebook, Compatibility::cpu, Compatibility::gpu}) {
        ProfileRules rules;
        rules.compatibility = compatibility;
        ThreadPool one(1);
        ThreadPool four(4);
        const auto alone = summarize_sessions(table, sessions, rules, one);
        const auto together = summarize_sessions(table, sessions, rules, four);
        for (std::size_t s = 0; s < sessions.size(); ++s)
            ASSERT_TRUE(same(alone[s], together[s])) << "session " << s;
    }
}

TEST(SummarizeSessions, SessionWithoutVolumeUsesItsPrices) {
    BarBuffer bars = random_bars(2, {.count = 40, .max_volume = 0, .contracts = 1});
    const BarBuffer copy = bars;
    const BarTable table = BarBuffer::into_table(std::move(bars), metadata(0.25, {"VIX 03-22"}));
    const Session session{.first = 0, .count = 40};
    const auto low = static_cast<double>(*std::min_element(copy.low.begin(), copy.low.end()));
    const auto high = static_cast<double>(*std::max_element(copy.high.begin(), copy.high.end()));
    const ProfileFigures by_price{static_cast<double>(copy.close.back()), low, high};
    const ProfileFigures lowest_level{low, low, low};
    const auto figures = [&](const BarTable& from, Compatibility compatibility) {
        ProfileRules rules;
        rules.compatibility = compatibility;
        return session_figures(from, session, rules);
    };
    EXPECT_EQ(figures(table, Compatibility::none), by_price);
    EXPECT_EQ(figures(table, Compatibility::gpu), by_price);
    EXPECT_EQ(figures(table, Compatibility::notebook), lowest_level);
    const BarTable other = BarBuffer::into_table(BarBuffer{copy}, metadata(0.25, {"ES 03-22"}));
    EXPECT_EQ(figures(other, Compatibility::gpu), lowest_level);
}

TEST(SummarizeSessions, NamesTheSessionThatCannotBeSummarized) {
    BarBuffer bars = random_bars(2, {.count = 40});
    bars.volume[30] = max_profile_volume + 1;
    const BarTable table = BarBuffer::into_table(std::move(bars), metadata());
    std::vector<Session> sessions(2);
    sessions[0].count = sessions[1].first = sessions[1].count = 20;
    sessions[1].date = 19'000;
    ThreadPool pool(1);
    try {
        summarize_sessions(table, sessions, {}, pool);
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_EQ(error.where(), "session 2022-01-08");
    }
    sessions.resize(1);
    sessions[0].contract = 5;
    EXPECT_THROW(summarize_sessions(table, sessions, {}, pool), Error) << "no bar of its contract";
    ProfileRules rules;
    rules.value_area_share = 0;
    EXPECT_THROW(summarize_sessions(table, {}, rules, pool), Error);
}

} // namespace
} // namespace rekindle::market
