/// Windows, purging, embargo and paths against purgedcv and skfolio (make_golden.py).

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/research/walk_forward.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>
#include <numeric>

namespace rekindle::research {
namespace {

using Json = nlohmann::json;

const Json& folds_golden() {
    static const Json json = Json::parse(read_file(std::filesystem::path(REKINDLE_TEST_DATA) / "folds.json"));
    return json;
}

/// Times in any unit; every row has a target.
struct Times {
    std::vector<std::int64_t> known, ends;
    std::vector<std::uint8_t> trainable;

    Times(std::vector<std::int64_t> known_at, std::vector<std::int64_t> target_ends)
        : known(std::move(known_at)), ends(std::move(target_ends)), trainable(known.size(), 1) {}
    explicit Times(const Json& golden)
        : Times(golden.at("known").get<std::vector<std::int64_t>>(),
                golden.at("ends").get<std::vector<std::int64_t>>()) {}
    /// Row i is known at i, and its target ends `horizon` later.
    Times(std::size_t rows, std::int64_t horizon) : Times(std::vector<std::int64_t>(rows), {}) {
        std::iota(known.begin(), known.end(), 0);
        for (const std::int64_t at : known)
            ends.push_back(at + horizon);
    }
    RowTimes rows() const { return {known, ends, trainable}; }
};

std::vector<std::size_t> numbers_in(std::span<const RowRange> ranges) {
    std::vector<std::size_t> numbers;
    for (const RowRange& range : ranges)
        for (std::size_t row = range.begin; row < range.end; ++row)
            numbers.push_back(row);
    return numbers;
}

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

TEST(Folds, WindowsPurgeLikePurgedcv) {
    std::size_t compared = 0;
    for (const Json& golden : folds_golden().at("purgedcv_windows")) {
        const Times times(golden);
        const std::size_t train_size = golden.at("train_size");
        for (const Json& fold : golden.at("folds")) {
            const std::size_t begin = fold.at("test").front();
            EXPECT_EQ(
                numbers_in(training_rows_before(times.rows(), begin, train_size > 0 ? train_size : no_limit)),
                fold.at("train").get<std::vector<std::size_t>>())
                << "test window from row " << begin;
            ++compared;
        }
    }
    EXPECT_EQ(compared, 23U);
}

TEST(Folds, WindowsAreThoseOfSkfolio) {
    for (const Json& golden : folds_golden().at("skfolio_windows")) {
        const std::int64_t purged = golden.at("purged");
        const Times times(golden.at("rows").get<std::size_t>(), purged + 1);
        const std::size_t train_size = golden.at("train_size");
        for (const Json& fold : golden.at("folds"))
            EXPECT_EQ(numbers_in(training_rows_before(times.rows(), fold.at("test").front(),
                                                      golden.at("expanding") ? no_limit : train_size)),
                      fold.at("train").get<std::vector<std::size_t>>());
        const Json& folds = golden.at("folds");
        const std::size_t end = folds.back().at("test").back().get<std::size_t>() + 1;
        const auto own = walk_forward_folds(
            times.rows(), end,
            {golden.at("expanding") ? Window::expanding : Window::rolling, folds.size(), train_size});
        ASSERT_EQ(own.size(), folds.size());
        for (std::size_t f = 0; f < own.size(); ++f) {
            EXPECT_EQ(numbers_in(own[f].test), folds[f].at("test").get<std::vector<std::size_t>>());
            EXPECT_EQ(numbers_in(own[f].train), folds[f].at("train").get<std::vector<std::size_t>>());
        }
    }
}

TEST(Folds, CombinationsAreThoseOfPurgedcvAndPathsThoseOfSkfolio) {
    constexpr std::int64_t hour = 3600;
    for (const Json& golden : folds_golden().at("purgedcv_combinations")) {
        Times times(golden);
        for (auto* column : {&times.known, &times.ends})
            for (std::int64_t& at : *column)
                at *= hour;
        const CombinatorialRules rules{golden.at("groups"), golden.at("test_groups"),
                                       golden.at("embargo_rows"),
                                       hour * golden.at("embargo_hours").get<std::int64_t>()};
        const CombinatorialFolds own = combinatorial_folds(times.rows(), times.known.size(), rules);
        const Json& folds = golden.at("folds");
        ASSERT_EQ(own.folds.size(), folds.size());
        for (std::size_t f = 0; f < folds.size(); ++f) {
            EXPECT_EQ(numbers_in(own.folds[f].test), folds[f].at("test").get<std::vector<std::size_t>>());
            EXPECT_EQ(numbers_in(own.folds[f].train), folds[f].at("train").get<std::vector<std::size_t>>())
                << "fold " << f << " of " << golden.at("groups");
        }
        if (golden.at("paths").is_null())
            continue;
        EXPECT_EQ(own.paths, golden.at("paths").get<std::size_t>());
        EXPECT_EQ(own.path_of, golden.at("path_ids").get<std::vector<std::vector<std::size_t>>>());
    }
}

TEST(Folds, EveryPathCoversAllRowsOnce) {
    const Times times(100, 3);
    const CombinatorialFolds folds = combinatorial_folds(times.rows(), 95, {7, 3, 1, 0});
    EXPECT_EQ(folds.folds.size(), 35U);
    ASSERT_EQ(folds.paths, 15U);
    std::vector<std::vector<int>> covered(folds.paths, std::vector<int>(95));
    for (std::size_t f = 0; f < folds.folds.size(); ++f)
        for (std::size_t b = 0; b < folds.folds[f].test.size(); ++b)
            for (const std::size_t row : numbers_in({&folds.folds[f].test[b], 1}))
                ++covered[folds.path_of[f][b]][row];
    for (const auto& path : covered)
        EXPECT_EQ(path, std::vector<int>(95, 1));
}

TEST(Folds, WindowsTileTheRowsAfterTheFirstTrainingWindow) {
    const Times times(103, 2);
    const auto folds = walk_forward_folds(times.rows(), 100, {Window::rolling, 7, 30});
    ASSERT_EQ(folds.size(), 7U);
    std::size_t next = folds.front().test.front().begin;
    for (const Fold& fold : folds) {
        EXPECT_EQ(rows_in(fold.train), 30U);
        EXPECT_EQ(fold.test.front().begin, next);
        next = fold.test.front().end;
    }
    EXPECT_EQ(next, 100U);
}

TEST(Folds, RowsWithoutTargetArePredictedAndNotTrainedOn) {
    Times times(40, 1);
    for (std::size_t row = 0; row < 40; row += 2)
        times.trainable[row] = 0;
    const auto folds = walk_forward_folds(times.rows(), 40, {Window::expanding, 2, 10});
    for (const std::size_t row : numbers_in(folds.back().train))
        EXPECT_EQ(row % 2, 1U);
    EXPECT_EQ(numbers_in(folds.back().test).size() + numbers_in(folds.front().test).size(),
              40 - folds.front().test.front().begin);
}

TEST(Folds, TheFinalPartAndOutcomesThatReachIntoItAreLeftOut) {
    const Times times(100, 5);
    WalkForwardRules rules;
    rules.final_share = 0.2;
    rules.folds = 4;
    const FoldPlan plan = plan_folds(times.rows(), rules);
    EXPECT_EQ(plan.final_rows, (RowRange{80, 100}));
    for (const Fold& fold : plan.folds) {
        EXPECT_LE(fold.train.back().end, 75U);
        EXPECT_LE(fold.test.back().end, 80U);
    }
    ASSERT_TRUE(plan.final_fold);
    EXPECT_EQ(numbers_in(plan.final_fold->train).back(), 75U) << "its target ends when row 80 is known";
    rules.final_share = 0;
    EXPECT_FALSE(plan_folds(times.rows(), rules).final_fold);
}

TEST(Folds, TooFewRowsAreAnErrorThatSaysHowMany) {
    const Times times(20, 1);
    const auto error = [](auto call) {
        try {
            call();
        } catch (const Error& caught) {
            EXPECT_EQ(caught.status(), ExitStatus::usage);
            return caught.render();
        }
        ADD_FAILURE() << "no error";
        return std::string();
    };
    EXPECT_NE(error([&] {
                  walk_forward_folds(times.rows(), 20, {Window::rolling, 5, 40});
              }).find("at least 25 more rows"),
              std::string::npos);
    error([&] { combinatorial_folds(times.rows(), 20, {1, 1, 0, 0}); });
    error([&] { combinatorial_folds(times.rows(), 20, {4, 4, 0, 0}); });
    error([&] { combinatorial_folds(times.rows(), 3, {4, 2, 0, 0}); });
    error([&] { combinatorial_folds(times.rows(), 20, {4, 2, 100, 0}); });
}

} // namespace
} // namespace rekindle::research
