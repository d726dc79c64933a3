#include "pipeline/compile_progress.h"
#include "pipeline/compile_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace rekindle::runtime::test {
namespace {

using namespace std::chrono_literals;
using Clock = CompileProgress::Clock;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(CompileQueue, RunsJobsAtTheSameTime) {
    std::latch together(3); // released only when three jobs run at once
    std::latch done(3);
    CompileQueue queue(3);
    for (int i = 0; i < 3; ++i)
        queue.add([&] {
            together.arrive_and_wait();
            done.count_down();
        });
    done.wait();
}

TEST(CompileQueue, StartsNoMoreThreadsThanAllowed) {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::latch done(100);
    CompileQueue queue(2);
    for (int i = 0; i < 100; ++i)
        queue.add([&] {
            {
                const std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
            }
            done.count_down();
        });
    done.wait();
    EXPECT_LE(threads.size(), 2u);
}

TEST(CompileQueue, StopDropsWhatHasNotStartedAndWaitsForTheRest) {
    std::atomic<int> ran{0};
    std::latch started(1), may_end(1);
    CompileQueue queue(1);
    queue.add([&] {
        started.count_down();
        may_end.wait();
        ++ran;
    });
    queue.add([&] { ran += 100; });
    started.wait();
    EXPECT_FALSE(queue.stop(Clock::now())) << "the first job is still running";
    may_end.count_down();
    EXPECT_TRUE(queue.stop(Clock::now() + 1h));
    queue.add([&] { ran += 1000; });
    EXPECT_TRUE(queue.stop(Clock::now() + 1h));
    EXPECT_EQ(ran, 1);
}

class CompileProgressTest : public testing::Test {
  protected:
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reports;
    CompileProgress progress{[this](std::uint32_t compiled, std::uint32_t requested) {
        reports.emplace_back(compiled, requested);
    }};
    const Clock::time_point begin{};
};

TEST_F(CompileProgressTest, IsSilentForTwoSeconds) {
    for (int i = 0; i < 3; ++i)
        progress.requested(begin);
    progress.ended(begin + 1s);
    progress.ended(begin + 1999ms);
    EXPECT_THAT(reports, IsEmpty());
    progress.ended(begin + 2s);
    EXPECT_THAT(reports, IsEmpty()) << "nothing is left to wait for";
}

TEST_F(CompileProgressTest, ReportsTenTimesASecondAndAtTheEnd) {
    for (int i = 0; i < 5; ++i)
        progress.requested(begin);
    progress.ended(begin + 2s);
    progress.ended(begin + 2050ms);
    progress.ended(begin + 2150ms);
    progress.requested(begin + 2150ms);
    progress.ended(begin + 2200ms);
    progress.ended(begin + 2210ms);
    progress.ended(begin + 2220ms);
    EXPECT_THAT(reports, ElementsAre(Pair(1, 5), Pair(3, 5), Pair(6, 6)));
}

TEST_F(CompileProgressTest, CountsEachPeriodOfCompilingFromNothing) {
    progress.requested(begin);
    progress.ended(begin + 1s);
    progress.requested(begin + 10s);
    progress.requested(begin + 10s);
    progress.ended(begin + 11s);
    EXPECT_THAT(reports, IsEmpty());
    progress.requested(begin + 11s);
    progress.ended(begin + 13s);
    progress.ended(begin + 14s);
    EXPECT_THAT(reports, ElementsAre(Pair(2, 3), Pair(3, 3)));
}

} // namespace
} // namespace rekindle::runtime::test
