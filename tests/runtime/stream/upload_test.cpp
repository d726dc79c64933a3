#include "stream_fixture.h"

namespace rekindle::runtime::test {
namespace {

/// Uploads that do not go through the stream's own queue.
class UploadQueueTest : public StreamTest {
  protected:
    /// As on a device with a transfer queue; without one, a second lane of the compute queue.
    static StreamOptions second() {
        StreamOptions options;
        options.upload_queue = UploadQueue::second;
        options.large_upload_bytes = 8192;
        options.staging_bytes = 10000;
        return options;
    }
    static Access whole(const Buffer& buffer) {
        return {{without_poison(buffer.pointer().address)}, buffer.bytes(), true};
    }
};

TEST_F(UploadQueueTest, IsTheTransferQueueIfThereIsOne) {
    const auto s = stream();
    const Buffer words = memory(*s, 16);
    EXPECT_EQ(core(*s).upload_lane(whole(words)) != nullptr, device().info().can.transfer_queue);
    StreamOptions own;
    own.upload_queue = UploadQueue::stream;
    EXPECT_EQ(core(*stream(own)).upload_lane(whole(words)), nullptr);
    EXPECT_NE(core(*stream(second())).upload_lane(whole(words)), nullptr);
}

TEST_F(UploadQueueTest, UploadsKeepTheOrderOfTheStream) {
    const auto s = stream(second());
    const Buffer words = memory(*s, 30000), sum = memory(*s, Words(30000, 0));
    Words expected(30000, 0);
    for (std::uint32_t round = 0; round < 12; ++round) {
        const Words fresh = numbered(30000, 17 * round);
        s->upload(words.pointer(),
                  std::as_bytes(std::span(fresh))); // after the launch that read the previous ones
        if (round % 3 == 1)
            advance(*s, words, round);
        const Buffer next = memory(*s, 30000);
        combine(*s, next, words, sum, round);
        s->copy(sum.pointer(), next.pointer(), sum.bytes());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const std::uint32_t word = round % 3 == 1 ? 3 * fresh[i] + round : fresh[i];
            expected[i] += 3 * word + round;
        }
    }
    EXPECT_EQ(contents(*s, sum), expected);
}

TEST_F(UploadQueueTest, AnEventComesAfterTheUpload) {
    const auto s = stream(second()), other = stream();
    const Buffer words = memory(*s, 30000);
    const Words fresh = numbered(30000);
    s->upload(words.pointer(), std::as_bytes(std::span(fresh)));
    other->wait(s->record());
    EXPECT_EQ(contents(*other, words), fresh);
}

TEST_F(UploadQueueTest, AnUploadWaitsForWhatTheStreamWaitedFor) {
    const auto s = stream(second()), other = stream();
    const Buffer words = memory(*other, Words(30000, 1)), seen = memory(*other, 30000);
    for (int i = 0; i < 10; ++i)
        spin(*other, seen, words, 1000); // reads what is overwritten below
    s->wait(other->record());
    const Words fresh(30000, 2);
    s->upload(words.pointer(), std::as_bytes(std::span(fresh)));
    EXPECT_EQ(contents(*s, words), fresh);
    EXPECT_EQ(contents(*other, seen), spun(Words(30000, 1), 1000));
}

TEST_F(UploadQueueTest, AnUploadWaitsOnlyForWorkOnItsRange) {
    // The second submit stays in flight.
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.set("REKINDLE_FAULT", "hang:2");
    environment.set("REKINDLE_WATCHDOG_SECONDS", "0.3");
    auto s = stream(second());
    const Buffer used = memory(*s, Words(64, 1)), result = memory(*s, 64), unused = memory(*s, 64);
    s->synchronize();
    EXPECT_EQ(core(*s).last_use(whole(used)), 0u); // it is done
    spin(*s, result, used, 1);
    s->flush();
    EXPECT_EQ(core(*s).last_use(whole(unused)), 0u);
    EXPECT_EQ(core(*s).last_use(whole(used)), 2u);
    s->fill(unused.pointer(), 4, 0);
    EXPECT_EQ(core(*s).last_use(whole(unused)), 3u); // submitted by the query
    EXPECT_EQ(core(*s).submitted(), 3u);
    EXPECT_EQ(core(*s).last_use(whole(result)), 2u);
    s.reset();
    log.clear(); // reports the hang
}

} // namespace
} // namespace rekindle::runtime::test
