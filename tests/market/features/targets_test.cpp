#include "features/feature_testing.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/features.h>
#include <rekindle/market/targets.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <numeric>

namespace rekindle::market {
namespace {

/// Sessions with the given closes (ticks) and roll offsets, and a matrix with a row for each of `rows`.
struct TargetCase {
    std::vector<SessionSummary> sessions;
    FeatureMatrix matrix;
};

TargetCase make_case(const std::vector<std::int64_t>& closes, const std::vector<std::int64_t>& offsets,
                     const std::vector<std::size_t>& rows) {
    TargetCase made;
    for (std::size_t i = 0; i < closes.size(); ++i) {
        SessionSummary session;
        session.close = closes[i];
        session.roll_offset = offsets[i];
        made.sessions.push_back(session);
    }
    made.matrix.source = rows;
    return made;
}

TEST(Targets, NextReturnUsesTheLaterContract) {
    const TargetCase c = make_case({1000, 1010, 1125, 1120}, {0, 0, 100, 100}, {0, 1, 2, 3});
    const Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::next_return});
    EXPECT_FLOAT_EQ(targets.values[0], static_cast<float>(std::log(1010.0 / 1000)));
    EXPECT_FLOAT_EQ(targets.values[1], static_cast<float>(std::log(1125.0 / 1110)));
    EXPECT_FLOAT_EQ(targets.values[2], static_cast<float>(std::log(1120.0 / 1125)));
    EXPECT_EQ(targets.valid, (std::vector<std::uint8_t>{1, 1, 1, 0}));
    EXPECT_EQ(targets.usable_rows(), 3u);
}

TEST(Targets, UseTheNextSessionAndNotTheNextRow) {
    const TargetCase c = make_case({1000, 1010, 1125, 1120}, {0, 0, 0, 0}, {0, 2});
    const Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::next_return});
    EXPECT_FLOAT_EQ(targets.values[0], static_cast<float>(std::log(1010.0 / 1000)));
    EXPECT_FLOAT_EQ(targets.values[1], static_cast<float>(std::log(1120.0 / 1125)));
}

TEST(Targets, FlatOutcomeHasNoDirection) {
    const TargetCase c = make_case({1000, 1010, 1010, 900}, {0, 0, 0, 0}, {0, 1, 2, 3});
    const Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::direction});
    EXPECT_EQ(targets.values, (std::vector<float>{1, 0, 0, 0}));
    EXPECT_EQ(targets.valid, (std::vector<std::uint8_t>{1, 0, 1, 0}));
    EXPECT_EQ(targets.flat, 1u);
    EXPECT_EQ(targets.usable_rows(), 2u);
    EXPECT_EQ(session_targets(c.matrix, c.sessions, {TargetKind::next_return}).usable_rows(), 3u)
        << "a flat return is a return of 0";
}

TEST(Targets, OriginalIsClamped) {
    const TargetCase c = make_case({1000, 2000, 1990, 100, 101}, {0, 0, 0, 0, 0}, {0, 1, 2, 3});
    const Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::original});
    EXPECT_EQ(targets.values[0], 0.1f);
    EXPECT_FLOAT_EQ(targets.values[1], static_cast<float>(std::log(1990.0 / 2000)));
    EXPECT_EQ(targets.values[2], -0.1f);
    EXPECT_DOUBLE_EQ(original_probability(-0.1), 0.45);
    EXPECT_DOUBLE_EQ(original_probability(0.1), 0.55);
}

TEST(Targets, BarReturnLooksKBarsAheadAndNotPastTheEnd) {
    const TargetCase c = make_case({1000, 1010, 1020, 1030, 1040}, {0, 0, 7, 7, 7}, {0, 1, 2, 3, 4});
    const Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::bar_return, 3});
    EXPECT_FLOAT_EQ(targets.values[0], static_cast<float>(std::log(1030.0 / 1007)));
    EXPECT_FLOAT_EQ(targets.values[1], static_cast<float>(std::log(1040.0 / 1017)));
    EXPECT_EQ(targets.valid, (std::vector<std::uint8_t>{1, 1, 0, 0, 0}));
    EXPECT_THROW(session_targets(c.matrix, c.sessions, {TargetKind::bar_return, 0}), Error);
}

