#include "features/feature_testing.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/features.h>
#include <rekindle/market/scaler.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::market {
namespace {

FeatureMatrix golden_features() {
    ThreadPool pool(1);
    return session_features(fixtures::golden_summaries(), {0.25}, {"session"}, pool);
}

/// One column per vector.
FeatureMatrix matrix_of(const std::vector<std::vector<double>>& columns) {
    FeatureMatrix matrix;
    for (std::size_t column = 0; column < columns.size(); ++column)
        matrix.names.push_back("f" + std::to_string(column));
    const std::size_t rows = columns[0].size();
    std::vector<double> values;
    for (std::size_t row = 0; row < rows; ++row)
        for (const auto& column : columns)
            values.push_back(column[row]);
    matrix.values = values;
    matrix.source = std::vector<std::size_t>(rows);
    matrix.known_at = std::vector<std::int64_t>(rows);
    matrix.dates = std::vector<std::int32_t>(rows);
    return matrix;
}

class AgainstScikitLearn : public ::testing::TestWithParam<const char*> {};

TEST_P(AgainstScikitLearn, CenterScaleAndResultAgree) {
    const auto golden =
        nlohmann::json::parse(read_file(fixtures::golden_folder() / "scaler.json")).at(GetParam());
    const FeatureMatrix matrix = golden_features();
    ThreadPool pool(2);
    const RowRange train{0, golden.at("rows").get<std::size_t>()};
    const Scaler scaler = Scaler::fit(matrix, train, scaler_kind_from_string(GetParam()), pool);
    const auto scaled = scaler.transform(matrix, {matrix.rows() - 1, matrix.rows()}, pool);
    for (std::size_t i = 0; i < matrix.columns(); ++i) {
        const double center = golden.at("center").at(i);
        const double scale = golden.at("scale").at(i);
        const double result = golden.at("last_row").at(i);
        EXPECT_NEAR(scaler.center[i], center, 1e-12 * std::max(1.0, std::abs(center))) << matrix.names[i];
        EXPECT_NEAR(scaler.scale[i], scale, 1e-12 * std::max(1.0, scale)) << matrix.names[i];
        EXPECT_NEAR(scaled[i], result, 1e-6 * std::max(1.0, std::abs(result))) << matrix.names[i];
    }
}

INSTANTIATE_TEST_SUITE_P(Scaler, AgainstScikitLearn, ::testing::Values("robust", "standard"));

TEST(Scaler, QuartilesMatchThoseOfSortedValues) {
    ThreadPool pool(1);
    for (std::size_t n = 1; n <= 12; ++n) {
        std::vector<double> values;
        for (std::size_t i = 0; i < n; ++i)
            values.push_back(static_cast<double>(i * 7 % 11) - 3);
        const Scaler scaler = Scaler::fit(matrix_of({values}), {0, n}, Scaler::Kind::robust, pool);
        std::sort(values.begin(), values.end());
        const auto quantile = [&](double q) {
            const double position = q * static_cast<double>(n - 1);
            const auto below = static_cast<std::size_t>(std::floor(position));
            const std::size_t above = std::min(below + 1, n - 1);
            return values[below] + (values[above] - values[below]) * (position - std::floor(position));
        };
        EXPECT_DOUBLE_EQ(scaler.center[0], quantile(0.5)) << n;
        const double spread = quantile(0.75) - quantile(0.25);
        EXPECT_DOUBLE_EQ(scaler.scale[0], spread == 0 ? 1 : spread) << n;
    }
}

TEST(Scaler, IsFittedOnlyOnItsRange) {
    ThreadPool pool(1);
    FeatureMatrix matrix = golden_features();
    const Scaler before = Scaler::fit(matrix, {2, 12}, Scaler::Kind::robust, pool);
    for (std::size_t row = 0; row < matrix.rows(); ++row)
        if (row < 2 || row >= 12)
            for (std::size_t column = 0; column < matrix.columns(); ++column)
                matrix.values[row * matrix.columns() + column] = 1e6;
    EXPECT_EQ(Scaler::fit(matrix, {2, 12}, Scaler::Kind::robust, pool), before);
}

TEST(Scaler, ConstantColumnHasScaleOne) {
    ThreadPool pool(1);
    // Three times 0.1 has a mean that is not 0.1, so the std is only rounding error.
    for (const auto kind : {Scaler::Kind::robust, Scaler::Kind::standard}) {
        const Scaler scaler =
            Scaler::fit(matrix_of({{0.1, 0.1, 0.1}, {1e9, 1e9, 1e9}, {0, 0, 0}}), {0, 3}, kind, pool);
        EXPECT_EQ(scaler.scale, (std::vector<double>{1, 1, 1}));
    }
}

TEST(Scaler, ClipsAtTen) {
    ThreadPool pool(1);
    const FeatureMatrix matrix = matrix_of({{1, 2, 3, 4, 1e6, -1e6}});
    const Scaler scaler = Scaler::fit(matrix, {0, 4}, Scaler::Kind::robust, pool);
    const auto scaled = scaler.transform(matrix, {0, 6}, pool);
    EXPECT_EQ(scaled[4], 10.0f);
    EXPECT_EQ(scaled[5], -10.0f);
    EXPECT_EQ(scaled[0], -1.0f);
}

TEST(Scaler, NoneLeavesValuesUnchanged) {
    ThreadPool pool(1);
    const FeatureMatrix matrix = matrix_of({{1, -2000, 3.5}});
    const Scaler scaler = Scaler::fit(matrix, {0, 3}, Scaler::Kind::none, pool);
    EXPECT_EQ(scaler.transform(matrix, {0, 3}, pool), (std::vector<float>{1, -2000, 3.5}));
}

TEST(Scaler, BitIdenticalForAnyNumberOfThreads) {
    const FeatureMatrix matrix = golden_features();
    ThreadPool one(1);
    ThreadPool three(3);
    for (const auto kind : {Scaler::Kind::robust, Scaler::Kind::standard}) {
        const Scaler scaler = Scaler::fit(matrix, {0, 15}, kind, one);
        EXPECT_EQ(scaler, Scaler::fit(matrix, {0, 15}, kind, three));
        EXPECT_EQ(scaler.transform(matrix, {0, matrix.rows()}, one),
                  scaler.transform(matrix, {0, matrix.rows()}, three));
        const auto row = scaler.transform_row(matrix.row(3));
        const auto rows = scaler.transform(matrix, {3, 4}, one);
        EXPECT_EQ(row, rows);
    }
}

TEST(Scaler, NamesTheFeatureThatIsNotFinite) {
    ThreadPool pool(1);
    FeatureMatrix matrix = golden_features();
    const Scaler scaler = Scaler::fit(matrix, {0, 15}, Scaler::Kind::robust, pool);
    matrix.values[3 * matrix.columns() + 12] = std::numeric_limits<double>::quiet_NaN();
    const auto message = [](const auto& call) {
        try {
            call();
        } catch (const Error& error) {
            return error.render();
        }
        return std::string("accepted");
    };
    EXPECT_NE(message([&] {
                  Scaler::fit(matrix, {0, 15}, Scaler::Kind::robust, pool);
              }).find("feature vwap is nan in row 3"),
              std::string::npos);
    EXPECT_NE(message([&] {
                  scaler.transform(matrix, {0, 15}, pool);
              }).find("feature vwap"),
              std::string::npos);
}

TEST(Scaler, RejectsOtherFeatures) {
    ThreadPool pool(1);
    FeatureMatrix matrix = golden_features();
    const Scaler scaler = Scaler::fit(matrix, {0, 15}, Scaler::Kind::robust, pool);
    matrix.names[5] = "bar_range";
    try {
        scaler.transform(matrix, {0, 1}, pool);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_EQ(error.message(), "column 6 of the features is bar_range");
    }
}

TEST(Scaler, RejectsAnEmptyRange) {
    ThreadPool pool(1);
    const FeatureMatrix matrix = golden_features();
    EXPECT_THROW(Scaler::fit(matrix, {5, 5}, Scaler::Kind::robust, pool), Error);
    EXPECT_THROW(Scaler::fit(matrix, {0, matrix.rows() + 1}, Scaler::Kind::robust, pool), Error);
}

TEST(ScalerJson, RoundTripIsExact) {
    ThreadPool pool(1);
    const FeatureMatrix matrix = golden_features();
    for (const auto kind : {Scaler::Kind::robust, Scaler::Kind::standard, Scaler::Kind::none}) {
        const Scaler scaler = Scaler::fit(matrix, {0, 15}, kind, pool);
        EXPECT_EQ(nlohmann::json::parse(nlohmann::json(scaler).dump()).get<Scaler>(), scaler);
    }
}

TEST(ScalerJson, EarlySpellingOfTheCenterIsRead) {
    ThreadPool pool(1);
    const Scaler scaler = Scaler::fit(golden_features(), {0, 15}, Scaler::Kind::robust, pool);
    nlohmann::json early = scaler;
    early["centre"] = early.at("center"); // codespell:ignore
    early.erase("center");
    EXPECT_EQ(early.get<Scaler>(), scaler);
}

TEST(ScalerJson, RejectsInvalidValues) {
    ThreadPool pool(1);
    const nlohmann::json good = Scaler::fit(golden_features(), {0, 15}, Scaler::Kind::robust, pool);
    const auto rejected = [&](const char* key, const nlohmann::json& value) {
        nlohmann::json bad = good;
        bad[key] = value;
        try {
            (void)bad.get<Scaler>();
        } catch (const Error& error) {
            return error.status() == ExitStatus::usage;
        }
        return false;
    };
    nlohmann::json zero_scale = good.at("scale");
    zero_scale[7] = 0;
    EXPECT_TRUE(rejected("scale", zero_scale));
    EXPECT_TRUE(rejected("scale", "wide"));
    EXPECT_TRUE(rejected("center", nlohmann::json::array({1.0})));
    EXPECT_TRUE(rejected("center", nullptr));
    EXPECT_TRUE(rejected("kind", "minmax"));
    EXPECT_TRUE(rejected("clip", -1));
    EXPECT_TRUE(rejected("clip", true));
    EXPECT_TRUE(rejected("rows", -1));
    EXPECT_TRUE(rejected("rows", 2.5));
    EXPECT_TRUE(rejected("features", nlohmann::json::array({1})));
    nlohmann::json with_flag = good.at("center");
    with_flag[3] = true;
    EXPECT_TRUE(rejected("center", with_flag));
    nlohmann::json short_one = good;
    short_one.erase("features");
    EXPECT_THROW((void)short_one.get<Scaler>(), Error);
}

/// A damaged file gives either an Error or a usable scaler.
TEST(ScalerJson, DamagedTextIsRejectedOrUsable) {
    ThreadPool pool(1);
    const FeatureMatrix matrix = golden_features();
    const std::string text = nlohmann::json(Scaler::fit(matrix, {0, 15}, Scaler::Kind::robust, pool)).dump();
    PhiloxStream random(9, RandomPurpose::test, 2, 0);
    const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random.next_u64() % limit); };
    constexpr std::string_view replacements = "0123456789-+.eE\",:[]{}nulltrue ";
    std::size_t rejected = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string damaged = text;
        for (std::size_t edits = 1 + below(3); edits > 0; --edits)
            damaged[below(damaged.size())] = replacements[below(replacements.size())];
        if (below(4) == 0)
            damaged.resize(below(damaged.size()));
        const nlohmann::json json = nlohmann::json::parse(damaged, nullptr, false);
        try {
            const auto scaler = json.get<Scaler>();
            for (const double scale : scaler.scale)
                ASSERT_GT(scale, 0);
            ASSERT_EQ(scaler.scale.size(), scaler.features.size());
            ASSERT_EQ(nlohmann::json(scaler).get<Scaler>(), scaler);
        } catch (const Error& error) {
            ASSERT_EQ(error.status(), ExitStatus::usage);
            ++rejected;
        }
    }
    EXPECT_GT(rejected, 500u);
    EXPECT_LT(rejected, 4000u);
}

} // namespace
} // namespace rekindle::market
