#include "stream_fixture.h"

#include <chrono>
#include <thread>

namespace rekindle::runtime::test {
namespace {

/// Work that waits for work that is queued later.
class PromiseTest : public StreamTest {
  protected:
    PromiseTest() {
        environment.unset("REKINDLE_RANDOM_ORDER");
        environment.set("REKINDLE_GUARD_PAGES", "0");
    }
    static std::uint64_t submitted(Stream& stream) { return core(stream).submitted(); }

    static Words advanced(Words words, std::uint32_t value) {
        for (std::uint32_t& word : words)
            word = 3 * word + value;
        return words;
    }
};

TEST_F(PromiseTest, TheHostGoesOnAndTheWorkIsHeldBack) {
    const auto early = stream(), late = stream();
    const Buffer words = memory(*late, numbered(1000)), copy = memory(*early, std::size_t{1000});
    late->synchronize();
    const auto promise = device().make_promise();
    early->synchronize();
    const std::uint64_t before = submitted(*early);
    early->wait(promise->event());
    early->copy(copy.pointer(), words.pointer(), words.bytes());
    for (std::uint32_t i = 0; i < 1000; ++i) // more than one submit
        advance(*early, copy, i);
    early->flush();
    EXPECT_EQ(submitted(*early), before);
    EXPECT_FALSE(promise->event().done());

    advance(*late, words, 5);
    promise->keep(late->record());
    EXPECT_GT(submitted(*early), before) << "keeping the promise submits what was held back";
    Words expected = advanced(numbered(1000), 5);
    for (std::uint32_t i = 0; i < 1000; ++i)
        expected = advanced(expected, i);
    EXPECT_EQ(contents(*early, copy), expected);
    EXPECT_TRUE(promise->event().done());
}

TEST_F(PromiseTest, KeepingItSubmitsTheLastRecordedWork) {
    const auto early = stream(), late = stream();
    const Buffer words = memory(*late, numbered(100)), copy = memory(*early, std::size_t{100});
    late->synchronize();
    early->synchronize();
    for (const std::uint32_t count : {1U, 3U, 40U}) {
        const auto promise = device().make_promise();
        const Event ready = late->record();
        early->wait(promise->event());
        early->copy(copy.pointer(), words.pointer(), words.bytes());
        for (std::uint32_t i = 0; i < count; ++i)
            advance(*early, copy, i);
        const Event last = early->record();
        promise->keep(ready);
        while (!last.done()) // submits nothing
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        Words expected = numbered(100);
        for (std::uint32_t i = 0; i < count; ++i)
            expected = advanced(expected, i);
        EXPECT_EQ(contents(*early, copy), expected);
    }
}

TEST_F(PromiseTest, StreamsBehindAHeldStreamAreHeldToo) {
    const auto first = stream(), second = device().make_stream(StreamQueue::beside), third = stream(),
               late = stream();
    const Buffer words = memory(*late, numbered(100));
    late->synchronize();
    const auto promise = device().make_promise();
    third->wait(late->record());
    first->wait(promise->event());
    advance(*first, words, 1);
    third->wait(first->record());
    advance(*third, words, 2);
    second->wait(third->record());
    advance(*second, words, 3);
    second->flush();
    advance(*late, words, 4);
    promise->keep(late->record());
    EXPECT_EQ(contents(*second, words), advanced(advanced(advanced(advanced(numbered(100), 4), 1), 2), 3));
}

TEST_F(PromiseTest, AnotherThreadKeepsItWhileTheHostWaits) {
    const auto early = stream();
    const auto late = stream();
    for (std::uint32_t round = 0; round < 20; ++round) {
        const Buffer words = memory(*late, numbered(100));
        const auto promise = device().make_promise();
        const Event ready = late->record();
        std::thread keeper([&] {
            late->wait(ready);
            std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
            advance(*late, words, round);
            promise->keep(late->record());
        });
        early->wait(promise->event());
        advance(*early, words, 1);
        EXPECT_EQ(contents(*early, words), advanced(advanced(numbered(100), round), 1));
        promise->event().wait();
        keeper.join();
    }
}

TEST_F(PromiseTest, AnEventBetweenTwoPromisesDoesNotWaitForTheSecond) {
    const auto early = stream(), late = stream();
    const Buffer words = memory(*late, numbered(100));
    const auto first = device().make_promise(), second = device().make_promise();
    early->wait(first->event());
    const Event between = early->record();
    early->wait(second->event());
    advance(*early, words, 2);
    late->wait(between);
    advance(*late, words, 1);
    first->keep({});
    second->keep(late->record());
    EXPECT_EQ(contents(*early, words), advanced(advanced(numbered(100), 1), 2));
}

TEST_F(PromiseTest, KeptBeforeAnyoneWaitsForIt) {
    const auto early = stream(), late = stream();
    const Buffer words = memory(*late, numbered(100));
    const auto promise = device().make_promise();
    promise->keep(late->record());
    promise->keep({}); // does nothing
    early->wait(promise->event());
    advance(*early, words, 1);
    EXPECT_EQ(contents(*early, words), advanced(numbered(100), 1));
}

TEST_F(PromiseTest, ALargeUploadIsHeldBackWithTheWorkBeforeIt) {
    StreamOptions options;
    options.upload_queue = UploadQueue::second;
    options.large_upload_bytes = 4096;
    const auto early = stream(options);
    const auto late = stream();
    const Words data = numbered(5000);
    const Buffer words = memory(*late, Words(5000, 9)), sums = memory(*late, Words(5000, 0));
    late->synchronize();
    const auto promise = device().make_promise();
    early->wait(promise->event());
    combine(*early, sums, words, words, 1); // reads what the upload replaces
    early->upload(words.pointer(), std::as_bytes(std::span(data)));
    advance(*early, words, 2);
    advance(*late, words, 3);
    promise->keep(late->record());
    EXPECT_EQ(contents(*early, words), advanced(data, 2));
    const std::uint32_t kept = 3 * 9 + 3;
    EXPECT_EQ(contents(*early, sums), Words(5000, 3 * kept + kept + 1)) << "of the words before the upload";
}

TEST_F(PromiseTest, AbandoningReleasesTheWork) {
    const auto early = stream();
    const Buffer words = memory(*early, numbered(100));
    auto promise = device().make_promise();
    const Event event = promise->event();
    early->wait(event);
    advance(*early, words, 1);
    promise.reset();
    EXPECT_TRUE(event.done());
    EXPECT_EQ(contents(*early, words), advanced(numbered(100), 1));
}

TEST_F(PromiseTest, AnEventOfAnotherDeviceCannotKeepIt) {
    const std::shared_ptr<Device> other = open();
    const auto stream_there = other->make_stream();
    const auto promise = device().make_promise();
    EXPECT_THAT([&] { promise->keep(stream_there->record()); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("another device")));
}

TEST_F(PromiseTest, TestModesThatEndSubmitsAtBarriersWaitOnTheHost) {
    environment.set("REKINDLE_RANDOM_ORDER", "3");
    const auto early = stream(), late = stream();
    const Buffer words = memory(*late, numbered(100));
    const auto promise = device().make_promise();
    std::thread keeper([&] {
        advance(*late, words, 1);
        promise->keep(late->record());
    });
    early->wait(promise->event());
    EXPECT_TRUE(submitted(*late) > 0);
    advance(*early, words, 2);
    EXPECT_EQ(contents(*early, words), advanced(advanced(numbered(100), 1), 2));
    keeper.join();
}

} // namespace
} // namespace rekindle::runtime::test
