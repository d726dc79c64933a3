/// Joining and splitting the rows of several instruments, against a brute-force version.

#include "features/feature_testing.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/labeled_rows.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace rekindle::market {
namespace {

using Times = std::vector<std::int64_t>;

/// Rows known at random times, with a target that is known `horizon` rows later. Values identify the rows.
LabeledRows random_rows(std::size_t count, std::size_t horizon, std::uint64_t seed, double value) {
    PhiloxStream random(seed, RandomPurpose::test);
    Times known, outcome;
    std::vector<double> values;
    std::int64_t time = random.next_below(1000);
    for (std::size_t row = 0; row < count + horizon; ++row)
        known.push_back(time += 1 + random.next_below(5));
    outcome.assign(known.begin() + static_cast<std::ptrdiff_t>(horizon), known.end());
    known.resize(count);
    for (std::size_t row = 0; row < count; ++row)
        values.push_back(value + static_cast<double>(row));
    LabeledRows rows;
    rows.matrix.names = {"a"};
    rows.matrix.values = values;
    rows.matrix.known_at = known;
    rows.matrix.dates = std::vector<std::int32_t>(count, static_cast<std::int32_t>(value));
    rows.matrix.source = std::vector<std::size_t>(count, 7);
    rows.targets.values = std::vector<float>(count, static_cast<float>(value));
    rows.targets.valid = std::vector<std::uint8_t>(count, 1);
    rows.targets.outcome_at = outcome;
    rows.known = known;
    rows.outcome_known = outcome;
    rows.previous = std::vector<float>(count, 1.0f);
    return rows;
}

std::vector<std::span<const std::int64_t>> known_of(const std::vector<LabeledRows>& parts) {
    std::vector<std::span<const std::int64_t>> known;
    for (const LabeledRows& part : parts)
        known.emplace_back(part.known);
    return known;
}

TEST(LabeledRows, TargetsAreKnownWhenTheBarThatDecidesThemEnds) {
    const auto data = fixtures::random_bars_and_sessions(6, 40, 5);
    FeatureMatrix matrix;
    const auto& times = data.bars.columns().time;
    Times own;
    for (const Session& session : data.sessions)
        for (std::size_t bar = session.first; bar < session.first + session.count; ++bar)
            if (data.bars.columns().contract[bar] == session.contract)
                own.push_back(static_cast<std::int64_t>(bar));
    std::vector<std::size_t> source(own.begin(), own.end());
    Times known;
    for (const std::size_t bar : source)
        known.push_back(times[bar]);
    matrix.source = source;
    matrix.known_at = known;
    matrix.dates = std::vector<std::int32_t>(source.size());
    Targets targets = bar_targets(matrix, data.bars, data.sessions, {TargetKind::bar_return, 5, true});
    const LabeledRows rows = label_rows(std::move(matrix), std::move(targets), BarEnds(), 5);
    ASSERT_EQ(rows.rows(), own.size() - 5);
    for (std::size_t row = 0; row < rows.rows(); ++row) {
        EXPECT_EQ(rows.known[row], known[row]);
        EXPECT_EQ(rows.outcome_known[row], known[row + 5]);
        EXPECT_EQ(rows.previous[row], row >= 5 ? rows.targets.values[row - 5] : 0.0f);
        if (row >= 5) {
            EXPECT_LE(rows.outcome_known[row - 5], rows.known[row]) << "a previous target is known";
        }
    }
}

TEST(LabeledRows, SessionsAreKnownWhenTheirLastBarEnds) {
    auto sessions = fixtures::random_summaries(30, 3);
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        sessions[i].end_time = static_cast<std::int64_t>(1000 * i);
        sessions[i].stretch = 0;
    }
    FeatureMatrix matrix;
    std::vector<std::size_t> source{3, 4, 8, 9, 28, 29};
    matrix.source = source;
    matrix.known_at = Times{3000, 4000, 8000, 9000, 28000, 29000};
    matrix.dates = std::vector<std::int32_t>(source.size());
    Targets targets = session_targets(matrix, sessions, {TargetKind::next_return});
    const LabeledRows rows = label_rows(std::move(matrix), std::move(targets), BarEnds(), 1);
    EXPECT_EQ(rows.known, (Times{3000, 4000, 8000, 9000, 28000}));
    EXPECT_EQ(rows.outcome_known, (Times{4000, 5000, 9000, 10000, 29000}));
}

