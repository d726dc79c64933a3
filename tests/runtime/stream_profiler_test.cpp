#include "stream_fixture.h"

#include <chrono>

namespace rekindle::runtime::test {
namespace {

class ProfilerTest : public StreamTest {};

TEST_F(ProfilerTest, sums_the_time_of_each_kernel) {
    const auto s = stream();
    const Buffer words = memory(*s, numbered(2048)), result = memory(*s, 2048);
    Profiler& profiler = device().profiler();
    advance(*s, words, 1);
    s->synchronize();
    EXPECT_FALSE(profiler.enabled());
    EXPECT_TRUE(profiler.rows().empty()); // off at the start

    profiler.enable(true);
    const auto begun = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < 20; ++i)
        advance(*s, words, i);
    spin(*s, result, words, 60000);
    s->synchronize();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
    profiler.enable(false);
    advance(*s, words, 1);
    s->synchronize();

    const auto rows = profiler.rows();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].kernel, "test_spin"); // the slowest first
    EXPECT_EQ(rows[0].launches, 1u);
    EXPECT_EQ(rows[1].kernel, "test_advance");
    EXPECT_EQ(rows[1].launches, 20u);
    EXPECT_GT(rows[1].seconds, 0);
    EXPECT_GT(rows[0].seconds, rows[1].seconds);
    EXPECT_LE(rows[0].seconds + rows[1].seconds, wall.count() * 1.01);
    profiler.reset();
    EXPECT_TRUE(profiler.rows().empty());
}

TEST_F(ProfilerTest, counts_every_launch_of_full_submits) {
    const auto s = stream();
    const Buffer words = memory(*s, Words(64, 1));
    device().profiler().enable(true);
    for (std::uint32_t i = 0; i < 700; ++i)
        advance(*s, words, i);
    const Event event = s->record(true);
    event.wait();
    const auto rows = device().profiler().rows();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].launches, 700u);
}

} // namespace
} // namespace rekindle::runtime::test
