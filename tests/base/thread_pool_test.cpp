#include <rekindle/base/thread_pool.h>

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace rekindle {
namespace {

TEST(ThreadPool, RunsEveryIndexExactlyOnce) {
    for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.size(), threads);
        for (const std::size_t count : {0u, 1u, 2u, 7u, 1000u}) {
            std::vector<int> runs(
                count); // each element is written by one job only; ThreadSanitizer would report anything else
            pool.for_each(count, [&](std::size_t i) { ++runs[i]; });
            EXPECT_EQ(std::count(runs.begin(), runs.end(), 1), static_cast<std::ptrdiff_t>(count))
                << threads << " threads, " << count << " jobs";
        }
    }
}

TEST(ThreadPool, CanBeUsedManyTimes) {
    ThreadPool pool(4);
    std::vector<long> sums(5);
    for (int use = 0; use < 3000; ++use)
        pool.for_each(sums.size(), [&](std::size_t i) { sums[i] += static_cast<long>(i); });
    EXPECT_EQ(sums, (std::vector<long>{0, 3000, 6000, 9000, 12000}));
}

TEST(ThreadPool, RunsJobsOnSeveralThreadsAtTheSameTime) {
    ThreadPool pool(2);
    std::atomic<int> arrived{0};
    // Ends only if both jobs run at the same time.
    pool.for_each(2, [&](std::size_t) {
        ++arrived;
        while (arrived < 2)
            std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, RethrowsTheFirstExceptionAndStaysUsable) {
    for (const std::size_t threads : {1u, 4u}) {
        ThreadPool pool(threads);
        for (int round = 0; round < 50; ++round) {
            std::atomic<int> runs{0};
            const auto fail_at_ten = [&](std::size_t i) {
                ++runs;
                if (i == 10)
                    throw std::runtime_error("job 10");
            };
            try {
                pool.for_each(100000, fail_at_ten);
                FAIL() << "no exception";
            } catch (const std::runtime_error& error) {
                EXPECT_STREQ(error.what(), "job 10");
            }
            EXPECT_GE(runs, 11);
            if (threads == 1) {
                EXPECT_EQ(runs, 11) << "jobs after the failing one are skipped";
            }
            std::atomic<int> later{0};
            pool.for_each(10, [&](std::size_t) { ++later; });
            EXPECT_EQ(later, 10);
        }
    }
}

TEST(ThreadPool, ManyFailingJobsGiveOneException) {
    ThreadPool pool(4);
    EXPECT_THROW(pool.for_each(1000, [](std::size_t i) { throw static_cast<int>(i); }), int);
}

TEST(ThreadPool, ZeroThreadsMeansAllCpus) {
    EXPECT_GE(available_cpus(), 1u);
    EXPECT_EQ(ThreadPool().size(), available_cpus());
}

} // namespace
} // namespace rekindle