TEST(LabeledRows, AreJoinedInOrderOfTime) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<LabeledRows> parts;
        parts.push_back(random_rows(40, 1, seed, 100));
        parts.push_back(random_rows(seed % 3 == 0 ? 0 : 25, 1, seed + 100, 200));
        parts.push_back(random_rows(60, 1, seed + 200, 300));
        std::vector<RowRange> ranges;
        std::vector<std::tuple<std::int64_t, std::size_t, std::size_t>> expected;
        for (std::size_t part = 0; part < parts.size(); ++part) {
            ranges.push_back({std::min<std::size_t>(2, parts[part].rows()), parts[part].rows()});
            for (std::size_t row = ranges[part].begin; row < ranges[part].end; ++row)
                expected.emplace_back(parts[part].known[row], part, row);
        }
        std::ranges::sort(expected);
        const auto places = order_by_time(known_of(parts), ranges);
        const LabeledRows joined = join_rows(parts, places);
        ASSERT_EQ(joined.rows(), expected.size());
        ASSERT_EQ(joined.matrix.rows(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const auto& [time, part, row] = expected[i];
            const LabeledRows& from = parts[part];
            EXPECT_EQ(joined.known[i], time);
            EXPECT_EQ(joined.matrix.instrument_of(i), part);
            EXPECT_EQ(joined.matrix.at(i, 0), from.matrix.at(row, 0));
            EXPECT_EQ(joined.matrix.known_at[i], from.matrix.known_at[row]);
            EXPECT_EQ(joined.matrix.dates[i], from.matrix.dates[row]);
            EXPECT_EQ(joined.targets.values[i], from.targets.values[row]);
            EXPECT_EQ(joined.outcome_known[i], from.outcome_known[row]);
        }
    }
}

TEST(LabeledRows, OfOtherFeaturesAreNotJoined) {
    std::vector<LabeledRows> parts;
    parts.push_back(random_rows(4, 1, 1, 100));
    parts.push_back(random_rows(4, 1, 2, 200));
    parts.back().matrix.names = {"b"};
    const std::vector<RowRange> ranges{{0, 4}, {0, 4}};
    EXPECT_THROW(join_rows(parts, order_by_time(known_of(parts), ranges)), Error);
}

/// The reason for a common border: when validation begins, every outcome that was trained on is known, even
/// those of other instruments.
TEST(CommonSplit, NoTrainingTargetOfAnyInstrumentReachesTheValidationRows) {
    for (std::uint64_t seed = 0; seed < 30; ++seed)
        for (const std::size_t horizon : {1u, 4u}) {
            std::vector<LabeledRows> parts;
            parts.push_back(random_rows(80, horizon, seed, 100));
            parts.push_back(random_rows(20 + seed, horizon, seed + 50, 200));
            parts.push_back(random_rows(150, horizon, seed + 90, 300));
            const auto known = known_of(parts);
            const CommonSplit split = split_at_common_time(known, 0.7, 0, seed % 4, horizon);
            ASSERT_EQ(split.parts.size(), parts.size());
            std::size_t before = 0;
            for (std::size_t i = 0; i < parts.size(); ++i) {
                const Split& own = split.parts[i];
                std::size_t early = 0;
                for (const std::int64_t time : known[i])
                    early += time < split.border;
                before += early;
                EXPECT_EQ(own.train_end, early - std::min(early, horizon));
                EXPECT_EQ(own.validation_begin, std::min(parts[i].rows(), early + seed % 4));
                EXPECT_EQ(own.validation_end, parts[i].rows());
                EXPECT_TRUE(own.purge_raised);
                for (std::size_t row = own.train_begin; row < own.train_end; ++row)
                    EXPECT_LT(parts[i].outcome_known[row], split.border);
            }
            const auto rows = static_cast<double>(parts[0].rows() + parts[1].rows() + parts[2].rows());
            EXPECT_LE(static_cast<double>(before), 0.7 * rows);
            EXPECT_GT(static_cast<double>(before), 0.7 * rows - 4) << "at most two more rows at that time";
        }
}

TEST(CommonSplit, OfOneInstrumentIsItsUsualSplit) {
    for (const std::size_t rows : {10u, 57u, 100u})
        for (const std::size_t purge : {0u, 1u, 5u})
            for (const std::size_t embargo : {0u, 1u}) {
                const LabeledRows part = random_rows(rows, 2, rows, 1);
                const std::span<const std::int64_t> known(part.known);
                const CommonSplit split = split_at_common_time(std::span(&known, 1), 0.8, purge, embargo, 2);
                EXPECT_EQ(split.parts.front(), split_by_time(rows, 0.8, purge, embargo, 2));
            }
}

TEST(CommonSplit, RejectsSharesThatLeaveOnePartEmpty) {
    const LabeledRows part = random_rows(10, 1, 1, 1);
    const std::span<const std::int64_t> known(part.known);
    EXPECT_THROW(split_at_common_time(std::span(&known, 1), 0, 1, 0, 1), Error);
    EXPECT_THROW(split_at_common_time(std::span(&known, 1), 1, 1, 0, 1), Error);
}

} // namespace
} // namespace rekindle::market