TEST(Targets, NonPositivePriceHasNoLogarithm) {
    const TargetCase c = make_case({1000, -5, 10, 20}, {0, 0, 0, 0}, {0, 1, 2});
    const Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::next_return});
    EXPECT_EQ(targets.valid, (std::vector<std::uint8_t>{0, 0, 1}));
    EXPECT_EQ(targets.not_positive, 2u);
    EXPECT_FLOAT_EQ(targets.values[2], static_cast<float>(std::log(2.0)));
}

TEST(Targets, BarriersAreTouchedWhereMlfinpySays) {
    const auto path = std::filesystem::path(REKINDLE_TEST_DATA) / "features" / "barriers.json";
    std::size_t touched = 0, untouched = 0;
    for (const auto& golden : nlohmann::json::parse(read_file(path))) {
        const std::vector<std::int64_t> closes = golden.at("closes");
        std::vector<std::size_t> rows(closes.size());
        std::iota(rows.begin(), rows.end(), std::size_t{0});
        TargetCase c = make_case(closes, std::vector<std::int64_t>(closes.size()), rows);
        for (std::size_t i = 0; i < rows.size(); ++i)
            c.sessions[i].end_time = static_cast<std::int64_t>(i);
        TargetSpec spec{TargetKind::barrier, golden.at("bars").get<std::size_t>()};
        spec.barrier_width = golden.at("width");
        const Targets targets = session_targets(c.matrix, c.sessions, spec);
        EXPECT_EQ(targets.no_past, TargetSpec::trailing_returns);
        for (std::size_t i = 0; i < golden.at("rows").size(); ++i) {
            const std::size_t row = golden.at("rows")[i];
            const int label = golden.at("labels")[i];
            ASSERT_EQ(targets.valid[row], label != 0) << "row " << row;
            if (label == 0) {
                ++untouched;
                continue;
            }
            ++touched;
            EXPECT_EQ(targets.values[row], label > 0 ? 1 : 0) << "row " << row;
            EXPECT_EQ(targets.outcome_at[row], golden.at("ends")[i].get<std::int64_t>()) << "row " << row;
        }
    }
    EXPECT_GT(touched, 100U);
    EXPECT_GT(untouched, 30U);
}

TEST(Targets, BarriersDependOnNothingLater) {
    std::vector<std::int64_t> closes(150);
    for (std::size_t i = 0; i < closes.size(); ++i)
        closes[i] = 1000 + static_cast<std::int64_t>(i * 37 % 23);
    std::vector<std::size_t> rows(closes.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    const std::vector<std::int64_t> offsets(closes.size());
    const TargetSpec spec{TargetKind::barrier, 6};
    const TargetCase all = make_case(closes, offsets, rows);
    const Targets expected = session_targets(all.matrix, all.sessions, spec);
    for (std::size_t i = 110; i < closes.size(); ++i)
        closes[i] *= 3;
    const TargetCase changed = make_case(closes, offsets, rows);
    const Targets targets = session_targets(changed.matrix, changed.sessions, spec);
    for (std::size_t row = 0; row + 6 < 110; ++row) {
        EXPECT_EQ(targets.valid[row], expected.valid[row]);
        EXPECT_EQ(targets.values[row], expected.values[row]);
    }
}

TEST(Targets, VolatilityIsTheRootOfTheSumOfSquaredReturns) {
    const TargetCase c = make_case({1000, 1010, 1125, 1120}, {0, 0, 100, 100}, {0, 1, 2});
    const Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::volatility, 2});
    const double first = std::log(1010.0 / 1000), second = std::log(1125.0 / 1110),
                 third = std::log(1120.0 / 1125);
    EXPECT_FLOAT_EQ(targets.values[0], static_cast<float>(std::hypot(first, second)));
    EXPECT_FLOAT_EQ(targets.values[1], static_cast<float>(std::hypot(second, third)));
    EXPECT_EQ(targets.valid, (std::vector<std::uint8_t>{1, 1, 0}));
}

