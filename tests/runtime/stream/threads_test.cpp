/// One stream used by several threads, and what is counted per thread.
#include "stream_fixture.h"

#include <atomic>
#include <thread>

namespace rekindle::runtime::test {
namespace {

class StreamThreadsTest : public StreamTest {
  protected:
    static constexpr std::uint32_t threads = 4;

    template <class Work>
    static void together(Work work) {
        std::vector<std::jthread> all;
        for (std::uint32_t t = 0; t < threads; ++t)
            all.emplace_back([=] { work(t); });
    }
};

TEST_F(StreamThreadsTest, EachThreadKeepsItsOrderOnASharedStream) {
    const auto s = stream();
    std::vector<Buffer> words;
    for (std::uint32_t t = 0; t < threads; ++t)
        words.push_back(memory(*s, numbered(300, t)));
    std::vector<Words> results(threads);
    together([&](std::uint32_t t) {
        for (std::uint32_t i = 0; i < 100; ++i) {
            advance(*s, words[t], i + t);
            if (i % 37 == t)
                s->flush();
            if (i % 51 == t)
                s->record().wait();
        }
        results[t] = contents(*s, words[t]);
    });
    for (std::uint32_t t = 0; t < threads; ++t) {
        Words expected = numbered(300, t);
        for (std::uint32_t i = 0; i < 100; ++i)
            for (std::uint32_t& w : expected)
                w = 3 * w + i + t;
        EXPECT_EQ(results[t], expected) << "thread " << t;
    }
}

TEST_F(StreamThreadsTest, MemoryAndParameterBlocksOfAllThreads) {
    const auto s = stream();
    const Buffer zero = memory(*s, Words(64, 0));
    std::array<std::atomic<bool>, threads> right{};
    together([&](std::uint32_t t) {
        bool all = true;
        for (std::uint32_t i = 0; i < 40; ++i) {
            const Buffer result = memory(*s, 64);
            const Transient block = s->transient(256);
            std::ranges::fill(std::span(reinterpret_cast<std::uint32_t*>(block.host.data()), 64),
                              100 * t + i);
            kernels::TestingParameters p;
            p.result = result.pointer().address;
            p.first = block.pointer.address;
            p.second = zero.pointer().address;
            p.count = 64;
            p.value = 1;
            s->launch(kernels::test_combine, {1, 1, 1}, p, std::array{writes(result), reads(zero)});
            if (i % 10 == t)
                all = all && contents(*s, result) == Words(64, 3 * (100 * t + i) + 1);
        }
        right[t] = all;
    });
    for (std::uint32_t t = 0; t < threads; ++t)
        EXPECT_TRUE(right[t]) << "thread " << t;
}

TEST_F(StreamThreadsTest, UploadsOfAllThreads) {
    StreamOptions options;
    options.upload_queue = UploadQueue::second;
    options.large_upload_bytes = 8192;
    options.staging_bytes = 10000;
    const auto s = stream(options);
    std::array<std::atomic<bool>, threads> right{};
    together([&](std::uint32_t t) {
        bool all = true;
        for (std::uint32_t i = 0; i < 24; ++i) {
            const Words fresh = numbered(t % 2 == 0 ? 9000 : 900, 1000 * t + i);
            all = all && contents(*s, memory(*s, fresh)) == fresh;
        }
        right[t] = all;
    });
    for (std::uint32_t t = 0; t < threads; ++t)
        EXPECT_TRUE(right[t]) << "thread " << t;
}

TEST_F(StreamThreadsTest, OtherThreadsQueryAndReleaseEvents) {
    const auto s = stream(), other = stream();
    const Buffer words = memory(*s, Words(64, 1)), sums = memory(*other, Words(64, 0));
    for (std::uint32_t round = 0; round < 20; ++round) {
        advance(*s, words, 0);
        Event first = s->record(true);
        advance(*s, words, 0);
        Event second = s->record(true);
        std::jthread([&, first, second] {
            other->wait(second);
            combine(*other, sums, words, sums, 0);
            second.wait();
            EXPECT_TRUE(first.done());
            EXPECT_GE(second.seconds_since(first), 0);
            s->wait(other->record());
        }).join();
        first = {}; // the last reference except the stream's
    }
    std::uint32_t word = 1, sum = 0;
    for (std::uint32_t round = 0; round < 20; ++round) {
        word *= 9;
        sum += 3 * word;
    }
    EXPECT_EQ(contents(*other, sums), Words(64, sum));
}

TEST_F(StreamThreadsTest, WaitsAreCountedForTheCallingThread) {
    const auto s = stream();
    const Buffer words = memory(*s, Words(64, 1));
    const Synchronizations before = thread_synchronizations();
    advance(*s, words, 1);
    s->flush();
    s->copy(memory(*s, 64).pointer(), words.pointer(), 256);
    static_cast<void>(s->record().done());
    EXPECT_EQ(thread_synchronizations(), before) << "none of these waits";
    contents(*s, words);
    EXPECT_EQ(thread_synchronizations().downloads, before.downloads + 1);
    EXPECT_EQ(thread_synchronizations().waits, before.waits);
    s->synchronize();
    s->record().wait();
    device().synchronize();
    EXPECT_EQ(thread_synchronizations().waits, before.waits + 3);
    std::jthread([&] {
        EXPECT_EQ(thread_synchronizations(), Synchronizations{});
        s->synchronize();
        EXPECT_EQ(thread_synchronizations().waits, 1u);
    }).join();
    EXPECT_EQ(thread_synchronizations().waits, before.waits + 3);
}

/// Without the test modes that hold operations back.
class EarlySubmitTest : public StreamTest {
  protected:
    EarlySubmitTest() {
        environment.set("REKINDLE_GUARD_PAGES", "0");
        environment.unset("REKINDLE_RANDOM_ORDER");
    }
    /// Submits are not limited by their estimated duration.
    static StreamOptions any_time() {
        StreamOptions options;
        options.seconds_per_submit = 1e9;
        return options;
    }
};

TEST_F(EarlySubmitTest, AnIdleDeviceGetsTheFirstOperations) {
    const auto s = stream(any_time());
    device().prepare(kernels::test_advance.kernel); // launches do not wait for the compiler
    const Buffer words = memory(*s, Words(64, 1));
    const std::uint32_t early = StreamOptions{}.operations_of_early_submit;
    ASSERT_GE(early, 8u);
    for (int round = 0; round < 3; ++round) {
        s->synchronize();
        const std::uint64_t before = core(*s).submitted();
        for (std::uint32_t i = 0; i + 1 < early; ++i)
            advance(*s, words, i);
        EXPECT_EQ(core(*s).submitted(), before);
        advance(*s, words, 0);
        EXPECT_EQ(core(*s).submitted(), before + 1);
    }
    StreamOptions never = any_time();
    never.operations_of_early_submit = 0;
    const auto t = stream(never);
    const std::uint64_t before = core(*t).submitted();
    for (std::uint32_t i = 0; i < 100; ++i)
        advance(*t, words, i);
    EXPECT_EQ(core(*t).submitted(), before);
}

TEST_F(EarlySubmitTest, AnIdleDeviceGetsWorkThatTakesLong) {
    StreamOptions options = any_time();
    options.seconds_of_early_submit = 1e-3;
    const auto s = stream(options);
    device().prepare(kernels::test_spin.kernel); // launches do not wait for the compiler
    const Buffer more = memory(*s, numbered(8192)), result = memory(*s, 8192);
    for (int round = 0; round < 3; ++round) {
        s->synchronize();
        const std::uint64_t before = core(*s).submitted();
        spin(*s, result, more, 60000); // until it has been measured, a kernel is assumed to take long
        EXPECT_EQ(core(*s).submitted(), before + 1);
    }
    const auto t = stream(any_time());
    const std::uint64_t before = core(*t).submitted();
    spin(*t, result, more, 60000);
    EXPECT_EQ(core(*t).submitted(), before);
}

TEST_F(EarlySubmitTest, ABusyDeviceGetsFullerSubmits) {
    const auto s = stream(any_time());
    const Buffer words = memory(*s, Words(64, 1)), more = memory(*s, numbered(8192));
    const Buffer result = memory(*s, 8192);
    advance(*s, words, 0);
    s->synchronize();
    const std::uint64_t before = core(*s).submitted();
    for (int i = 0; i < 10; ++i)
        spin(*s, result, more, 60000);
    s->flush();
    for (std::uint32_t i = 0; i < 100; ++i)
        advance(*s, words, i);
    const std::uint64_t submitted = core(*s).submitted();
    const bool busy = core(*s).completed() == before; // the long launches have not ended
    s->synchronize();
    if (!busy)
        GTEST_SKIP() << "the long launches ended before a hundred short ones were recorded";
    EXPECT_EQ(submitted, before + 1);
}

} // namespace
} // namespace rekindle::runtime::test
