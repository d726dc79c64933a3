/// Copies between mapped and device memory that the host does not wait for.
#include "stream_fixture.h"

#include <algorithm>

namespace rekindle::runtime::test {
namespace {

constexpr std::size_t count = 3 << 18; // 3 MiB

class AsynchronousCopyTest : public StreamTest {
  protected:
    Buffer upload_memory(std::size_t words) {
        return device().allocator().allocate(4 * words, MemoryKind::upload);
    }
    Buffer readback_memory(std::size_t words) {
        return device().allocator().allocate(4 * words, MemoryKind::readback);
    }
};

TEST_F(AsynchronousCopyTest, CopiesToTheDeviceAndBackWithEvents) {
    StreamOptions pieces;
    pieces.piece_bytes = 1 << 20;
    const auto s = stream(pieces);
    const Buffer from = upload_memory(count), words = memory(*s, count), to = readback_memory(count);
    std::ranges::copy(numbered(count), from.host_as<std::uint32_t>().begin());
    const Synchronizations before = thread_synchronizations();
    s->copy(words.pointer(), from.pointer(), from.bytes());
    const Event uploaded = s->record();
    advance(*s, words, 7);
    s->copy(to.pointer(), words.pointer(), to.bytes());
    const Event downloaded = s->record();
    s->flush();
    EXPECT_EQ(thread_synchronizations(), before);
    uploaded.wait();
    std::ranges::fill(from.host_as<std::uint32_t>(), 0u); // the host may overwrite it now
    downloaded.wait();
    Words expected = numbered(count);
    for (std::uint32_t& w : expected)
        w = 3 * w + 7;
    EXPECT_TRUE(std::ranges::equal(to.host_as<std::uint32_t>(), expected));
}

TEST_F(AsynchronousCopyTest, ACopyingStreamNextToAComputingOne) {
    const auto computing = stream(), copying = stream();
    constexpr std::size_t words = 20000;
    const Buffer from = upload_memory(words), to = readback_memory(words);
    const Buffer here = memory(*copying, words), result = memory(*computing, words);
    device().allocator().record_stream(here, *computing);
    for (std::uint32_t round = 0; round < 5; ++round) {
        std::ranges::copy(numbered(words, 100 * round), from.host_as<std::uint32_t>().begin());
        copying->copy(here.pointer(), from.pointer(), from.bytes());
        computing->wait(copying->record());
        spin(*computing, result, here, round);
        copying->wait(computing->record());
        copying->copy(to.pointer(), result.pointer(), to.bytes());
        const Event done = copying->record();
        copying->flush();
        done.wait();
        EXPECT_TRUE(
            std::ranges::equal(to.host_as<std::uint32_t>(), spun(numbered(words, 100 * round), round)))
            << "round " << round;
    }
}

TEST_F(AsynchronousCopyTest, CopiesToTheHostAreDividedWhileKernelsRun) {
    environment.unset("REKINDLE_RANDOM_ORDER");
    environment.set("REKINDLE_GUARD_PAGES", "0");
    StreamOptions options;
    options.queue = StreamQueue::copies;
    options.operations_per_submit = 1;
    const auto computing = stream(), copying = stream(options);
    const Buffer words = memory(*computing, numbered(1 << 19)), to = readback_memory(1 << 19);
    const Buffer few = memory(*computing, numbered(8192)), result = memory(*computing, 8192);
    computing->synchronize();
    const auto submits_of_copy = [&](const Buffer& target, const Buffer& source) {
        const std::uint64_t before = core(*copying).submitted();
        copying->copy(target.pointer(), source.pointer(), source.bytes());
        copying->flush();
        return core(*copying).submitted() - before;
    };
    EXPECT_EQ(submits_of_copy(to, words), 1U);
    for (int i = 0; i < 4; ++i)
        spin(*computing, result, few, 60000);
    computing->flush();
    EXPECT_EQ(submits_of_copy(to, words), 4U);
    EXPECT_EQ(submits_of_copy(words, to), 1U);
    copying->synchronize();
    EXPECT_TRUE(std::ranges::equal(to.host_as<std::uint32_t>(), numbered(1 << 19)));
}

TEST_F(AsynchronousCopyTest, AMappedBlockIsNotReusedBeforeItsCopyIsDone) {
    const auto s = stream();
    const Buffer more = memory(*s, numbered(8192)), spinning = memory(*s, 8192);
    const Buffer words = memory(*s, 4096);
    spin(*s, spinning, more, 60000); // the copy waits for it
    s->copy(words.pointer(), spinning.pointer(), 4);
    {
        const Buffer from = upload_memory(4096);
        std::ranges::fill(from.host_as<std::uint32_t>(), 5u);
        s->copy(words.pointer(), from.pointer(), from.bytes());
    }
    s->flush();
    for (int i = 0; i < 4; ++i)
        std::ranges::fill(upload_memory(4096).host_as<std::uint32_t>(), 9u);
    EXPECT_EQ(contents(*s, words), Words(4096, 5));
}

} // namespace
} // namespace rekindle::runtime::test
