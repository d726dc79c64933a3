/// The test modes detect writes and reads of kernels where they are not allowed.
#include "stream_fixture.h"

#include <bit>
#include <cmath>

namespace rekindle::runtime::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TestModes : public StreamTest {
  protected:
    /// words[i] = 3 · words[i] + value for i < count, whatever the block's size; `accesses` is what the
    /// stream is told.
    static void advance_at(Stream& stream, std::uint64_t address, std::uint32_t count, std::uint32_t value,
                           std::span<const Access> accesses) {
        kernels::TestingParameters p;
        p.result = address;
        p.count = count;
        p.value = value;
        stream.launch(kernels::test_advance, groups_of(count), p, accesses);
    }
};

class GuardedKernelDeathTest : public TestModes {
  protected:
    void SetUp() override {
        if (first_device().type != DeviceType::cpu)
            GTEST_SKIP() << "guard pages need a CPU driver, and " << first_device().name << " is not one";
        testing::FLAGS_gtest_death_test_style =
            "threadsafe"; // the driver's threads do not survive a plain fork
    }
};

TEST_F(GuardedKernelDeathTest, AccessingOneElementTooFarCrashes) {
    const auto s = stream();
    const Words words = numbered(1000);
    const Buffer block = memory(*s, words);
    Words expected = words;
    for (std::uint32_t& w : expected)
        w = 3 * w + 5;
    advance_at(*s, block.pointer().address, 1000, 5, std::array{writes(block)});
    EXPECT_EQ(contents(*s, block), expected);
    EXPECT_DEATH(
        {
            advance_at(*s, block.pointer().address, 1001, 5, std::array{writes(block)});
            s->synchronize();
        },
        "");
}

TEST_F(GuardedKernelDeathTest, WritingMemoryDeclaredAsReadOnlyCrashes) {
    const auto s = stream();
    const Buffer block = memory(*s, numbered(1000));
    s->synchronize();
    EXPECT_DEATH(
        {
            advance_at(*s, block.pointer().address, 1000, 5, std::array{reads(block)});
            s->synchronize();
        },
        "");
}

class PoisonedStreamTest : public TestModes {
  protected:
    PoisonedStreamTest() {
        environment.set("REKINDLE_POISON", "1");
        environment.set("REKINDLE_GUARD_PAGES", "0");
    }
};
using PoisonedStreamDeathTest = PoisonedStreamTest;

TEST_F(PoisonedStreamTest, KernelsCopiesAndFillsWorkOnPoisonedPointers) {
    const auto s = stream();
    const Buffer a = memory(*s, numbered(100)), b = memory(*s, Words(100, 7)), c = memory(*s, 100);
    EXPECT_NE(raw_address(a.pointer()), a.pointer().address);
    combine(*s, c, a, b, 1);
    s->copy(a.pointer(), c.pointer() + 200, 200);
    s->fill(b.pointer(), 400, 3);
    Words expected = contents(*s, c);
    EXPECT_EQ(expected[10], 3 * 11 + 7 + 1u);
    std::copy_n(expected.begin() + 50, 50, expected.begin());
    std::iota(expected.begin() + 50, expected.end(), 51u);
    EXPECT_EQ(contents(*s, a), expected);
    EXPECT_EQ(contents(*s, b), Words(100, 3));
}

TEST_F(PoisonedStreamTest, MemoryThatWasNeverWrittenIsNan) {
    const auto s = stream();
    const Buffer block = memory(*s, 100);
    for (const std::uint32_t word : contents(*s, block))
        EXPECT_TRUE(std::isnan(std::bit_cast<float>(word)));
}

TEST_F(PoisonedStreamTest, AReleasedBlockIsFilledBeforeLaterWorkReadsIt) {
    const auto s = stream();
    Buffer block = memory(*s, Words(100, 1));
    const Buffer zero = memory(*s, Words(100, 0)), out = memory(*s, 100);
    kernels::TestingParameters p; // result = 3 · first + second + value
    p.result = out.pointer().address;
    const DevicePointer kept = block.pointer();
    p.first = raw_address(kept); // like a pointer stored in a table
    p.second = zero.pointer().address;
    p.count = 100;
    p.value = 0;
    block = {};
    s->launch(kernels::test_combine, groups_of(100), p,
              std::array{writes(out), Access{kept, 400, false}, reads(zero)});
    for (const std::uint32_t word : contents(*s, out))
        EXPECT_NE(word, 3u) << "the released block's value";
}

TEST_F(PoisonedStreamTest, AnAddressWithoutThePoisonBitIsRefused) {
    const auto s = stream();
    const Words host(100, 1);
    const Buffer out = memory(*s, 100);
    kernels::TestingParameters p;
    p.result = out.pointer().address;
    p.first = p.second = reinterpret_cast<std::uint64_t>(host.data());
    p.count = 100;
    EXPECT_THROW(s->launch(kernels::test_combine, groups_of(100), p,
                           std::array{writes(out), Access{{p.first}, 400, false}}),
                 Error);
}

TEST_F(PoisonedStreamTest, AKernelWriteOutsideABlockMakesTheNextWaitThrow) {
    const auto s = stream();
    Buffer block = memory(*s, numbered(1000));
    const bool seen = block.block() && log.lines(LogLevel::warning).empty();
    if (!seen) {
        log.clear();
        GTEST_SKIP() << "the host cannot see the memory of " << first_device().name;
    }
    advance_at(*s, block.pointer().address, 1001, 5, std::array{writes(block)});
    block = {};
    EXPECT_THROW(s->synchronize(), Error);
    EXPECT_THAT(log.lines(LogLevel::error), ElementsAre(HasSubstr("offset 0 after its end")));
    log.clear();
    s->synchronize();
}

TEST_F(PoisonedStreamDeathTest, UsingAReleasedBlockCrashesInTheKernel) {
    if (first_device().type != DeviceType::cpu)
        GTEST_SKIP() << "a stray address on " << first_device().name
                     << " loses the device instead of the process";
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto s = stream();
    Buffer block = memory(*s, numbered(10));
    const std::uint64_t address = block.pointer().address;
    block = {};
    EXPECT_DEATH(
        {
            advance_at(*s, address, 10, 5, {});
            s->synchronize();
        },
        "");
}

TEST_F(TestModes, RecoversFromOutOfMemoryDuringQueuedWork) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_FAULT",
                    "out-of-memory:4"); // the third block's segment, while the second is in use
    const auto s = stream();
    if (device().info().type != DeviceType::cpu)
        GTEST_SKIP() << "a GPU has other memory for the block, which is used before any retry";
    const Words words = numbered(3 << 20);
    const Buffer first = memory(*s, words);
    advance(*s, first, 1);
    Buffer second = memory(*s, 9 << 18);
    s->copy(second.pointer(), first.pointer(), 9 << 20);
    second = {};
    const Buffer third = memory(*s, 33 << 18);
    advance(*s, first, 2);
    EXPECT_EQ(device().allocator().statistics(MemoryKind::device).retries, 1u);
    const Words result = contents(*s, first);
    for (const std::size_t i : {0u, 1000u, (3u << 20) - 1})
        EXPECT_EQ(result[i], 3 * (3 * words[i] + 1) + 2);
}

} // namespace
} // namespace rekindle::runtime::test
