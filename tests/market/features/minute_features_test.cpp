#include "features/feature_testing.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/minute_features.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace rekindle::market {
namespace {

using fixtures::BarsAndSessions;
using fixtures::random_bars_and_sessions;

/// The first `bars` bars of the table, and the sessions as known at that time.
BarsAndSessions prefix_of(const BarsAndSessions& whole, std::size_t bars) {
    std::vector<Session> sessions;
    for (Session session : whole.sessions) {
        if (session.first >= bars)
            break;
        session.complete = session.first + session.count <= bars;
        session.count = std::min(session.count, bars - session.first);
        sessions.push_back(session);
    }
    const BarColumns& columns = whole.bars.columns();
    BarBuffer copy;
    const auto take = [&](const auto& from, auto& to) {
        to.assign(from.begin(), from.begin() + std::ptrdiff_t(bars));
    };
    take(columns.time, copy.time);
    take(columns.open, copy.open);
    take(columns.high, copy.high);
    take(columns.low, copy.low);
    take(columns.close, copy.close);
    take(columns.volume, copy.volume);
    take(columns.contract, copy.contract);
    if (!columns.vix.empty())
        take(columns.vix, copy.vix);
    return {BarBuffer::into_table(std::move(copy), whole.bars.metadata()), std::move(sessions)};
}

/// The prefix test: describes a violation by the feature, "" if there is none.
std::string prefix_violation(const MinuteFeature& feature, const BarsAndSessions& data) {
    ThreadPool pool(1);
    const std::span features(&feature, 1);
    const FeatureMatrix whole = compute_minute_features(features, data.bars, data.sessions, pool);
    for (std::size_t bars = data.bars.size() - 60; bars < data.bars.size(); bars += 3) {
        const BarsAndSessions then = prefix_of(data, bars);
        const FeatureMatrix prefix = compute_minute_features(features, then.bars, then.sessions, pool);
        if (prefix.dropped_first != static_cast<std::size_t>(feature.info.first_valid_session))
            return feature.info.name + " has no value at its first valid bar";
        if (prefix.rows() > whole.rows() || std::memcmp(prefix.values.data(), whole.values.data(),
                                                        prefix.values.size() * sizeof(double)) != 0)
            return feature.info.name + " changes when the future is known";
    }
    return "";
}

TEST(MinuteFeatures, MatchPandasAcrossARoll) {
    const BarsAndSessions data = fixtures::golden_bars();
    ThreadPool pool(1);
    const FeatureMatrix matrix = minute_features(data.bars, data.sessions, pool);
    EXPECT_EQ(matrix.columns(), 19u);
    EXPECT_EQ(matrix.dropped_first, 779u);
    fixtures::expect_equals_golden(matrix, "minute_features.csv");
}

TEST(MinuteFeatures, PrefixTestHoldsForEveryFeatureOfTheTable) {
    const BarsAndSessions data = random_bars_and_sessions(9, 110, 21);
    ASSERT_EQ(minute_feature_table().size(), 19u);
    for (const MinuteFeature& feature : minute_feature_table())
        EXPECT_EQ(prefix_violation(feature, data), "");
}

TEST(MinuteFeatures, PrefixTestFindsAFeatureThatLooksAhead) {
    // Future bars are in the same section unless the bar is the last one.
    const MinuteFeature peeks{{"next_volume", "test", "volume of the next bar", 0, 0},
                              [](const BarWindow& window, std::size_t i) {
                                  const std::size_t next = std::min(i + 1, window.end() - 1);
                                  return window.volume(next);
                              }};
    EXPECT_EQ(prefix_violation(peeks, random_bars_and_sessions(9, 110, 21)),
              "next_volume changes when the future is known");
}

TEST(MinuteFeatures, ReadNoMoreThanTheLookBack) {
    const BarsAndSessions data = random_bars_and_sessions(9, 110, 22);
    ThreadPool pool(1);
    for (const MinuteFeature& feature : minute_feature_table()) {
        if (feature.info.look_back == FeatureInfo::all_earlier)
            continue;
        const std::span features(&feature, 1);
        const FeatureMatrix whole = compute_minute_features(features, data.bars, data.sessions, pool);
        // The same bars without the first session: rows whose window begins later are bit-identical.
        const BarsAndSessions shorter{data.bars, {data.sessions.begin() + 1, data.sessions.end()}};
        const FeatureMatrix later = compute_minute_features(features, shorter.bars, shorter.sessions, pool);
        ASSERT_EQ(later.rows() + 110, whole.rows()) << feature.info.name;
        for (std::size_t row = 0; row < later.rows(); ++row)
            ASSERT_EQ(later.at(row, 0), whole.at(row + 110, 0)) << feature.info.name << " row " << row;
    }
}

TEST(MinuteFeatures, BitIdenticalForAnyNumberOfThreadsAndBlocks) {
    const BarsAndSessions data = random_bars_and_sessions(12, 4000, 23); // several blocks
    ThreadPool one(1);
    ThreadPool three(3);
    const FeatureMatrix matrix = minute_features(data.bars, data.sessions, one);
    EXPECT_TRUE(fixtures::identical(matrix, minute_features(data.bars, data.sessions, three)));
    // Without the first session every block begins at another bar; only the exponential means depend on bars
    // that far back.
    const FeatureMatrix moved = minute_features(data.bars, std::span(data.sessions).subspan(1), three);
    const std::size_t skipped = matrix.rows() - moved.rows();
    const auto macd = static_cast<std::size_t>(
        std::find(matrix.names.begin(), matrix.names.end(), "macd_crossover") - matrix.names.begin());
    for (std::size_t row = 0; row < moved.rows(); ++row)
        for (std::size_t column = 0; column < moved.columns(); ++column) {
            if (column == macd)
                continue;
            ASSERT_EQ(moved.at(row, column), matrix.at(row + skipped, column)) << matrix.names[column];
        }
}

TEST(MinuteFeatures, UseOnlyBarsOfTheSessionsContract) {
    const BarsAndSessions data = random_bars_and_sessions(9, 110, 24);
    ThreadPool pool(1);
    const FeatureMatrix matrix = minute_features(data.bars, data.sessions, pool);
    EXPECT_EQ(matrix.rows(), 9u * 110 - 779);
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        const std::size_t bar = matrix.source[row];
        const auto session = std::find_if(data.sessions.begin(), data.sessions.end(), [&](const Session& s) {
            return bar >= s.first && bar < s.first + s.count;
        });
        ASSERT_NE(session, data.sessions.end());
        EXPECT_EQ(data.bars.columns().contract[bar], session->contract);
        EXPECT_EQ(matrix.known_at[row], data.bars.columns().time[bar]);
        EXPECT_EQ(matrix.dates[row], session->date);
    }
}