TEST(Targets, MovesWithinTheDeadBandHaveNoDirection) {
    const TargetCase c = make_case({1000, 1001, 1003, 1000, 999}, {0, 0, 0, 0, 0}, {0, 1, 2, 3});
    TargetSpec spec{TargetKind::direction};
    spec.dead_band = 0.0015;
    const Targets targets = session_targets(c.matrix, c.sessions, spec);
    EXPECT_EQ(targets.valid, (std::vector<std::uint8_t>{0, 1, 1, 0}));
    EXPECT_EQ(targets.values, (std::vector<float>{0, 1, 0, 0}));
    EXPECT_EQ(targets.flat, 2U);
    spec.dead_band = -1;
    EXPECT_THROW(session_targets(c.matrix, c.sessions, spec), Error);
}

/// Brute force: visits the bars of the sessions' contracts one by one.
TEST(Targets, OfBarsSkipOtherContractsAndShiftAtRolls) {
    const auto data = fixtures::random_bars_and_sessions(6, 40, 5);
    std::vector<std::size_t> own;
    std::vector<std::int64_t> offset;
    for (const Session& session : data.sessions)
        for (std::size_t bar = session.first; bar < session.first + session.count; ++bar)
            if (data.bars.columns().contract[bar] == session.contract) {
                own.push_back(bar);
                offset.push_back(session.roll_offset);
            }
    ASSERT_EQ(own.size(), 240u);
    FeatureMatrix matrix;
    matrix.source = std::vector<std::size_t>(own.begin() + 10, own.end());
    const Targets targets = bar_targets(matrix, data.bars, data.sessions, {TargetKind::bar_return, 5, true});
    const auto close = data.bars.columns().close;
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        const std::size_t from = row + 10;
        const std::size_t to = from + 5;
        ASSERT_EQ(targets.valid[row], to < own.size());
        if (to >= own.size())
            continue;
        const auto earlier = static_cast<double>(close[own[from]] + offset[to] - offset[from]);
        EXPECT_FLOAT_EQ(targets.values[row], static_cast<float>(std::log(close[own[to]] / earlier)));
    }
}

/// No kind of bar target extends beyond the session of its row, unless requested.
TEST(Targets, OfBarsStayInTheirSession) {
    const auto data = fixtures::random_bars_and_sessions(6, 40, 5);
    std::vector<std::size_t> own, session;
    for (std::size_t s = 0; s < data.sessions.size(); ++s)
        for (std::size_t bar = data.sessions[s].first; bar < data.sessions[s].first + data.sessions[s].count;
             ++bar)
            if (data.bars.columns().contract[bar] == data.sessions[s].contract) {
                own.push_back(bar);
                session.push_back(s);
            }
    for (const TargetKind kind :
         {TargetKind::next_return, TargetKind::direction, TargetKind::bar_return, TargetKind::original})
        for (const std::size_t ahead : {1u, 5u, 39u, 40u, 300u}) {
            const TargetSpec within{kind, ahead}, across{kind, ahead, true};
            FeatureMatrix matrix;
            matrix.source = own;
            const Targets some = bar_targets(matrix, data.bars, data.sessions, within);
            const Targets all = bar_targets(matrix, data.bars, data.sessions, across);
            std::size_t beyond = 0;
            for (std::size_t row = 0; row < own.size(); ++row) {
                const std::size_t to = row + within.horizon();
                const bool known = to < own.size();
                beyond += known && session[row] != session[to];
                if (known && session[row] == session[to]) {
                    EXPECT_EQ(some.valid[row], all.valid[row]);
                    EXPECT_EQ(some.values[row], all.values[row]);
                } else {
                    EXPECT_EQ(some.valid[row], 0);
                    EXPECT_EQ(some.values[row], 0);
                }
            }
            EXPECT_EQ(some.beyond_session, beyond);
            EXPECT_EQ(all.beyond_session, 0u);
        }
}

