#include "stream_fixture.h"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

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

/// Launches that each need the previous one's result, and the same arithmetic on the host.
class WaitingChainTest : public WaitingLaunchesTest {
  protected:
    /// Submits hold at most `operations`.
    void begin(std::uint32_t operations) {
        StreamOptions options;
        options.operations_per_submit = operations;
        stream_ = stream(options);
        words_ = memory(*stream_, Words(64, 1));
        zero_ = memory(*stream_, Words(64, 0));
        stream_->synchronize();
    }
    void launch(std::uint32_t factor, std::uint32_t value) {
        combine_by(factor, *stream_, words_, words_, zero_, value);
        expected_ = factor * expected_ + value;
    }
    std::uint64_t submitted() { return core(*stream_).submitted(); }
    void check() { EXPECT_EQ(contents(*stream_, words_), Words(64, expected_)); }

  private:
    std::unique_ptr<Stream> stream_;
    Buffer words_, zero_;
    std::uint32_t expected_ = 1;
};

TEST_F(WaitingChainTest, TheHostGoesOn) {
    begin(16);
    const std::uint64_t before = submitted();
    for (std::uint32_t i = 0; i < 100; ++i)
        launch(2 + i % 5, i);
    EXPECT_EQ(submitted(), before) << "nothing was compiled, so nothing could be submitted";
    check();
    EXPECT_GE(submitted(), before + 100 / 16) << "a submit holds at most 16 operations";
}

TEST_F(WaitingChainTest, MoreThanMayWaitAreSubmitted) {
    begin(1);
    for (std::uint32_t i = 0; i < 2000; ++i)
        launch(2 + i / 1000, i);
    check();
}

TEST_F(WaitingChainTest, TheProfilerMayBeEnabledMeanwhile) {
    begin(16);
    for (std::uint32_t i = 0; i < 100; ++i)
        launch(2 + i, i);
    device().profiler().enable(true);
    for (std::uint32_t i = 100; i < 200; ++i)
        launch(2 + i, i);
    check();
}

TEST_F(WaitingLaunchesTest, ARefusedKernelEndsTheDevice) {
    // The second compilation, where the stream needs it; and all of them, on other threads first.
    for (const auto& [threads, fault, refused] :
         {std::tuple{"0", "refused-kernel:2", "test_combine (factor = 3)"},
          {"4", "refused-kernel:1+", "test_combine (factor = 2)"}}) {
        environment.set("REKINDLE_COMPILE_THREADS", threads);
        environment.set("REKINDLE_FAULT", fault);
        const std::shared_ptr<Device> device = open({.self_test = false});
        const auto s = device->make_stream();
        const Buffer words = device->allocator().allocate(256, MemoryKind::device, s.get());
        s->fill(words.pointer(), 256, 1);
        for (std::uint32_t factor = 2; factor < 6; ++factor)
            combine_by(factor, *s, words, words, words, 0);
        EXPECT_THAT([&] { s->synchronize(); }, testing::ThrowsMessage<DeviceLost>(
                                                   HasSubstr("the driver refuses " + std::string(refused))));
        EXPECT_THROW(s->synchronize(), DeviceLost);
    }
    log.clear();
}

TEST_F(WaitingChainTest, ThreadsCompileWhatIsRequested) {
    environment.set("REKINDLE_COMPILE_THREADS", "3");
    begin(256);
    const auto constants = [](std::uint32_t factor) {
        return std::array{kernels::ConstantValue{"factor", factor}};
    };
    std::vector<const Pipeline*> requested;
    for (std::uint32_t factor = 2; factor < 20; ++factor)
        requested.push_back(&device().request(kernels::test_combine.kernel, constants(factor)));
    for (std::uint32_t factor = 2; factor < 20; ++factor)
        launch(factor, 1);
    check();
    for (std::uint32_t factor = 2; factor < 20; ++factor)
        EXPECT_EQ(&device().prepare(kernels::test_combine.kernel, constants(factor)), requested[factor - 2]);
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
