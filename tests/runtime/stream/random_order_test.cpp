#include "stream_fixture.h"

namespace rekindle::runtime::test {
namespace {

class RandomOrderTest : public StreamTest {
  protected:
    /// Three launches that depend on each other; returns what a and b hold afterwards.
    std::pair<Words, Words> chain(Stream& s) {
        const Buffer a = memory(s, Words(64, 1)), b = memory(s, Words(64, 0));
        s.synchronize();
        advance(s, a, 1);       // a = 4
        combine(s, b, a, b, 2); // b = 14
        advance(s, b, 3);       // b = 45
        advance(s, a, 5);       // a = 17
        s.synchronize();
        return {contents(s, a), contents(s, b)};
    }
    const std::pair<Words, Words> expected_{Words(64, 17), Words(64, 45)};
};

TEST_F(RandomOrderTest, CorrectDependenciesGiveCorrectValuesInAnyOrder) {
    for (int seed = 1; seed <= 10; ++seed) {
        environment.set("REKINDLE_RANDOM_ORDER", std::to_string(seed));
        device_ = open();
        EXPECT_EQ(chain(*stream()), expected_) << "seed " << seed;
    }
}

// The test of the tests: without barriers, random order must show wrong values.
TEST_F(RandomOrderTest, DetectsAMissingBarrier) {
    StreamOptions without;
    without.barriers = false;
    int wrong = 0;
    for (int seed = 1; seed <= 10; ++seed) {
        environment.set("REKINDLE_RANDOM_ORDER", std::to_string(seed));
        environment.set("REKINDLE_GUARD_PAGES", "0");
        device_ = open();
        wrong += chain(*stream(without)) != expected_;
    }
    EXPECT_GE(wrong, 5);
}

// A launch that does not declare everything it uses is found in the same way.
TEST_F(RandomOrderTest, DetectsAnUndeclaredAccess) {
    int wrong = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        environment.set("REKINDLE_RANDOM_ORDER", std::to_string(seed));
        environment.set("REKINDLE_GUARD_PAGES", "0");
        device_ = open();
        const auto s = stream();
        const Buffer a = memory(*s, Words(64, 1)), b = memory(*s, Words(64, 0));
        s->synchronize();
        advance(*s, a, 1);
        kernels::TestingParameters p;
        p.result = b.pointer().address;
        p.first = a.pointer().address;
        p.count = 64;
        s->launch(kernels::test_spin, {1, 1, 1}, p, std::array{writes(b)}); // it reads a as well
        wrong += contents(*s, b) != Words(64, 4);
    }
    EXPECT_GE(wrong, 3);
}

TEST_F(RandomOrderTest, OrdersDifferBetweenSeedsAndRepeatForASeed) {
    if (device().info().type != DeviceType::cpu)
        GTEST_SKIP()
            << "a GPU runs work without barriers at the same time, so its results do not reveal an order";
    // Without barriers the result reveals the order.
    StreamOptions without;
    without.barriers = false;
    environment.set("REKINDLE_GUARD_PAGES", "0");
    const auto result = [&](int seed) {
        environment.set("REKINDLE_RANDOM_ORDER", std::to_string(seed));
        device_ = open();
        const auto s = stream(without);
        const Buffer a = memory(*s, Words(64, 1));
        s->synchronize();
        for (std::uint32_t i = 0; i < 8; ++i)
            advance(*s, a, i * i);
        return contents(*s, a);
    };
    std::vector<Words> results;
    for (int seed = 1; seed <= 4; ++seed) {
        results.push_back(result(seed));
        EXPECT_EQ(results.back(), result(seed)) << "seed " << seed;
    }
    EXPECT_NE(results[0], results[1]);
    EXPECT_NE(results[2], results[3]);
}

TEST_F(RandomOrderTest, LogsTheSeed) {
    environment.set("REKINDLE_RANDOM_ORDER", "4711");
    const auto s = stream();
    EXPECT_THAT(log.lines(LogLevel::debug),
                testing::Contains(testing::HasSubstr("REKINDLE_RANDOM_ORDER=4711")));
}

TEST_F(RandomOrderTest, TimedEventsKeepTheirPlace) {
    const auto s = stream();
    const Buffer words = memory(*s, numbered(64));
    s->synchronize();
    for (int round = 0; round < 20; ++round) {
        // Whatever is shuffled between them, no event may come before an earlier one.
        std::vector<Buffer> results;
        std::vector<Event> events{s->record(true)};
        for (int i = 0; i < 4; ++i) {
            results.push_back(memory(*s, 64));
            spin(*s, results.back(), words, 100);
            events.push_back(s->record(true));
        }
        s->synchronize();
        for (std::size_t i = 1; i < events.size(); ++i)
            EXPECT_GE(events[i].seconds_since(events[i - 1]), 0) << "round " << round << ", event " << i;
    }
}

} // namespace
} // namespace rekindle::runtime::test
