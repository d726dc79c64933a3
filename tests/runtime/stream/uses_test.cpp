#include "stream_fixture.h"

#include <algorithm>

namespace rekindle::runtime::test {
namespace {

/// Tests Stream::record_uses.
class UsesTest : public StreamTest {
  protected:
    UsesTest() {
        environment.unset("REKINDLE_RANDOM_ORDER");
        environment.set("REKINDLE_GUARD_PAGES", "0");
    }
    /// Returns a stream that starts to keep track of used ranges at the first record_uses(), like a stream of
    /// a device without a transfer queue.
    std::unique_ptr<Stream> without_lane() {
        StreamOptions options;
        options.upload_queue = UploadQueue::stream;
        return stream(options);
    }
    static std::vector<Event> uses(Stream& stream, const Buffer& buffer) {
        return stream.record_uses(std::array{writes(buffer)});
    }
    static bool done(const std::vector<Event>& events) {
        return std::ranges::all_of(events, [](const Event& event) { return event.done(); });
    }
    static void wait(Stream& stream, const std::vector<Event>& events) {
        for (const Event& event : events)
            stream.wait(event);
    }
};

TEST_F(UsesTest, WorkOnOtherRangesDoesNotCount) {
    const auto s = without_lane();
    const Buffer used = memory(*s, numbered(100)), other = memory(*s, numbered(100));
    uses(*s, used);
    advance(*s, used, 1);
    s->flush();
    advance(*s, other, 1);
    const std::uint64_t submitted = core(*s).submitted();
    for (const Event& event : uses(*s, used))
        event.wait();
    EXPECT_EQ(core(*s).submitted(), submitted);
    EXPECT_TRUE(done(uses(*s, used)));
    const std::vector<Event> of_other = uses(*s, other);
    EXPECT_EQ(core(*s).submitted(), submitted + 1) << "so that later operations do not delay the event";
    for (const Event& event : of_other)
        event.wait();
}

TEST_F(UsesTest, AnotherStreamMayWriteTheRangeAfterTheEvents) {
    const auto s = without_lane(), other = stream();
    const Buffer words = memory(*s, numbered(30000)), seen = memory(*s, std::size_t{30000}),
                 rest = memory(*s, numbered(30000));
    for (std::uint32_t round = 1; round < 6; ++round) {
        spin(*s, seen, words, 500 * round); // reads the words that `other` overwrites below
        wait(*other, uses(*s, words));
        spin(*s, rest, words, 0);
        s->flush();
        wait(*other, uses(*s, words));
        const Words fresh = numbered(30000, 100 * round);
        other->upload(words.pointer(), std::as_bytes(std::span(fresh)));
        s->wait(other->record());
        EXPECT_EQ(contents(*s, seen), spun(numbered(30000, round == 1 ? 1 : 100 * (round - 1)), 500 * round));
    }
}

TEST_F(UsesTest, WhatTheStreamWaitsForCounts) {
    for (const bool earlier_call : {true, false}) {
        const auto s = without_lane(), late = stream();
        const Buffer words = memory(*s, numbered(100));
        s->synchronize();
        if (earlier_call) {
            EXPECT_TRUE(done(uses(*s, words)));
        }
        const auto promise = device().make_promise();
        s->wait(promise->event());
        EXPECT_FALSE(done(uses(*s, words)));
        EXPECT_FALSE(done(uses(*s, words))) << "at the second call, too";
        promise->keep(late->record());
        for (const Event& event : uses(*s, words))
            event.wait();
        EXPECT_TRUE(done(uses(*s, words)));
    }
}

TEST_F(UsesTest, PromisesOfASequenceCountForTheirMemory) {
    const auto s = without_lane(), late = stream();
    const Buffer of_first = memory(*s, numbered(100)), of_second = memory(*s, numbered(100)),
                 other = memory(*s, numbered(100));
    s->synchronize();
    EXPECT_TRUE(done(uses(*s, other)));
    const auto sequence = device().make_promise_sequence();
    const auto first = sequence->next(std::array{writes(of_first)}),
               second = sequence->next(std::array{writes(of_second)}),
               unrelated = sequence->next(std::array{writes(of_first)});
    s->wait(second->event());
    EXPECT_TRUE(done(uses(*s, other)));
    EXPECT_FALSE(done(uses(*s, of_second)));
    EXPECT_FALSE(done(uses(*s, of_first))) << "the device reaches the first one before the second";
    EXPECT_FALSE(done(s->record_uses(std::array{writes(other), reads(of_first)})));
    EXPECT_FALSE(done(s->record_uses(std::array{all_memory})));
    first->keep(late->record());
    for (const Event& event : uses(*s, of_first))
        event.wait();
    EXPECT_TRUE(done(uses(*s, of_first))) << "the stream does not wait for the third one";
    EXPECT_FALSE(done(uses(*s, of_second)));
    advance(*s, other, 1);
    EXPECT_FALSE(done(uses(*s, other))) << "the stream's own operation waits for the second one";
    second->abandon();
    for (const Event& event : s->record_uses(std::array{all_memory}))
        event.wait();
    EXPECT_TRUE(done(s->record_uses(std::array{all_memory})));
}

TEST_F(UsesTest, WhoWaitsForTheUsesInheritsTheirMemory) {
    const auto s = without_lane(), next = without_lane(), late = stream();
    const Buffer promised = memory(*s, numbered(100)), other = memory(*s, numbered(100));
    s->synchronize();
    EXPECT_TRUE(done(uses(*s, promised)) && done(uses(*next, promised)));
    const auto promise = device().make_promise_sequence()->next(std::array{writes(promised)});
    s->wait(promise->event());
    wait(*next, uses(*s, promised));
    EXPECT_FALSE(done(uses(*next, promised)));
    EXPECT_TRUE(done(uses(*next, other)));
    promise->keep(late->record());
    next->synchronize();
    EXPECT_TRUE(done(uses(*next, promised)));
}

TEST_F(UsesTest, LargeUploadsDoNotWaitForPromisesOfOtherMemory) {
    StreamOptions options;
    options.upload_queue = UploadQueue::second;
    options.large_upload_bytes = 8192;
    const auto s = stream(options), other = stream();
    const Buffer promised = memory(*s, std::size_t{30000}), words = memory(*s, std::size_t{30000});
    s->synchronize();
    const auto promise = device().make_promise_sequence()->next(std::array{writes(promised)});
    s->wait(promise->event());
    const Words fresh = numbered(30000, 7);
    s->upload(words.pointer(), std::as_bytes(std::span(fresh)));
    wait(*other, uses(*s, words));
    EXPECT_EQ(contents(*other, words), fresh);
    promise->abandon();
}

TEST_F(UsesTest, LargeUploadsCount) {
    StreamOptions options;
    options.upload_queue = UploadQueue::second;
    options.large_upload_bytes = 8192;
    const auto s = stream(options), other = stream();
    const Buffer words = memory(*s, std::size_t{30000});
    for (std::uint32_t round = 0; round < 10; ++round) {
        const Words fresh = numbered(30000, 7 * round);
        s->upload(words.pointer(), std::as_bytes(std::span(fresh)));
        wait(*other, uses(*s, words));
        EXPECT_EQ(contents(*other, words), fresh);
    }
}

TEST_F(UsesTest, TestModesCountEverything) {
    environment.set("REKINDLE_RANDOM_ORDER", "1");
    const auto s = stream();
    const Buffer used = memory(*s, numbered(100)), other = memory(*s, numbered(100));
    uses(*s, used);
    s->synchronize();
    advance(*s, other, 1);
    for (const Event& event : uses(*s, used))
        event.wait();
    EXPECT_TRUE(s->record().done());
}

} // namespace
} // namespace rekindle::runtime::test
