#include "stream/stream_time.h"

#include <gtest/gtest.h>

#include <limits>

namespace rekindle::runtime {
namespace {

/// Submits `launches` launches as one submit that takes their real time, and learns from it.
void submit(LaunchTime& time, std::uint64_t groups, double expected, double real_seconds, int launches) {
    double estimated = 0;
    LaunchTime::Sample sample;
    for (int i = 0; i < launches; ++i) {
        sample = time.estimate(groups, expected);
        estimated += sample.seconds;
    }
    time.learn(sample, real_seconds * launches / estimated);
}

TEST(LaunchTime, ConvergesToTheMeasuredTime) {
    LaunchTime time;
    EXPECT_EQ(time.estimate(64, 0).seconds, LaunchTime::unknown_seconds);
    for (int i = 0; i < 20; ++i)
        submit(time, 64, 0, 5e-6, 100);
    EXPECT_NEAR(time.estimate(64, 0).seconds, 5e-6, 5e-8);
    submit(time, 64, 0, 0.1, 1); // slower: applied immediately
    EXPECT_NEAR(time.estimate(64, 0).seconds, 0.1, 1e-6);
}

TEST(LaunchTime, LargerLaunchesCountAsLongerUntilMeasured) {
    LaunchTime time;
    for (int i = 0; i < 20; ++i)
        submit(time, 64, 0, 1e-3, 1);
    EXPECT_NEAR(time.estimate(64 * 16, 0).seconds, 16e-3, 1e-4);
    EXPECT_NEAR(time.estimate(8, 0).seconds, 1e-3, 1e-5); // a larger one took this long
    for (int i = 0; i < 20; ++i)
        submit(time, 64 * 16, 0, 2e-3, 1);
    EXPECT_NEAR(time.estimate(64 * 16, 0).seconds, 2e-3, 2e-5);
    EXPECT_NEAR(time.estimate(64, 0).seconds, 1e-3, 1e-5); // a different size class
    EXPECT_GT(time.estimate(std::numeric_limits<std::uint64_t>::max(), 0).seconds, 1.0);
}

TEST(LaunchTime, CorrectsCallersEstimates) {
    LaunchTime time;
    EXPECT_EQ(time.estimate(1, 0.01).seconds, 0.01);
    for (int i = 0; i < 20; ++i)
        submit(time, 1, 0.01, 0.05, 3);
    EXPECT_NEAR(time.estimate(1, 0.02).seconds, 0.1, 1e-3);
    EXPECT_EQ(time.estimate(1, 0).seconds, LaunchTime::unknown_seconds);
}

TEST(LaunchTime, LearnsNothingFromAStoppedClock) {
    LaunchTime time;
    const auto sample = time.estimate(1, 0);
    time.learn(sample, 0);
    time.learn(sample, -1);
    time.learn(sample, std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(time.estimate(1, 0).seconds, LaunchTime::unknown_seconds);
}

TEST(ProgressDeadline, RestartsWhenSomethingMoves) {
    using namespace std::chrono_literals;
    const ProgressDeadline::Clock::time_point start{};
    ProgressDeadline deadline(30, 7, start);
    EXPECT_FALSE(deadline.expired(7, start + 29s));
    EXPECT_FALSE(deadline.expired(8, start + 40s)); // checked late, but there was progress
    EXPECT_FALSE(deadline.expired(8, start + 69s));
    EXPECT_TRUE(deadline.expired(8, start + 70s));
}

} // namespace
} // namespace rekindle::runtime