TEST(Targets, RowsWithoutATargetAreRemovedFromBoth) {
    TargetCase c = make_case({1000, 1010, 1010, 900, 950}, {0, 0, 0, 0, 0}, {0, 1, 2, 3, 4});
    c.matrix.names = {"a"};
    c.matrix.values = std::vector<double>{10, 11, 12, 13, 14};
    c.matrix.known_at = std::vector<std::int64_t>{20, 21, 22, 23, 24};
    c.matrix.dates = std::vector<std::int32_t>{30, 31, 32, 33, 34};
    Targets targets = session_targets(c.matrix, c.sessions, {TargetKind::direction});
    keep_rows_with_target(c.matrix, targets);
    EXPECT_EQ(c.matrix.source, (std::vector<std::size_t>{0, 2, 3}));
    EXPECT_EQ(c.matrix.values, (std::vector<double>{10, 12, 13}));
    EXPECT_EQ(c.matrix.known_at, (std::vector<std::int64_t>{20, 22, 23}));
    EXPECT_EQ(c.matrix.dates, (std::vector<std::int32_t>{30, 32, 33}));
    EXPECT_EQ(targets.values, (std::vector<float>{1, 0, 1}));
    EXPECT_EQ(targets.usable_rows(), 3u);
}

TEST(Split, OmitsPurgeAndEmbargo) {
    const Split split = split_by_time(100, 0.8, 3, 4, 1);
    EXPECT_EQ(split.train(), (RowRange{0, 77}));
    EXPECT_EQ(split.validation(), (RowRange{84, 100}));
    EXPECT_FALSE(split.purge_raised);
}

TEST(Split, RaisesAPurgeBelowTheHorizon) {
    const Split split = split_by_time(100, 0.8, 1, 0, 5);
    EXPECT_EQ(split.train_end, 75u);
    EXPECT_EQ(split.purge, 5u);
    EXPECT_TRUE(split.purge_raised);
    EXPECT_EQ(split_by_time(100, 0.8, 0, 0, 0).train_end, 80u);
}

/// The reason for the purge: no training target may extend into the validation rows.
TEST(Split, NoTrainingTargetReachesTheValidationRows) {
    for (std::size_t rows = 20; rows < 60; ++rows)
        for (std::size_t horizon = 1; horizon <= 5; ++horizon) {
            const Split split = split_by_time(rows, 0.7, 0, 0, horizon);
            EXPECT_LT(split.train_end - 1 + horizon, split.validation_begin);
        }
}

TEST(Split, MatchesTheCountsOfTheOriginal) {
    EXPECT_EQ(split_by_time(961, 0.8, 0, 0, 0).train().size(), 768u); // the published "768 train" of 961 rows
}

TEST(Split, MoreRowsNeverMakeItImpossible) {
    for (const double share : {0.01, 0.3, 0.5, 0.8, 0.99})
        for (const std::size_t purge : {0u, 1u, 7u, 60u})
            for (const std::size_t embargo : {0u, 3u, 40u}) {
                bool could = false;
                for (std::size_t rows = 0; rows < 5000; ++rows) {
                    const bool can = can_be_split(rows, share, purge, embargo, 2);
                    EXPECT_TRUE(can || !could) << rows << " " << share << " " << purge << " " << embargo;
                    could = can;
                }
            }
}

TEST(Split, RejectsEmptyParts) {
    EXPECT_THROW(split_by_time(100, 0, 1, 0, 1), Error);
    EXPECT_THROW(split_by_time(100, 1, 1, 0, 1), Error);
    EXPECT_THROW(split_by_time(100, std::nan(""), 1, 0, 1), Error);
    EXPECT_THROW(split_by_time(10, 0.8, 8, 0, 1), Error);
    EXPECT_THROW(split_by_time(10, 0.8, 1, 2, 1), Error);
    EXPECT_THROW(split_by_time(0, 0.8, 1, 0, 1), Error);
    EXPECT_NO_THROW(split_by_time(10, 0.8, 7, 1, 1));
}

} // namespace
} // namespace rekindle::market