TEST(MinuteFeatures, WithoutVixOmitTheFeatureThatNeedsIt) {
    const BarsAndSessions data = random_bars_and_sessions(9, 110, 25, false);
    ThreadPool pool(1);
    const FeatureMatrix matrix = minute_features(data.bars, data.sessions, pool);
    EXPECT_EQ(matrix.columns(), 18u);
    EXPECT_EQ(matrix.notes,
              std::vector<std::string>{"the feature vix_lagged is omitted: the bars have no VIX"});
}

TEST(MinuteFeatures, VixIsUsed) {
    const BarsAndSessions data = random_bars_and_sessions(9, 110, 25);
    ThreadPool pool(1);
    const FeatureMatrix matrix = minute_features(data.bars, data.sessions, pool);
    const auto vix = static_cast<std::size_t>(
        std::find(matrix.names.begin(), matrix.names.end(), "vix_lagged") - matrix.names.begin());
    // Row 5: the bar of the same contract before it.
    std::size_t before = matrix.source[5] - 1;
    while (data.bars.columns().contract[before] != data.bars.columns().contract[matrix.source[5]])
        --before;
    EXPECT_EQ(before, matrix.source[4]);
    EXPECT_EQ(matrix.at(5, vix), static_cast<double>(data.bars.columns().vix[before]));
    EXPECT_NE(matrix.at(5, vix), matrix.at(6, vix));
}

/// Bars without any price change or volume.
TEST(MinuteFeatures, ConstantPricesGiveFiniteValues) {
    BarBuffer buffer;
    for (int i = 0; i < 800; ++i) {
        buffer.time.push_back(60 * i);
        buffer.open.push_back(400);
        buffer.high.push_back(400);
        buffer.low.push_back(400);
        buffer.close.push_back(400);
        buffer.volume.push_back(0);
        buffer.contract.push_back(0);
    }
    const BarTable bars = BarBuffer::into_table(std::move(buffer), BarMetadata{{0.25}, {""}});
    const std::vector<Session> sessions{{.date = 0, .first = 0, .count = 800}};
    ThreadPool pool(1);
    const FeatureMatrix matrix = minute_features(bars, sessions, pool);
    EXPECT_EQ(matrix.rows(), 800u - 779);
    const std::vector<double> expected{0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 50, 0, 0, 0, 0, 0, 3};
    EXPECT_TRUE(std::ranges::equal(matrix.row(0), expected)); // 1970-01-01 was a Thursday
}

TEST(MinuteFeatures, RejectTooFewBarsAndTooLargeValues) {
    ThreadPool pool(1);
    const auto refusal = [&](const BarTable& bars, std::span<const Session> sessions) {
        try {
            minute_features(bars, sessions, pool);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return std::string("accepted");
    };
    const BarsAndSessions few = random_bars_and_sessions(2, 110, 26);
    EXPECT_EQ(refusal(few.bars, few.sessions),
              "220 bars are too few for the feature group minute, expected at least 780");
    BarBuffer buffer;
    for (int i = 0; i < 800; ++i) {
        buffer.time.push_back(60 * i);
        for (auto* column : {&buffer.open, &buffer.high, &buffer.low, &buffer.close})
            column->push_back(400);
        buffer.volume.push_back(i == 700 ? std::numeric_limits<std::int64_t>::max() : 1);
        buffer.contract.push_back(0);
    }
    const std::vector<Session> sessions{{.date = 0, .first = 0, .count = 800}};
    BarBuffer jump = buffer;
    jump.volume[700] = 1;
    jump.high[700] = std::numeric_limits<Ticks>::max();
    EXPECT_NE(refusal(BarBuffer::into_table(buffer, BarMetadata{{0.25}, {""}}), sessions)
                  .find("bar 701 has a volume"),
              std::string::npos);
    EXPECT_NE(
        refusal(BarBuffer::into_table(jump, BarMetadata{{0.25}, {""}}), sessions).find("bar 701 has a range"),
        std::string::npos);
}

} // namespace
} // namespace rekindle::market
