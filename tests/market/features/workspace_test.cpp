// Where the arrays are stored and how many rows are processed at a time changes only the memory use, not a
// single bit of the result.
#include "features/feature_testing.h"
#include "temporary_folder.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/minute_features.h>
#include <rekindle/market/scaler.h>
#include <rekindle/market/targets.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <limits>
#include <malloc.h>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

namespace rekindle::market {
namespace {

using fixtures::BarsAndSessions;
using test::TemporaryFolder;

/// All results, from the bars to the inputs of the network.
struct Prepared {
    FeatureMatrix matrix;
    Targets targets;
    Scaler robust;
    Scaler standard;
    ScratchArray<float> inputs;
};

Prepared prepare(std::span<const MinuteFeature> features, const BarsAndSessions& data, std::size_t threads,
                 const Workspace& workspace) {
    ThreadPool pool(threads);
    Prepared made;
    made.matrix = compute_minute_features(features, data.bars, data.sessions, pool, workspace);
    made.targets = bar_targets(made.matrix, data.bars, data.sessions, {TargetKind::bar_return, 5}, workspace);
    const RowRange train{1, made.matrix.rows() * 3 / 4};
    made.robust = Scaler::fit(made.matrix, train, Scaler::Kind::robust, pool, workspace);
    made.standard = Scaler::fit(made.matrix, train, Scaler::Kind::standard, pool, workspace);
    made.inputs = made.robust.transform(made.matrix, {0, made.matrix.rows()}, pool, workspace);
    return made;
}

void expect_same(const Prepared& a, const Prepared& b) {
    EXPECT_TRUE(fixtures::identical(a.matrix, b.matrix));
    EXPECT_EQ(a.matrix.notes, b.matrix.notes);
    EXPECT_EQ(a.matrix.dropped_first, b.matrix.dropped_first);
    EXPECT_EQ(a.matrix.dropped_later, b.matrix.dropped_later);
    EXPECT_TRUE(a.targets.values == b.targets.values);
    EXPECT_TRUE(a.targets.valid == b.targets.valid);
    EXPECT_EQ(a.robust, b.robust);
    EXPECT_EQ(a.standard, b.standard);
    EXPECT_TRUE(a.inputs == b.inputs);
}

TEST(FeatureWorkspace, ChunksOfASmallFileChangeNothing) {
    const BarsAndSessions data = fixtures::random_bars_and_sessions(20, 150, 3);
    const Prepared expected = prepare(minute_feature_table(), data, 1, {});
    ASSERT_EQ(expected.matrix.columns(), 19u);
    ASSERT_GT(expected.matrix.rows(), 2000u);
    const TemporaryFolder folder;
    for (const std::size_t chunk : {1u, 7u, 1000u, 1'000'000u})
        expect_same(prepare(minute_feature_table(), data, 2, {folder.path(), chunk}), expected);
    expect_same(prepare(minute_feature_table(), data, 1, {{}, 7}), expected);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FeatureWorkspace, ChunksOfALargerFileChangeNothing) {
    const BarsAndSessions data = fixtures::random_bars_and_sessions(100, 1200, 4);
    const Prepared expected = prepare(minute_feature_table(), data, 2, {});
    const TemporaryFolder folder;
    for (const std::size_t chunk : {1000u, 50'000u})
        expect_same(prepare(minute_feature_table(), data, 2, {folder.path(), chunk}), expected);
}

TEST(FeatureWorkspace, RowsWithoutAValueAreSkippedInEveryChunk) {
    const BarsAndSessions data = fixtures::random_bars_and_sessions(12, 100, 5);
    const std::vector<MinuteFeature> features{
        {{"position", "minute", "", 3, 3},
         [](const BarWindow&, std::size_t i) {
             return i < 20 || i % 13 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(i);
         }},
        {{"close", "minute", "", 0, 0}, [](const BarWindow& w, std::size_t i) { return w.close(i, i); }}};
    const Prepared expected = prepare(features, data, 1, {});
    ASSERT_EQ(expected.matrix.at(0, 0), 20.0);
    ASSERT_EQ(expected.matrix.at(6, 0), 27.0); // 26 is a multiple of 13
    ASSERT_GT(expected.matrix.dropped_later, 50u);
    const TemporaryFolder folder;
    for (const std::size_t chunk : {1u, 7u, 1000u})
        expect_same(prepare(features, data, 2, {folder.path(), chunk}), expected);
}

TEST(FeatureWorkspace, UnusableFolderIsNamed) {
    const BarsAndSessions data = fixtures::random_bars_and_sessions(10, 100, 6);
    const TemporaryFolder folder;
    try {
        prepare(minute_feature_table(), data, 1, {folder / "none", 100});
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), (folder / "none").string());
    }
}

std::uint64_t private_bytes() {
    const std::string status = read_file("/proc/self/status");
    return std::stoull(status.substr(status.find("VmData:") + 7)) * 1024;
}

/// Ends the process: with status 0 if this much additional private memory is enough, with 1 if it is not.
[[noreturn]] void prepare_with(std::uint64_t bytes, const BarsAndSessions& data, const Workspace& workspace) {
    int status = 70;
    try {
        const rlimit limit{private_bytes() + bytes, RLIM_INFINITY};
        ::setrlimit(RLIMIT_DATA, &limit);
        prepare(minute_feature_table(), data, 1, workspace);
        status = 0;
    } catch (const std::bad_alloc&) {
        status = 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(status);
}

TEST(FeatureWorkspace, MemoryDependsOnTheChunkAndNotOnTheFile) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own memory counts toward the limit";
#endif
    // In a new process, where no earlier test has left free memory in the heap, which the limit does not see;
    // and with a fixed threshold, so that large blocks come from the system.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
    constexpr std::uint64_t budget = 4 << 20;
    const TemporaryFolder folder;
    for (const std::size_t sessions :
         {50u, 200u}) { // 60,000 and 240,000 bars: 9 and 36 MB of float64 features
        const BarsAndSessions data = fixtures::random_bars_and_sessions(sessions, 1200, 7);
        EXPECT_EXIT(prepare_with(budget, data, {folder.path(), 1000}), testing::ExitedWithCode(0), "")
            << sessions;
        EXPECT_EXIT(prepare_with(budget, data, {}), testing::ExitedWithCode(1), "") << sessions;
    }
}

} // namespace
} // namespace rekindle::market
