#include "stream_fixture.h"

#include <rekindle/foundation/environment.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

namespace rekindle::runtime::test {
namespace {

using testing::HasSubstr;

/// The text of the DeviceLost that the call throws; "" if it throws none.
template <class Call>
std::string loss(const Call& call) {
    try {
        call();
    } catch (const DeviceLost& lost) {
        EXPECT_THAT(lost.advice(), HasSubstr("checkpoint"));
        return lost.what();
    }
    return {};
}

class StreamFailureTest : public StreamTest {
  protected:
    /// From now on work fails: uploads and a first launch have been submits 1 and 2.
    void prepare(Stream& s) {
        words_ = memory(s, Words(640, 1));
        s.synchronize();
        advance(s, words_, 1);
        s.synchronize();
    }
    Buffer words_;
};

TEST_F(StreamFailureTest, ALostDeviceReportsWhatRanLastAndStaysLost) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_FAULT", "device-lost:3");
    const auto s = stream(), other = stream();
    prepare(*s);
    advance(*s, words_, 2);
    s->fill(words_.pointer(), 8, 3);
    const Event event = s->record();
    const std::string text = loss([&] { event.wait(); });
    EXPECT_THAT(text, HasSubstr("test_advance (10 workgroups)"));
    EXPECT_THAT(text, HasSubstr("fill (8 bytes)"));
    EXPECT_THAT(text, HasSubstr("REKINDLE_FAULT"));
    for (const std::string& again :
         {loss([&] { s->synchronize(); }), loss([&] { advance(*s, words_, 1); }), loss([&] { event.wait(); }),
          loss([&] { other->flush(); }), loss([&] { other->record(); }), loss([&] { stream(); }),
          loss([&] { device().synchronize(); })})
        EXPECT_EQ(again, text);
    EXPECT_FALSE(event.done());
    log.clear();
}

TEST_F(StreamFailureTest, ALostDeviceNamesTheCallersOperation) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_RANDOM_ORDER", "");
    environment.set("REKINDLE_FAULT", "device-lost:3");
    const auto s = stream();
    prepare(*s);
    Stream::set_operation("tests.multiply");
    advance(*s, words_, 2);
    Stream::set_operation(nullptr);
    advance(*s, words_, 2);
    EXPECT_THAT(loss([&] { s->synchronize(); }),
                HasSubstr("tests.multiply: test_advance (10 workgroups), test_advance (10 workgroups)"));
    log.clear();
}

TEST_F(StreamFailureTest, ASubmitThatNeverEndsIsALostDevice) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_FAULT", "hang:3");
    environment.set("REKINDLE_WATCHDOG_SECONDS", "0.5");
    const auto begun = std::chrono::steady_clock::now();
    {
        const auto s = stream(), other = stream();
        prepare(*s);
        advance(*s, words_, 2);
        s->flush();
        const std::string text = loss([&] { s->synchronize(); });
        EXPECT_THAT(text, HasSubstr("no progress for 0.5 s"));
        EXPECT_THAT(text, HasSubstr("test_advance (10 workgroups)"));
        EXPECT_EQ(loss([&] { other->synchronize(); }), text);
    } // streams are destroyed while work is in flight
    words_ = {};
    device_.reset();
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(500));
    log.clear();
    environment.unset("REKINDLE_FAULT");
    const auto s = stream(); // a newly opened device works
    const Buffer words = memory(*s, Words{1, 2});
    EXPECT_EQ(contents(*s, words), (Words{1, 2}));
}

TEST_F(StreamFailureTest, AHangWithGuardPagesIsFoundToo) {
    environment.set("REKINDLE_FAULT", "hang:3");
    environment.set("REKINDLE_WATCHDOG_SECONDS", "0.3");
    const auto s = stream();
    prepare(*s);
    EXPECT_THAT(loss([&] {
                    advance(*s, words_, 2);
                    s->synchronize();
                }),
                HasSubstr("no progress"));
    log.clear();
}

