/// Nothing is compared across a roll whose gap is unknown: the rest is treated as if the data began there.

#include "features/feature_testing.h"

#include <rekindle/market/features.h>
#include <rekindle/market/migration.h>
#include <rekindle/market/minute_features.h>
#include <rekindle/market/targets.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace rekindle::market {
namespace {

using fixtures::golden_tick;
using fixtures::random_bars_and_sessions;
using fixtures::random_summaries;

constexpr std::size_t border = 90;

/// 200 sessions; the gap before session `border` is unknown, and prices are ten times as high after it.
std::vector<SessionSummary> sessions_with_unknown_gap() {
    auto sessions = random_summaries(200, 11);
    for (std::size_t s = border; s < sessions.size(); ++s) {
        SessionSummary& session = sessions[s];
        session.stretch = 1;
        for (std::int64_t* price : {&session.open, &session.high, &session.low, &session.close})
            *price *= 10;
        for (double* price :
             {&session.point_of_control, &session.value_area_low, &session.value_area_high, &session.vwap})
            *price *= 10;
    }
    return sessions;
}

TEST(Stretches, SessionFeaturesAreComputedSeparately) {
    ThreadPool pool(2);
    const auto sessions = sessions_with_unknown_gap();
    const std::vector<std::string> groups{"session", "vix", "returns", "gap", "calendar", "naked-poc"};
    const FeatureMatrix whole = session_features(sessions, golden_tick, groups, pool);
    const std::span all(sessions);
    std::size_t row = 0;
    for (const std::size_t begin : {std::size_t{0}, border}) {
        const FeatureMatrix alone =
            session_features(begin == 0 ? all.first(border) : all.subspan(border), golden_tick, groups, pool);
        ASSERT_EQ(alone.names, whole.names);
        ASSERT_GT(alone.rows(), 20u);
        for (std::size_t i = 0; i < alone.rows(); ++i, ++row) {
            ASSERT_LT(row, whole.rows());
            EXPECT_EQ(whole.source[row], alone.source[i] + begin);
            EXPECT_EQ(std::memcmp(whole.row(row).data(), alone.row(i).data(), alone.row(i).size_bytes()), 0);
        }
    }
    EXPECT_EQ(row, whole.rows());
}

TEST(Stretches, NoTargetSpansTheGap) {
    ThreadPool pool(1);
    const auto sessions = sessions_with_unknown_gap();
    const FeatureMatrix matrix = session_features(sessions, golden_tick, {"calendar"}, pool);
    const Targets targets = session_targets(matrix, sessions, {TargetKind::next_return, 1});
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        EXPECT_EQ(targets.valid[row] != 0, row + 1 != border && row + 1 != sessions.size()) << row;
        EXPECT_LT(std::abs(targets.values[row]), 1) << "a factor of ten is a return of 2.3";
    }
}

TEST(Stretches, MinuteFeaturesAndTargetsStartAgain) {
    ThreadPool pool(2);
    auto data = random_bars_and_sessions(8, 400, 3);
    const std::span all(data.sessions);
    const FeatureMatrix before = minute_features(data.bars, all.first(4), pool);
    const FeatureMatrix after = minute_features(data.bars, all.subspan(4), pool);
    for (std::size_t s = 4; s < data.sessions.size(); ++s)
        data.sessions[s].stretch = 1;
    const FeatureMatrix whole = minute_features(data.bars, data.sessions, pool);
    ASSERT_EQ(whole.rows(), before.rows() + after.rows());
    for (std::size_t row = 0; row < whole.rows(); ++row) {
        const bool first = row < before.rows();
        const auto expected = first ? before.row(row) : after.row(row - before.rows());
        EXPECT_EQ(whole.source[row], first ? before.source[row] : after.source[row - before.rows()]);
        for (std::size_t column = 0; column < expected.size(); ++column)
            ASSERT_NEAR(whole.row(row)[column], expected[column], 1e-9 * (1 + std::abs(expected[column])))
                << whole.names[column];
    }
    const std::size_t ahead = 5;
    const Targets targets = bar_targets(whole, data.bars, data.sessions, {TargetKind::bar_return, ahead}, {});
    for (std::size_t row = 0; row < whole.rows(); ++row) {
        const bool spans_gap =
            (row < before.rows() && row + ahead >= before.rows()) || row + ahead >= whole.rows();
        if (spans_gap) {
            EXPECT_EQ(targets.valid[row], 0) << row;
        }
    }
}

TEST(Stretches, PointsOfControlAreNotComparedAcross) {
    const auto sessions = sessions_with_unknown_gap();
    const std::span all(sessions);
    const auto touches = first_touches(sessions);
    for (std::size_t s = 0; s < border; ++s)
        EXPECT_TRUE(!touches[s] || *touches[s] < border) << s;
    const auto whole = migration_trends(sessions, golden_tick);
    auto parts = migration_trends(all.first(border), golden_tick);
    for (MigrationTrend trend : migration_trends(all.subspan(border), golden_tick)) {
        trend.start += border;
        trend.end += border;
        parts.push_back(trend);
    }
    EXPECT_EQ(whole, parts);
}

} // namespace
} // namespace rekindle::market
