#include "features/feature_testing.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/features.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace rekindle::market {
namespace {

using fixtures::expect_equals_golden;
using fixtures::golden_summaries;
using fixtures::golden_tick;
using fixtures::random_summaries;

TEST(SessionFeatures, MatchPandasAcrossRolls) {
    ThreadPool pool(1);
    expect_equals_golden(session_features(golden_summaries(), golden_tick, {"session"}, pool),
                         "session_features_rolled.csv");
}

TEST(SessionFeatures, MatchPandasWithMixedContracts) {
    ThreadPool pool(1);
    expect_equals_golden(session_features(golden_summaries(true), golden_tick, {"session"}, pool),
                         "session_features_mixed.csv");
}

TEST(SessionFeatures, OptionalGroupsMatchPandas) {
    ThreadPool pool(1);
    // The order of the groups' names does not matter.
    expect_equals_golden(session_features(golden_summaries(), golden_tick,
                                          {"naked-poc", "calendar", "gap", "vix", "returns"}, pool),
                         "optional_features.csv");
}

TEST(SessionFeatures, QuarterlyExpiryDates) {
    // 2024-06-20, the day before the expiry of ES 06-24, to 2024-06-24, the Monday after it.
    auto sessions = random_summaries(4, 1);
    const std::vector<std::int32_t> dates{19894, 19895, 19896, 19898};
    for (std::size_t i = 0; i < dates.size(); ++i)
        sessions[i].date = dates[i];
    ThreadPool pool(1);
    const FeatureMatrix matrix = session_features(sessions, golden_tick, {"calendar"}, pool);
    EXPECT_EQ(matrix.names, (std::vector<std::string>{"session_weekday", "session_month", "days_to_expiry",
                                                      "expiry_week"}));
    EXPECT_EQ(matrix.values, (std::vector<double>{3, 6, 1, 1, 4, 6, 0, 1, 5, 6, 90, 0, 0, 6, 88, 0}));
}

TEST(SessionFeatures, NakedPointsOfControlOnBothSides) {
    const auto session = [](std::int64_t low, std::int64_t high, double point_of_control, std::int64_t close,
                            std::int64_t roll_offset) {
        SessionSummary s;
        s.low = low;
        s.high = high;
        s.open = s.close = close;
        s.point_of_control = point_of_control;
        s.roll_offset = roll_offset;
        s.total_volume = 1;
        return s;
    };
    // The third session belongs to a contract 1,000 ticks higher; the fourth trades at the first one's 1,050.
    const std::vector<SessionSummary> sessions{
        session(1000, 1100, 1050, 1090, 0), session(1200, 1300, 1250, 1220, 0),
        session(2120, 2180, 2150, 2160, 1000), session(2040, 2110, 2045, 2100, 1000)};
    ThreadPool pool(1);
    const FeatureMatrix matrix = session_features(sessions, golden_tick, {"naked-poc"}, pool);
    EXPECT_EQ(matrix.names, (std::vector<std::string>{"naked_poc_above_pct", "naked_poc_below_pct"}));
    EXPECT_EQ(matrix.values, (std::vector<double>{10, 10,                                // none yet
                                                  10, 10,                                // 1,050 is 14 % away
                                                  100 * 90 / 2160.0, 100 * 110 / 2160.0, // 2,250 and 2,050
                                                  100 * 50 / 2100.0, 10})); // 2,150 of the session before
}

TEST(SessionFeatures, VixGroupNeedsTheVix) {
    auto sessions = random_summaries(60, 1);
    for (SessionSummary& session : sessions)
        session.vix = std::numeric_limits<double>::quiet_NaN();
    ThreadPool pool(1);
    EXPECT_THROW(session_features(sessions, golden_tick, {"session", "vix"}, pool), Error);
    EXPECT_NO_THROW(session_features(sessions, golden_tick, {"session"}, pool));
    sessions[30].vix = 20; // one value is not enough for a z-score
    try {
        session_features(sessions, golden_tick, {"vix"}, pool);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(error.render().find("vix_zscore_20d (60 rows)"), std::string::npos) << error.render();
    }
}

TEST(SessionFeatures, AreThe54OfTheOriginalInItsOrder) {
    std::vector<std::string> names{"vpoc",
                                   "total_volume",
                                   "value_area_low",
                                   "value_area_high",
                                   "value_area_width",
                                   "price_range",
                                   "range_pct",
                                   "close_change_pct",
                                   "session_high",
                                   "session_low",
                                   "session_open",
                                   "session_close",
                                   "vwap",
                                   "close_to_vwap_pct"};
    for (const std::string p : {"5d", "10d", "20d", "50d"})
        for (const std::string name :
             {"price_mom_", "volatility_", "volume_trend_", "vpoc_change_", "vpoc_pct_change_",
              "range_change_", "va_width_", "va_width_change_", "vpoc_std_", "vpoc_zscore_"})
            names.push_back(name + p + (name == "va_width_" ? "_ma" : ""));
    ThreadPool pool(1);
    const FeatureMatrix matrix = session_features(random_summaries(60, 1), golden_tick, {"session"}, pool);
    EXPECT_EQ(matrix.names, names);
    EXPECT_EQ(matrix.columns(), 54u);
    EXPECT_EQ(matrix.rows(), 10u);
    EXPECT_EQ(matrix.dropped_first, 50u);
    EXPECT_EQ(matrix.source.front(), 50u);
}

TEST(SessionFeatures, OmitLookBacksThatAreTooLong) {
    ThreadPool pool(1);
    const auto columns = [&](std::size_t sessions) {
        return session_features(random_summaries(sessions, 1), golden_tick, {"session"}, pool).columns();
    };
    EXPECT_EQ(columns(50), 44u);
    EXPECT_EQ(columns(51), 54u);
    EXPECT_EQ(columns(6), 24u);
    EXPECT_EQ(columns(5), 14u);
    EXPECT_EQ(
        session_features(random_summaries(50, 1), golden_tick, {"session"}, pool).notes,
        std::vector<std::string>{"the features over 50 sessions are omitted: there are only 50 sessions"});
}

TEST(SessionFeatures, SkipAndReportRowsWithoutAFiniteValue) {
    auto sessions = random_summaries(80, 1);
    sessions[60].total_volume = 0; // volume_trend of session 65 divides by it
    ThreadPool pool(1);
    const FeatureMatrix matrix = session_features(sessions, golden_tick, {"session"}, pool);
    EXPECT_EQ(matrix.dropped_first, 50u);
    EXPECT_EQ(matrix.dropped_later, 2u); // sessions 65 and 70
    EXPECT_EQ(matrix.rows(), 28u);
    ASSERT_EQ(matrix.notes.size(), 1u);
    EXPECT_EQ(matrix.notes[0], "2 sessions skipped because a feature has no finite value there: "
                               "volume_trend_5d (1 row), volume_trend_10d (1 row)");
    EXPECT_TRUE(std::none_of(matrix.source.begin(), matrix.source.end(),
                             [](std::size_t session) { return session == 65 || session == 70; }));
}

TEST(SessionFeatures, ConstantWindowHasZeroStd) {
    auto sessions = random_summaries(60, 1);
    for (std::size_t i = 40; i < 60; ++i) {
        sessions[i].open = 16003;
        sessions[i].close = 16010;
    }
    ThreadPool pool(1);
    const FeatureMatrix matrix = session_features(sessions, golden_tick, {"session"}, pool);
    const auto column =
        std::find(matrix.names.begin(), matrix.names.end(), "volatility_5d") - matrix.names.begin();
    EXPECT_EQ(matrix.at(matrix.rows() - 1, static_cast<std::size_t>(column)), 0.0);
}

TEST(SessionFeatures, RejectInvalidGroups) {
    ThreadPool pool(1);
    const auto sessions = random_summaries(60, 1);
    const auto status_and_text = [&](const std::vector<std::string>& groups) {
        try {
            session_features(sessions, golden_tick, groups, pool);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return std::string("accepted");
    };
    EXPECT_NE(status_and_text({"sesion"}).find("Did you mean session?"), std::string::npos);
    EXPECT_NE(status_and_text({"minute"}).find("one row per bar"), std::string::npos);
    EXPECT_NE(status_and_text({}).find("no feature group"), std::string::npos);
}

TEST(SessionFeatures, NoSessionIsAnError) {
    ThreadPool pool(1);
    EXPECT_THROW(session_features({}, golden_tick, {"session"}, pool), Error);
}

TEST(SessionFeatures, BitIdenticalForAnyNumberOfThreads) {
    const auto sessions = random_summaries(700, 3);
    ThreadPool one(1);
    ThreadPool three(3);
    EXPECT_TRUE(fixtures::identical(session_features(sessions, golden_tick, {"session"}, one),
                                    session_features(sessions, golden_tick, {"session"}, three)));
}

TEST(SessionFeatures, DoNotDependOnTheFirstRollOffset) {
    auto sessions = random_summaries(150, 3);
    ThreadPool pool(1);
    const FeatureMatrix before = session_features(sessions, golden_tick, {"session"}, pool);
    for (SessionSummary& session : sessions)
        session.roll_offset += 12345;
    EXPECT_TRUE(fixtures::identical(before, session_features(sessions, golden_tick, {"session"}, pool)));
}

TEST(FeatureTable, RowsAreComplete) {
    std::set<std::string> names;
    for (const FeatureInfo& info : feature_table()) {
        EXPECT_TRUE(names.insert(info.name).second) << info.name << " occurs twice";
        EXPECT_FALSE(info.formula.empty()) << info.name;
        EXPECT_GE(info.first_valid_session, std::max(info.look_back, 0)) << info.name;
        EXPECT_NE(feature_table_markdown().find("| `" + info.name + "` |"), std::string::npos);
    }
    EXPECT_EQ(feature_groups().front(), "session");
}

/// The prefix test: one line per feature with a violation, "" if there is none. The value at session t must
/// be bit-identical regardless of what comes after t.
std::string prefix_violations(std::span<const SessionFeature> features,
                              const std::vector<SessionSummary>& sessions) {
    const SessionHistory whole(sessions, golden_tick);
    std::map<std::string, std::string> found;
    for (std::size_t t = 0; t < sessions.size(); ++t) {
        const std::vector<SessionSummary> prefix(sessions.begin(),
                                                 sessions.begin() + static_cast<std::ptrdiff_t>(t) + 1);
        const SessionHistory then(prefix, golden_tick);
        for (const SessionFeature& feature : features) {
            const auto first = static_cast<std::size_t>(feature.info.first_valid_session);
            if (t < first)
                continue;
            const double seen_then = feature.value(then, t, feature.period);
            const double seen_later = feature.value(whole, t, feature.period);
            const std::string of_session = feature.info.name + " of session " + std::to_string(t);
            if (std::bit_cast<std::uint64_t>(seen_then) != std::bit_cast<std::uint64_t>(seen_later))
                found.emplace(feature.info.name, of_session + " changes when the future is known\n");
            else if (!std::isfinite(seen_then))
                found.emplace(feature.info.name, of_session + " has no value\n");
        }
    }
    std::string text;
    for (const auto& [name, line] : found)
        text += line;
    return text;
}

TEST(PrefixTest, HoldsForEveryFeatureOfTheTable) {
    ASSERT_GE(session_feature_table().size(), 54u);
    EXPECT_EQ(prefix_violations(session_feature_table(), random_summaries(140, 11)), "");
}

TEST(PrefixTest, FindsAFeatureThatLooksAhead) {
    const SessionFeature peeks{{"tomorrow", "test", "close of the next session", 0, 0},
                               0,
                               [](const SessionHistory& history, std::size_t t, std::size_t) {
                                   const std::size_t next = std::min(t + 1, history.size() - 1);
                                   return history.close(next, next);
                               }};
    EXPECT_EQ(prefix_violations(std::span(&peeks, 1), random_summaries(140, 11)),
              "tomorrow of session 0 changes when the future is known\n");
}

TEST(PrefixTest, FeaturesReadNoMoreThanTheirLookBack) {
    const auto sessions = random_summaries(140, 12);
    for (const SessionFeature& feature : session_feature_table()) {
        if (feature.info.look_back == FeatureInfo::all_earlier)
            continue;
        constexpr std::size_t t = 120;
        const std::size_t first = t - static_cast<std::size_t>(feature.info.look_back);
        auto changed = sessions;
        for (std::size_t s = 0; s < first; ++s) {
            changed[s] = random_summaries(140, 99)[s];
            changed[s].roll_offset = sessions[s].roll_offset;
        }
        EXPECT_EQ(feature.value(SessionHistory(sessions, golden_tick), t, feature.period),
                  feature.value(SessionHistory(changed, golden_tick), t, feature.period))
            << feature.info.name << " reads more than its look-back";
    }
}

TEST(PrefixTest, HoldsForTheMatrix) {
    const auto sessions = random_summaries(140, 13);
    ThreadPool pool(2);
    const FeatureMatrix whole = session_features(sessions, golden_tick, {"session"}, pool);
    for (const std::size_t count : {51u, 52u, 77u, 129u, 139u}) {
        const FeatureMatrix prefix =
            session_features(std::span(sessions).first(count), golden_tick, {"session"}, pool);
        ASSERT_EQ(prefix.names, whole.names);
        ASSERT_EQ(prefix.rows(), count - 50);
        for (std::size_t row = 0; row < prefix.rows(); ++row) {
            EXPECT_EQ(prefix.source[row], whole.source[row]);
            EXPECT_TRUE(std::ranges::equal(prefix.row(row), whole.row(row)));
        }
    }
}

} // namespace
} // namespace rekindle::market
