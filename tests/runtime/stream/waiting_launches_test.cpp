#include "stream_fixture.h"

#include <string>

namespace rekindle::runtime::test {
namespace {

using testing::HasSubstr;

/// Launches whose pipelines are not compiled yet. With REKINDLE_COMPILE_THREADS=0 nothing is compiled before
/// a submit needs it, so every launch waits.
class WaitingLaunchesTest : public StreamTest {
  protected:
    WaitingLaunchesTest() {
        environment.unset("REKINDLE_RANDOM_ORDER");
        environment.set("REKINDLE_GUARD_PAGES", "0");
        environment.set("REKINDLE_COMPILE_THREADS", "0");
    }
    /// combine() with a pipeline of its own for each factor: result = factor · first + second + value.
    static void combine_by(std::uint32_t factor, Stream& s, const Buffer& result, const Buffer& first,
                           const Buffer& second, std::uint32_t value) {
        combine(s, result, first, second, value, std::array{kernels::ConstantValue{"factor", factor}});
    }
};

TEST_F(WaitingLaunchesTest, KeepTheirOrderAndTheirParameters) {
    const auto s = stream();
    const Buffer a = memory(*s, Words(64, 1)), b = memory(*s, Words(64, 2));
    s->synchronize();
    std::uint32_t x = 1, y = 2;
    for (std::uint32_t factor = 2; factor < 40; ++factor) {
        combine_by(factor, *s, a, a, b, 7);
        x = factor * x + y + 7;
        s->fill(b.pointer(), 4 * 64, factor); // of another kind, between launches that wait
        y = factor;
        combine_by(3, *s, b, a, b, factor);
        y = 3 * x + y + factor;
    }
    EXPECT_EQ(contents(*s, a), Words(64, x));
    EXPECT_EQ(contents(*s, b), Words(64, y));
}

TEST_F(WaitingLaunchesTest, DoNotKeepTheHostFromGoingOn) {
    StreamOptions small;
    small.operations_per_submit = 16;
    const auto s = stream(small);
    const Buffer a = memory(*s, Words(64, 1)), zero = memory(*s, Words(64, 0));
    s->synchronize();
    const std::uint64_t before = core(*s).submitted();
    std::uint32_t x = 1;
    for (std::uint32_t i = 0; i < 100; ++i) {
        combine_by(2 + i % 5, *s, a, a, zero, i);
        x = (2 + i % 5) * x + i;
    }
    EXPECT_EQ(core(*s).submitted(), before) << "nothing was compiled, so nothing could be submitted";
    EXPECT_EQ(contents(*s, a), Words(64, x));
    EXPECT_GE(core(*s).submitted(), before + 100 / 16) << "a submit holds at most 16 operations";
}

TEST_F(WaitingLaunchesTest, HaveALimit) {
    StreamOptions small;
    small.operations_per_submit = 1;
    const auto s = stream(small);
    const Buffer a = memory(*s, Words(64, 1)), zero = memory(*s, Words(64, 0));
    s->synchronize();
    std::uint32_t x = 1;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        combine_by(2 + i / 1000, *s, a, a, zero, i);
        x = (2 + i / 1000) * x + i;
    }
    EXPECT_EQ(contents(*s, a), Words(64, x));
}

TEST_F(WaitingLaunchesTest, AreRecordedWhileTheProfilerMeasures) {
    StreamOptions small;
    small.operations_per_submit = 16;
    const auto s = stream(small);
    const Buffer a = memory(*s, Words(64, 1)), zero = memory(*s, Words(64, 0));
    s->synchronize();
    std::uint32_t x = 1;
    const auto launch = [&](std::uint32_t i) {
        combine_by(2 + i, *s, a, a, zero, i);
        x = (2 + i) * x + i;
    };
    for (std::uint32_t i = 0; i < 100; ++i)
        launch(i);
    device().profiler().enable(true);
    for (std::uint32_t i = 100; i < 200; ++i)
        launch(i);
    EXPECT_EQ(contents(*s, a), Words(64, x));
}

TEST_F(WaitingLaunchesTest, ARefusedKernelEndsTheDevice) {
    const auto s = stream();
    const Buffer a = memory(*s, Words(64, 1)), zero = memory(*s, Words(64, 0));
    s->synchronize();
    device_.reset();
    environment.set("REKINDLE_FAULT", "refused-kernel:2");
    for (const char* threads : {"0", "4"}) {
        environment.set("REKINDLE_COMPILE_THREADS", threads);
        const std::shared_ptr<Device> device = open({.self_test = false});
        const auto refusing = device->make_stream();
        const Buffer words = device->allocator().allocate(256, MemoryKind::device, refusing.get());
        refusing->fill(words.pointer(), 256, 1);
        for (std::uint32_t factor = 2; factor < 6; ++factor)
            combine_by(factor, *refusing, words, words, words, 0);
        if (std::string(threads) == "0") {
            EXPECT_THAT([&] { refusing->synchronize(); },
                        testing::ThrowsMessage<DeviceLost>(
                            HasSubstr("the driver refuses test_combine (factor = 3)")));
            EXPECT_THROW(refusing->synchronize(), DeviceLost);
            continue;
        }
        // Another thread may have compiled number 2, so that the launch's own attempt succeeds.
        try {
            refusing->synchronize();
        } catch (const DeviceLost& lost) {
            EXPECT_THAT(lost.what(), HasSubstr("the driver refuses test_combine"));
        }
    }
    log.clear();
}

TEST_F(WaitingLaunchesTest, ThreadsCompileWhatIsRequested) {
    environment.set("REKINDLE_COMPILE_THREADS", "3");
    const auto s = stream();
    std::vector<const Pipeline*> requested;
    for (std::uint32_t factor = 2; factor < 20; ++factor)
        requested.push_back(&device().request(kernels::test_combine.kernel,
                                              std::array{kernels::ConstantValue{"factor", factor}}));
    const Buffer a = memory(*s, Words(64, 1)), zero = memory(*s, Words(64, 0));
    std::uint32_t x = 1;
    for (std::uint32_t factor = 2; factor < 20; ++factor) {
        combine_by(factor, *s, a, a, zero, 1);
        x = factor * x + 1;
    }
    EXPECT_EQ(contents(*s, a), Words(64, x));
    for (std::uint32_t factor = 2; factor < 20; ++factor)
        EXPECT_EQ(&device().prepare(kernels::test_combine.kernel,
                                    std::array{kernels::ConstantValue{"factor", factor}}),
                  requested[factor - 2]);
}

TEST_F(WaitingLaunchesTest, AnInvalidNumberOfThreadsIsRefused) {
    for (const char* value : {"-1", "two", "65", "3 "}) {
        environment.set("REKINDLE_COMPILE_THREADS", value);
        EXPECT_THAT(
            [&] { open({.self_test = false}); },
            testing::ThrowsMessage<Error>(HasSubstr("REKINDLE_COMPILE_THREADS=" + std::string(value))));
    }
}

} // namespace
} // namespace rekindle::runtime::test