TEST_F(StreamFailureTest, DestroyingAStreamWhoseWorkHangsReturns) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_FAULT", "hang:1");
    environment.set("REKINDLE_WATCHDOG_SECONDS", "0.3");
    auto s = stream();
    words_ = memory(*s, Words(64, 1));
    s.reset();
    const auto errors = log.lines(LogLevel::error);
    ASSERT_FALSE(errors.empty());
    EXPECT_THAT(errors.front(), HasSubstr("no progress"));
    log.clear();
}

TEST_F(StreamFailureTest, AProcessExitsWithItsStatusWhileItsWorkStillRuns) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_RANDOM_ORDER", "");
    environment.set("REKINDLE_WATCHDOG_SECONDS", "0.5");
    if (device().info().type != DeviceType::cpu)
        GTEST_SKIP()
            << "a GPU that also drives a screen would freeze it, and its driver ends such work by itself";
    const auto leave_in_the_middle = [&] {
        StreamOptions options;
        options.seconds_per_submit = 1e9; // one submit that takes minutes
        auto s = stream(options);
        words_ = memory(*s, std::size_t{64} * 65535);
        Buffer result = memory(*s, std::size_t{64} * 65535);
        s->fill(words_.pointer(), words_.bytes(), 1);
        for (int i = 0; i < 200; ++i)
            spin(*s, result, words_, 60000);
        const std::string text = loss([&] { s->synchronize(); });
        s.reset();
        result = {};
        words_ = {};
        device_.reset();
        std::this_thread::sleep_for(std::chrono::milliseconds(300)); // the driver continues
        std::fputs(text.c_str(), stderr);
        std::exit(3);
    };
    EXPECT_EXIT(leave_in_the_middle(), testing::ExitedWithCode(3), "no progress for 0.5 s.*test_spin");
}

/// What a process reports and how it exits when its GPU never responds. On a GPU that drives a screen such
/// work would freeze it, so a GPU must be offered explicitly: REKINDLE_TEST_HANGS=1.
class EndlessWorkTest : public StreamFailureTest {
  protected:
    static constexpr const char* watchdog_seconds = "2";
    static constexpr unsigned most_seconds = 60; ///< for the whole process; then SIGALRM ends it

    void SetUp() override {
        StreamFailureTest::SetUp();
        testing::FLAGS_gtest_death_test_style = "threadsafe";
        environment.set("REKINDLE_GUARD_PAGES", "0");
        environment.set("REKINDLE_POISON", "0");
        environment.set("REKINDLE_RANDOM_ORDER", "");
        environment.set("REKINDLE_WATCHDOG_SECONDS", watchdog_seconds);
        if (device().info().type == DeviceType::cpu)
            GTEST_SKIP() << "a CPU driver can read host addresses, and lavapipe ends every loop";
        if (!switched_on("REKINDLE_TEST_HANGS"))
            GTEST_SKIP() << "it would freeze a GPU that drives a screen: set REKINDLE_TEST_HANGS=1 to try it";
    }
    /// Queues work, waits for it in vain, closes what can be closed and exits with status 3.
    template <class Queue>
    [[noreturn]] void end_after(const Queue& queue) {
        ::alarm(most_seconds);
        auto s = stream();
        words_ = memory(*s, Words(64, 1));
        s->synchronize();
        queue(*s);
        advance(*s, words_, 2); // what follows hangs as well
        const std::string text = loss([&] { s->synchronize(); });
        std::fputs(text.c_str(), stderr);
        s.reset();
        words_ = {};
        device_.reset();
        std::exit(3);
    }
    /// A stream with work that never ends; nothing of it is ever closed, as with PyTorch's device.
    Stream& leave_open() {
        ::alarm(most_seconds);
        new std::shared_ptr<Device>(device_);
        Stream& s = *stream().release();
        Buffer& words = *new Buffer(memory(s, Words(64, 1)));
        Buffer& flag = *new Buffer(device().allocator().allocate(64, MemoryKind::readback));
        std::ranges::fill(flag.host(), std::byte{0});
        wait_for_word(s, words, flag.pointer());
        return s;
    }
};

