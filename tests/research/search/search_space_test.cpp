/// The points of a search, against SciPy's Sobol sequence (make_golden.py) and by hand.

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/research/search_space.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

namespace rekindle::research {
namespace {

using ::testing::HasSubstr;
using OrderedJson = nlohmann::ordered_json;

std::string refusal(const std::string& text) {
    try {
        parse_dimension(text);
    } catch (const Error& error) {
        return error.render();
    }
    return "accepted";
}

TEST(SearchSpace, SobolPointsAreThoseOfSciPy) {
    const OrderedJson golden =
        OrderedJson::parse(read_file(std::filesystem::path(REKINDLE_TEST_DATA) / "sobol.json"));
    for (const OrderedJson& row : golden)
        EXPECT_EQ(sobol_point(row.at("index"), sobol_dimensions),
                  row.at("point").get<std::vector<std::uint32_t>>())
            << row.at("index");
}

TEST(SearchSpace, ChoicesHaveTheTypeOfTheirSetting) {
    EXPECT_EQ(parse_dimension("dropout-rate=0|0.25").choices, (std::vector<OrderedJson>{0.0, 0.25}));
    EXPECT_EQ(parse_dimension("--batch-size=8|16").choices, (std::vector<OrderedJson>{8, 16}));
    EXPECT_EQ(parse_dimension("hidden_layers = 32,16 | 64").choices,
              (std::vector<OrderedJson>{OrderedJson::array({32, 16}), OrderedJson::array({64})}));
    EXPECT_EQ(
        parse_dimension("features=session|session,gap").choices,
        (std::vector<OrderedJson>{OrderedJson::array({"session"}), OrderedJson::array({"session", "gap"})}));
    EXPECT_EQ(parse_dimension("target=return|direction").choices,
              (std::vector<OrderedJson>{"return", "direction"}));
    EXPECT_EQ(parse_dimension("train-rows=100|200").choices, (std::vector<OrderedJson>{100, 200}));
}

TEST(SearchSpace, IntervalsAreLinearLogarithmicOrWhole) {
    const Dimension rate = parse_dimension("learning-rate=1e-4..1e-2/5@log");
    EXPECT_NEAR(rate.at(0.5).get<double>(), 1e-3, 1e-12);
    const auto grid = rate.grid();
    ASSERT_EQ(grid.size(), 5U);
    EXPECT_NEAR(grid.front().get<double>(), 1e-4, 1e-16);
    EXPECT_NEAR(grid.back().get<double>(), 1e-2, 1e-14);
    EXPECT_NEAR(parse_dimension("dropout-rate=0..0.5").at(0.5).get<double>(), 0.25, 1e-12);
    const Dimension batch = parse_dimension("batch-size=8..64");
    EXPECT_TRUE(batch.at(0.3).is_number_integer());
    EXPECT_EQ(parse_dimension("batch-size=1..3/50").grid(), (std::vector<OrderedJson>{1, 2, 3}));
}

TEST(SearchSpace, WrongValuesAreNamed) {
    EXPECT_THAT(refusal("learning-rate"), HasSubstr("there is no ="));
    EXPECT_THAT(refusal("seed=1|2"), HasSubstr("seed cannot vary"));
    EXPECT_THAT(refusal("learning-rat=1|2"), HasSubstr("learning-rate"));
    EXPECT_THAT(refusal("learning-rate=fast"), HasSubstr("not a number"));
    EXPECT_THAT(refusal("learning-rate=1e-2..1e-4"), HasSubstr("the lower one first"));
    EXPECT_THAT(refusal("learning-rate=0..1@log"), HasSubstr("above 0"));
    EXPECT_THAT(refusal("learning-rate=1e-4..1e-2@cubic"), HasSubstr("@log"));
    EXPECT_THAT(refusal("learning-rate=1e-4..1e-2/1"), HasSubstr("grid points"));
    EXPECT_THAT(refusal("dropout-rate=0.2|1.5"), HasSubstr("dropout_rate"));
    EXPECT_THAT(refusal("dropout-rate=0.2||0.3"), HasSubstr("a value is missing"));
    EXPECT_THAT(refusal("features=session|gapp"), HasSubstr("gapp"));
    EXPECT_THAT(refusal("features=1..2"), HasSubstr("no interval"));
    EXPECT_THAT(refusal("train-rows=0|5"), HasSubstr("1 or more"));
}

TEST(SearchSpace, GridsHaveEveryCombinationOnce) {
    const SearchPoints points({parse_dimension("dropout-rate=0|0.2|0.4"), parse_dimension("batch-size=8|16")},
                              SearchMethod::grid, 1);
    ASSERT_EQ(points.count(), 6U);
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < points.count(); ++i)
        seen.insert(OrderedJson(points.at(i)).dump());
    EXPECT_EQ(seen.size(), 6U);
    EXPECT_THROW(SearchPoints({parse_dimension("dropout-rate=0..0.5")}, SearchMethod::grid, 1), Error);
}

/// A point that was tried twice would count as two settings in the judgment.
TEST(SearchSpace, SmallSpacesHaveNoPointTwice) {
    for (const SearchMethod method : {SearchMethod::random, SearchMethod::sobol, SearchMethod::halving}) {
        const SearchPoints points(
            {parse_dimension("dropout-rate=0|0.2|0.4"), parse_dimension("batch-size=5..24")}, method, 3);
        ASSERT_EQ(points.count(), 60U);
        std::set<std::string> seen;
        for (std::uint64_t i = 0; i < points.count(); ++i)
            seen.insert(OrderedJson(points.at(i)).dump());
        EXPECT_EQ(seen.size(), 60U);
    }
    EXPECT_EQ(SearchPoints({parse_dimension("dropout-rate=0..0.5")}, SearchMethod::sobol, 1).count(), 0U);
    EXPECT_EQ(SearchPoints({parse_dimension("batch-size=1..100000")}, SearchMethod::sobol, 1).count(), 0U);
}

/// A point depends on the seed alone, and a sequence spreads over the space.
TEST(SearchSpace, RandomAndSobolPointsCoverTheSpace) {
    for (const SearchMethod method : {SearchMethod::random, SearchMethod::sobol}) {
        const std::vector<Dimension> dimensions{parse_dimension("dropout-rate=0..0.5"),
                                                parse_dimension("activation=silu|relu|gelu|tanh")};
        const SearchPoints points(dimensions, method, 7), same(dimensions, method, 7),
            other(dimensions, method, 8);
        constexpr std::uint64_t count = 1024;
        double sum = 0;
        std::map<std::string, int> words;
        for (std::uint64_t i = 0; i < count; ++i) {
            const SearchPoint point = points.at(i);
            EXPECT_EQ(point, same.at(i));
            sum += point[0].get<double>();
            ++words[point[1].get<std::string>()];
        }
        EXPECT_NE(points.at(3), other.at(3));
        EXPECT_NEAR(sum / count, 0.25, 0.02);
        ASSERT_EQ(words.size(), 4U);
        for (const auto& [word, times] : words)
            EXPECT_NEAR(times, count / 4, method == SearchMethod::sobol ? 1 : 60) << word;
    }
}

} // namespace
} // namespace rekindle::research
