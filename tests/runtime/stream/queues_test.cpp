#include "stream_fixture.h"

namespace rekindle::runtime::test {
namespace {

/// Streams that submit to different queues of a device. lavapipe has only one queue, so all of them share it.
class QueueTest : public StreamTest {
  protected:
    std::unique_ptr<Stream> stream_on(StreamQueue queue) { return device().make_stream(queue); }
};

TEST_F(QueueTest, StreamsOfAllQueuesWaitForEachOther) {
    const auto main = stream_on(StreamQueue::main), beside = stream_on(StreamQueue::beside),
               copies = stream_on(StreamQueue::copies), more_copies = stream_on(StreamQueue::copies);
    Words expected = numbered(30000);
    const Buffer words = memory(*main, expected), copy = memory(*main, expected.size());
    for (std::uint32_t round = 0; round < 10; ++round) {
        advance(*main, words, round);
        Stream& copier = round % 2 == 0 ? *copies : *more_copies;
        copier.wait(main->record());
        copier.copy(copy.pointer(), words.pointer(), words.bytes());
        beside->wait(copier.record());
        advance(*beside, copy, round);
        main->wait(beside->record());
        main->copy(words.pointer(), copy.pointer(), words.bytes());
        for (std::uint32_t& word : expected)
            word = 3 * (3 * word + round) + round;
    }
    EXPECT_EQ(contents(*main, words), expected);
}

TEST_F(QueueTest, AStreamThatCopiesRefusesLaunches) {
    const auto main = stream_on(StreamQueue::main), copies = stream_on(StreamQueue::copies);
    const Buffer words = memory(*main, std::size_t{64});
    try {
        advance(*copies, words, 1);
        FAIL() << "it launched a kernel";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("only copies"), std::string::npos) << error.what();
    }
    copies->fill(words.pointer(), words.bytes(), 7);
    copies->synchronize();
    EXPECT_EQ(contents(*main, words), Words(64, 7));
}

} // namespace
} // namespace rekindle::runtime::test
