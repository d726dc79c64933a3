#include "stream_fixture.h"

#include <algorithm>

namespace rekindle::runtime::test {
namespace {

/// Without guard pages and poison, where every block is its own allocation.
class TransientRingTest : public StreamTest {
  protected:
    TransientRingTest() {
        environment.set("REKINDLE_GUARD_PAGES", "0");
        environment.set("REKINDLE_POISON", "0");
    }
    std::uint64_t driver_allocations() {
        return device().allocator().statistics(MemoryKind::parameters).driver_allocations;
    }
};

/// result = 3 · block + second + value; the block is not among the accesses.
void combine_block(Stream& stream, const Access& result, DevicePointer block, const Buffer& second,
                   std::uint32_t value) {
    kernels::TestingParameters p;
    p.result = result.begin.address;
    p.first = block.address;
    p.second = second.pointer().address;
    p.count = static_cast<std::uint32_t>(result.bytes / 4);
    p.value = value;
    stream.launch(kernels::test_combine, groups_of(p.count), p, std::array{result, reads(second)});
}

void write(const Transient& block, std::uint32_t word) {
    std::ranges::fill(std::span(reinterpret_cast<std::uint32_t*>(block.host.data()), block.host.size() / 4),
                      word);
}

/// Every launch reads its own block; together they are more than the ring holds.
void check_many_blocks(Stream& s, const Buffer& result, const Buffer& zero, std::uint32_t count) {
    constexpr std::uint32_t words = 64;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Transient block = s.transient(4 * words);
        write(block, i);
        combine_block(s, part(result, words * i, words, true), block.pointer, zero, 7);
    }
}

Words expected_of(std::uint32_t count) {
    Words expected;
    for (std::uint32_t i = 0; i < count; ++i)
        expected.insert(expected.end(), 64, 3 * i + 7);
    return expected;
}

TEST_F(StreamTest, AKernelReadsATransientBlock) {
    for (const char* poison : {"0", "1"}) {
        environment.set("REKINDLE_POISON", poison);
        device_ = open();
        const auto s = stream();
        const Buffer zero = memory(*s, Words(64, 0)), result = memory(*s, 64 * 100);
        check_many_blocks(*s, result, zero, 100);
        EXPECT_EQ(contents(*s, result), expected_of(100)) << "REKINDLE_POISON=" << poison;
        EXPECT_EQ(s->transient(8).pointer.address >> 62 & 1, device_ && *poison == '1' ? 1u : 0u);
    }
}

TEST_F(StreamTest, TransientBlocksHaveTheRequestedSize) {
    const auto s = stream();
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{17},
                                      std::uint64_t{4096}, Stream::largest_transient}) {
        const Transient block = s->transient(bytes);
        EXPECT_EQ(block.host.size(), bytes);
        EXPECT_EQ(block.pointer.address % 16, 0u);
    }
    EXPECT_THROW((void)s->transient(Stream::largest_transient + 1), Error);
}

TEST_F(TransientRingTest, ReusesChunksWithoutFurtherDriverAllocations) {
    const auto s = stream();
    constexpr std::uint32_t count = 4000; // 1 MiB in total
    const Buffer zero = memory(*s, Words(64, 0)), result = memory(*s, 64 * count);
    check_many_blocks(*s, result, zero, count);
    EXPECT_EQ(contents(*s, result), expected_of(count));
    const std::uint64_t before = driver_allocations();
    EXPECT_GE(before, 1u);
    for (int round = 0; round < 3; ++round) {
        s->fill(result.pointer(), result.bytes(), 0);
        check_many_blocks(*s, result, zero, count);
        EXPECT_EQ(contents(*s, result), expected_of(count));
    }
    EXPECT_EQ(driver_allocations(), before);
}

TEST_F(TransientRingTest, ABlockThatIsHeldIsNotReused) {
    const auto s = stream();
    const Buffer zero = memory(*s, Words(64, 0)), result = memory(*s, 64);
    const Transient held = s->transient(256);
    write(held, 5);
    write(s->transient(Stream::largest_transient), 9);
    std::uint64_t before = 0;
    for (int i = 0; i < 100; ++i) { // more than twice around the ring
        write(s->transient(Stream::largest_transient), 9);
        s->synchronize();
        if (i == 10)
            before = driver_allocations();
    }
    EXPECT_EQ(driver_allocations(), before) << "the other chunks are reused meanwhile";
    combine_block(*s, writes(result), held.pointer, zero, 1);
    EXPECT_EQ(contents(*s, result), Words(64, 16));
}

TEST_F(TransientRingTest, ABlockStaysUntilTheWorkThatReadsItIsDone) {
    const auto s = stream();
    const Buffer zero = memory(*s, Words(64, 0)), result = memory(*s, 64), long_result = memory(*s, 4096);
    const Buffer long_words = memory(*s, numbered(4096));
    spin(*s, long_result, long_words, 60000); // the next launch waits for it
    s->copy(zero.pointer(), long_result.pointer(), 4);
    s->fill(zero.pointer(), 256, 0);
    {
        const Transient block = s->transient(256);
        write(block, 5);
        combine_block(*s, writes(result), block.pointer, zero, 1);
    }
    s->flush();
    for (int i = 0; i < 20; ++i)
        write(s->transient(Stream::largest_transient), 9);
    EXPECT_EQ(contents(*s, result), Words(64, 16));
}

TEST_F(StreamTest, LaunchesPreparedPipelinesWithoutNames) {
    const auto s = stream();
    const Buffer a = memory(*s, Words{1, 2, 3}), b = memory(*s, Words{10, 20, 30}), sum = memory(*s, 3);
    const std::array factor{kernels::ConstantValue{"factor", 5}};
    const Pipeline& five = device().prepare(kernels::test_combine, factor);
    EXPECT_EQ(&five, &device().prepare(kernels::test_combine, factor));
    EXPECT_NE(&five, &device().prepare(kernels::test_combine));
    kernels::TestingParameters p;
    p.result = sum.pointer().address;
    p.first = a.pointer().address;
    p.second = b.pointer().address;
    p.count = 3;
    p.value = 1;
    const std::array accesses{writes(sum), reads(a), reads(b)};
    s->launch(five, {1, 1, 1}, p, accesses);
    EXPECT_EQ(contents(*s, sum), (Words{16, 31, 46}));
    s->launch(device().prepare(kernels::test_combine), {1, 1, 1}, p, accesses);
    EXPECT_EQ(contents(*s, sum), (Words{14, 27, 40}));
    EXPECT_THROW(s->launch(five, {1, 1, 1}, std::as_bytes(std::span(&p, 1)).first(8), accesses), Error);
    const auto other = open();
    EXPECT_THROW(other->make_stream()->launch(five, {1, 1, 1}, p, accesses), Error);
    EXPECT_EQ(contents(*s, sum), (Words{14, 27, 40})); // nothing happened
}

} // namespace
} // namespace rekindle::runtime::test
