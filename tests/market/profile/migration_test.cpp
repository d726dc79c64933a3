#include <rekindle/base/philox.h>
#include <rekindle/market/migration.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market {
namespace {

constexpr auto up = MigrationDirection::up;
constexpr auto down = MigrationDirection::down;

using Trends = std::vector<MigrationTrend>;

TEST(MigrationTrends, ByHand) {
    const auto trends = [](std::vector<double> points) { return migration_trends(points); };
    EXPECT_EQ(trends({}), Trends{});
    EXPECT_EQ(trends({100}), Trends{});
    EXPECT_EQ(trends({100, 101, 102}), Trends{}) << "two moves are not a trend";
    EXPECT_EQ(trends({100, 101, 102, 103}), (Trends{{0, 3, up, 3}})) << "open at the end";
    EXPECT_EQ(trends({100, 101, 102, 103, 103.75}), (Trends{{0, 3, up, 3}})) << "0.75 points end the run";
    EXPECT_EQ(trends({100, 101, 102, 102.75, 104, 105}), Trends{});
    EXPECT_EQ(trends({100, 101, 102, 103, 102, 101, 100}), (Trends{{0, 3, up, 3}, {3, 6, down, 3}}))
        << "the new run starts at the previous session";
    EXPECT_EQ(trends({100, 99, 98, 97, 96, 96, 90, 80, 70}), (Trends{{0, 4, down, 4}, {5, 8, down, 3}}));
}

/// Every maximal run of moves in one direction, found without a state machine.
Trends literal_trends(const std::vector<double>& points) {
    Trends trends;
    const auto sign = [&](std::size_t i) {
        const double move = points[i + 1] - points[i];
        return move >= 1 ? 1 : move <= -1 ? -1 : 0;
    };
    for (std::size_t start = 0; start + 1 < points.size(); ++start) {
        if (sign(start) == 0 || (start > 0 && sign(start - 1) == sign(start)))
            continue;
        std::size_t end = start + 1;
        while (end + 1 < points.size() && sign(end) == sign(start))
            ++end;
        if (end - start >= 3)
            trends.push_back({start, end, sign(start) > 0 ? up : down, end - start});
    }
    return trends;
}

TEST(MigrationTrends, MatchTheLiteralRuleOnRandomWalks) {
    std::size_t found = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        PhiloxStream random(seed, RandomPurpose::test);
        std::vector<double> points{100};
        for (int i = 0; i < 40; ++i)
            points.push_back(points.back() + (static_cast<double>(random.next_below(21)) - 9) / 4);
        const Trends expected = literal_trends(points);
        found += expected.size();
        ASSERT_EQ(migration_trends(points), expected) << "seed " << seed;
    }
    EXPECT_GT(found, 300u);
}

std::vector<SessionSummary> summaries(const std::vector<std::array<std::int64_t, 3>>& low_control_high) {
    std::vector<SessionSummary> sessions;
    for (const auto& [low, control, high] : low_control_high) {
        SessionSummary session;
        session.low = low;
        session.high = high;
        session.point_of_control = static_cast<double>(control);
        sessions.push_back(session);
    }
    return sessions;
}

TEST(MigrationTrends, OfSummariesAreInPointsAndCanSpanRolls) {
    auto sessions = summaries({{0, 400, 0}, {0, 404, 0}, {0, 408, 0}, {0, 412, 0}});
    EXPECT_EQ(migration_trends(sessions, {0.25}), (Trends{{0, 3, up, 3}}));
    EXPECT_EQ(migration_trends(sessions, {0.2}), Trends{}) << "0.8 points per session";
    sessions[3].point_of_control = 400;
    sessions[3].roll_offset = -12;
    EXPECT_EQ(migration_trends(sessions, {0.25}), Trends{});
    EXPECT_EQ(migration_trends(sessions, {0.25}, {}, true), (Trends{{0, 3, up, 3}}));
}

TEST(NakedPointsOfControl, MatchALinearSearch) {
    PhiloxStream random(5, RandomPurpose::test);
    NakedPointsOfControl naked;
    std::vector<NakedPointOfControl> list;
    const auto by_price = [](const NakedPointOfControl& a, const NakedPointOfControl& b) {
        return a.price != b.price ? a.price < b.price : a.session < b.session;
    };
    for (std::size_t session = 0; session < 2000; ++session) {
        const auto low = static_cast<std::int64_t>(random.next_below(400)) - 200;
        const std::int64_t high = low + random.next_below(12);
        std::vector<NakedPointOfControl> touched;
        for (const auto& point : list)
            if (point.price >= low && point.price <= high)
                touched.push_back(point);
        std::erase_if(list, [&](const auto& point) { return point.price >= low && point.price <= high; });
        std::sort(touched.begin(), touched.end(), by_price);
        ASSERT_EQ(naked.touch(low, high), touched);
        const std::int64_t price = low + random.next_below(12);
        naked.add(session, price);
        list.push_back({session, price});
        std::sort(list.begin(), list.end(), by_price);
        ASSERT_EQ(naked.all(), list);
        ASSERT_EQ(naked.size(), list.size());
        const auto above =
            std::find_if(list.begin(), list.end(), [&](const auto& p) { return p.price >= low; });
        ASSERT_EQ(naked.nearest_above(low).has_value(), above != list.end());
        if (above != list.end()) {
            ASSERT_EQ(naked.nearest_above(low)->price, above->price);
        }
        const auto below =
            std::find_if(list.rbegin(), list.rend(), [&](const auto& p) { return p.price <= low; });
        ASSERT_EQ(naked.nearest_below(low).has_value(), below != list.rend());
        if (below != list.rend()) {
            ASSERT_EQ(naked.nearest_below(low)->price, below->price);
        }
    }
    EXPECT_TRUE(naked.touch(1, 0).empty()) << "an empty range touches nothing";
}

TEST(NakedPointsOfControl, FirstTouchesByHand) {
    auto sessions =
        summaries({{90, 100, 110}, {105, 108, 112}, {101, 104, 107}, {95, 96, 103}, {108, 109, 110}});
    using Touches = std::vector<std::optional<std::size_t>>;
    EXPECT_EQ(first_touches(sessions), (Touches{3, 4, std::nullopt, std::nullopt, std::nullopt}));
    // From session 3 on the contract trades 10 lower; its prices are 10 higher on the first one's scale.
    for (std::size_t s = 3; s < 5; ++s)
        sessions[s].roll_offset = -10;
    EXPECT_EQ(first_touches(sessions), (Touches{std::nullopt, 3, std::nullopt, std::nullopt, std::nullopt}));
}

} // namespace
} // namespace rekindle::market