TEST_F(EndlessWorkTest, AKernelThatNeverEndsIsReportedAndTheProcessExits) {
    const auto run = [&] {
        end_after([&](Stream& s) {
            Buffer flag = device().allocator().allocate(64, MemoryKind::readback);
            std::ranges::fill(flag.host(), std::byte{0});
            wait_for_word(s, words_, flag.pointer());
            new Buffer(std::move(flag)); // the kernel keeps reading it
        });
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(3), "no progress for 2 s.*test_wait");
}

TEST_F(EndlessWorkTest, AKernelThatReadsAHostAddressIsReportedAndTheProcessExits) {
    const auto run = [&] {
        end_after([&](Stream& s) {
            const auto host = std::make_unique<Words>(1024, 1u);
            Buffer address = memory(s, 64);
            kernels::TestingParameters p;
            p.result = address.pointer().address;
            p.first = reinterpret_cast<std::uint64_t>(host->data());
            p.second = p.first;
            p.count = 64;
            s.launch(kernels::test_combine, {1, 1, 1}, p, std::array{writes(address)});
            s.flush();
            new Buffer(std::move(address));
        });
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(3), "is lost.*test_combine");
}

/// Drivers may also wait for the device in calls that have no time limit.
TEST_F(EndlessWorkTest, AllocationsAndPipelinesAfterWorkThatNeverEndsDoNotWaitForever) {
    const auto run = [&] {
        end_after([&](Stream& s) {
            Buffer& flag = *new Buffer(device().allocator().allocate(64, MemoryKind::readback));
            std::ranges::fill(flag.host(), std::byte{0});
            wait_for_word(s, words_, flag.pointer());
            for (std::uint32_t i = 0; i < 4; ++i) { // fewer submits than may be in flight
                s.flush();
                const std::array constants{kernels::ConstantValue{"factor", 100 + i}};
                const Buffer fresh = memory(s, std::size_t{64} << 18); // 64 MiB
                combine(s, words_, words_, words_, 1, constants);
                device().allocator().empty_cache();
            }
        });
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(3), "no progress for 2 s.*test_wait");
}

TEST_F(EndlessWorkTest, AProcessThatLeavesEverythingOpenExits) {
    const auto run = [&] {
        Stream& s = leave_open();
        const std::string text = loss([&] { s.synchronize(); });
        std::fputs(text.c_str(), stderr);
        std::exit(3);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(3), "no progress for 2 s.*test_wait");
}
TEST_F(EndlessWorkTest, AProcessThatExitsWithoutWaitingExits) {
    const auto run = [&] {
        leave_open().flush();
        std::exit(3);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(3), "");
}

TEST_F(StreamFailureTest, LongWorkInShortSubmitsCountsAsProgress) {
    // Longer in total than the watchdog tolerates without progress.
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_WATCHDOG_SECONDS", "3");
    StreamOptions options;
    options.operations_per_submit = 1;
    options.submits_in_flight = 2000;
    const auto s = stream(options), other = stream();
    if (device().info().type != DeviceType::cpu)
        GTEST_SKIP() << "the work is too short on a GPU to outlast the watchdog";
    const Buffer words = memory(*s, numbered(1024)), result = memory(*s, 1024);
    const Buffer few = memory(*other, numbered(64));
    s->synchronize();
    other->synchronize();
    using std::chrono::steady_clock;
    // As many launches as outlast the watchdog on this machine: twice as many until they do.
    steady_clock::duration took{};
    for (int launches = 50; took <= std::chrono::seconds(3); launches *= 2) {
        ASSERT_LE(launches, 1 << 20);
        const auto begun = steady_clock::now();
        for (int i = 0; i < launches; ++i)
            spin(*s, result, words, 60000);
        s->flush();
        // The other stream makes no progress all the while, but the device does.
        advance(*other, few, 1);
        other->synchronize();
        s->synchronize();
        took = steady_clock::now() - begun;
    }
}

} // namespace
} // namespace rekindle::runtime::test
