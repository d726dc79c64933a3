/// Sessions without volume: the features that need it are omitted, the others keep their rows and values.

#include "features/feature_testing.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/features.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::vector<SessionSummary> without_volume(std::vector<SessionSummary> sessions) {
    for (SessionSummary& session : sessions) {
        session.total_volume = 0;
        session.point_of_control = session.vwap = static_cast<double>(session.close);
        session.value_area_low = static_cast<double>(session.low);
        session.value_area_high = static_cast<double>(session.high);
    }
    return sessions;
}

TEST(NoVolume, OtherFeaturesKeepTheirRowsAndValues) {
    ThreadPool pool(2);
    const auto traded = fixtures::random_summaries(259, 3);
    const FeatureMatrix full = session_features(traded, fixtures::golden_tick, {"session"}, pool);
    const FeatureMatrix rest =
        session_features(without_volume(traded), fixtures::golden_tick, {"session"}, pool);
    EXPECT_EQ(full.columns(), 54u);
    EXPECT_EQ(rest.rows(), full.rows());
    ASSERT_FALSE(rest.names.empty());
    for (std::size_t column = 0; column < rest.columns(); ++column) {
        const auto same = std::find(full.names.begin(), full.names.end(), rest.names[column]);
        ASSERT_NE(same, full.names.end());
        for (std::size_t row = 0; row < rest.rows(); ++row)
            ASSERT_EQ(rest.at(row, column), full.at(row, static_cast<std::size_t>(same - full.names.begin())))
                << rest.names[column];
    }
    EXPECT_THAT(rest.names, Contains("price_mom_50d"));
    EXPECT_THAT(rest.names, testing::Each(testing::AllOf(
                                testing::Not(HasSubstr("vpoc")), testing::Not(HasSubstr("volume")),
                                testing::Not(HasSubstr("value_area")), testing::Not(HasSubstr("va_width")))));
    ASSERT_EQ(rest.notes.size(), 1u);
    EXPECT_THAT(rest.notes[0], HasSubstr("omitted because no bar has volume: vpoc, total_volume"));
    EXPECT_THAT(rest.notes[0], HasSubstr("volume_trend_50d"));
}

/// A feature is marked exactly if it depends on the volume or on the levels that come from it.
TEST(NoVolume, TheTableMarksWhatDependsOnVolume) {
    auto sessions = fixtures::random_summaries(120, 4);
    auto changed = sessions;
    for (std::size_t i = 0; i < changed.size(); ++i) {
        SessionSummary& session = changed[i];
        session.total_volume = session.total_volume * 2 + static_cast<std::int64_t>(i * i % 97) + 1;
        session.bid_volume = static_cast<std::int64_t>(i * 7919 % 300'000);
        session.ask_volume = static_cast<std::int64_t>(i * 104'729 % 300'000) + 1;
        session.point_of_control = static_cast<double>(session.low + (session.high - session.low) / 3);
        session.vwap += 0.25 * (static_cast<double>(session.high) - session.vwap);
        session.value_area_low = static_cast<double>(session.low) + 0.1;
        session.value_area_high = static_cast<double>(session.high) - 0.1 * static_cast<double>(i % 5);
    }
    const SessionHistory one(sessions, fixtures::golden_tick), other(changed, fixtures::golden_tick);
    for (const SessionFeature& feature : session_feature_table()) {
        bool differs = false;
        for (std::size_t t = 60; t < sessions.size(); ++t) {
            const double a = feature.value(one, t, feature.period),
                         b = feature.value(other, t, feature.period);
            differs |= a != b && !(std::isnan(a) && std::isnan(b));
        }
        EXPECT_EQ(feature.info.needs_volume, differs) << feature.info.name;
    }
}

TEST(NoVolume, GroupsThatNeedNothingElseAreRefused) {
    ThreadPool pool(1);
    const auto sessions = without_volume(fixtures::random_summaries(100, 5));
    try {
        session_features(sessions, fixtures::golden_tick, {"naked-poc"}, pool);
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_THAT(error.render(), HasSubstr("needs volume"));
    }
    EXPECT_GT(session_features(sessions, fixtures::golden_tick, {"naked-poc", "gap"}, pool).columns(), 0u);
}

TEST(NoVolume, WarningNamesTheShare) {
    EXPECT_EQ(missing_volume_warning(0, 100), "");
    EXPECT_EQ(missing_volume_warning(4, 100), "");
    EXPECT_THAT(missing_volume_warning(40, 100), HasSubstr("In 40 of 100 sessions"));
    EXPECT_THAT(missing_volume_warning(100, 100), HasSubstr("No bar has volume"));
    EXPECT_THAT(missing_volume_warning(100, 100), HasSubstr("mean nothing"));
}

} // namespace
} // namespace rekindle::market
