/// Thousands of random operations on several streams of two threads; the host tracks what every buffer must
/// hold.

#include "stream_fixture.h"

#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace rekindle::runtime::test {
namespace {

/// Device memory and its expected contents.
struct Block {
    Buffer buffer;
    Words expected;
};

/// A block on its way to another thread; the event comes after the work that fills it.
struct Parcel {
    Block block;
    Event event;
};

class Mailbox {
  public:
    void put(Parcel parcel) {
        const std::scoped_lock lock(mutex_);
        parcels_.push_back(std::move(parcel));
    }
    std::optional<Parcel> take() {
        const std::scoped_lock lock(mutex_);
        if (parcels_.empty())
            return std::nullopt;
        Parcel parcel = std::move(parcels_.front());
        parcels_.pop_front();
        return parcel;
    }

  private:
    std::mutex mutex_;
    std::deque<Parcel> parcels_;
};

/// The random work of one thread.
class Worker {
  public:
    Worker(OpenedDevice& device, const StreamOptions& options, std::size_t streams, std::uint64_t seed,
           Mailbox& out, Mailbox& in)
        : device_(device), random_(seed), out_(out), in_(in) {
        for (std::size_t i = 0; i < streams; ++i)
            streams_.push_back(device.make_stream(options));
        blocks_.resize(streams);
    }

    void run(int operations) {
        for (int i = 0; i < operations; ++i) {
            const std::size_t lane = pick(streams_.size());
            step(*streams_[lane], blocks_[lane], lane);
        }
        for (std::size_t lane = 0; lane < streams_.size(); ++lane)
            for (const Block& block : blocks_[lane])
                check(*streams_[lane], block, 0, block.expected.size());
    }
    std::size_t wrong() const { return wrong_; }
    const std::string& first_wrong() const { return first_wrong_; }
    std::size_t checked_words() const { return checked_words_; }
    std::size_t received() const { return received_; }

  private:
    static constexpr std::size_t most_blocks = 12, longest = 3000;

    std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random_() % below); }
    std::uint32_t value() { return static_cast<std::uint32_t>(random_()); }

    struct Range {
        std::size_t first, count;
    };
    Range range_of(const Block& block) {
        const std::size_t first = pick(block.expected.size());
        return {first, 1 + pick(block.expected.size() - first)};
    }

    void step(Stream& s, std::vector<Block>& blocks, std::size_t lane) {
        if (blocks.size() < 3) {
            make(s, blocks);
            return;
        }
        Block& a = blocks[pick(blocks.size())];
        Block& b = blocks[pick(blocks.size())];
        switch (pick(20)) {
        case 0:
        case 1:
            if (blocks.size() < most_blocks)
                make(s, blocks);
            break;
        case 2: // freed while work on it is queued
            std::swap(a, blocks.back());
            blocks.pop_back();
            break;
        case 3:
        case 4:
            fill(s, a);
            break;
        case 5:
        case 6:
        case 7:
            copy(s, a, b);
            break;
        case 8:
        case 9:
            upload(s, a);
            break;
        case 10:
        case 11:
        case 12:
        case 13:
            advance(s, a);
            break;
        case 14:
        case 15:
        case 16:
            combine(s, a, b, blocks[pick(blocks.size())]);
            break;
        case 17: {
            const Range r = range_of(a);
            check(s, a, r.first, r.count);
            break;
        }
        case 18:
            hand_over(s, blocks, lane);
            break;
        default:
            random_() % 2 == 0 ? s.flush() : receive(s, blocks);
        }
    }

    void make(Stream& s, std::vector<Block>& blocks) {
        const std::size_t words = 1 + pick(longest);
        Block block{device_.allocator().allocate(4 * words, MemoryKind::device, &s), Words(words, value())};
        s.fill(block.buffer.pointer(), 4 * words, block.expected[0]);
        blocks.push_back(std::move(block));
    }
    void fill(Stream& s, Block& block) {
        const Range r = range_of(block);
        const std::uint32_t word = value();
        s.fill(block.buffer.pointer() + 4 * r.first, 4 * r.count, word);
        std::fill_n(block.expected.begin() + static_cast<std::ptrdiff_t>(r.first), r.count, word);
    }
    void copy(Stream& s, Block& to, const Block& from) {
        if (&to == &from)
            return;
        const Range r = range_of(from);
        const std::size_t count = std::min(r.count, to.expected.size());
        const std::size_t at = pick(to.expected.size() - count + 1);
        s.copy(to.buffer.pointer() + 4 * at, from.buffer.pointer() + 4 * r.first, 4 * count);
        std::copy_n(from.expected.begin() + static_cast<std::ptrdiff_t>(r.first), count,
                    to.expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
    void upload(Stream& s, Block& block) {
        const Range r = range_of(block);
        Words words(r.count);
        for (std::uint32_t& w : words)
            w = value();
        s.upload(block.buffer.pointer() + 4 * r.first, std::as_bytes(std::span(words)));
        std::copy(words.begin(), words.end(), block.expected.begin() + static_cast<std::ptrdiff_t>(r.first));
    }
    void advance(Stream& s, Block& block) {
        const Range r = range_of(block);
        kernels::TestingParameters p;
        p.result = (block.buffer.pointer() + 4 * r.first).address;
        p.count = static_cast<std::uint32_t>(r.count);
        p.value = value();
        s.launch(kernels::test_advance, groups_of(r.count), p,
                 std::array{part(block.buffer, r.first, r.count, true)});
        for (std::size_t i = r.first; i < r.first + r.count; ++i)
            block.expected[i] = 3 * block.expected[i] + p.value;
    }
    void combine(Stream& s, Block& result, const Block& first, const Block& second) {
        if (&result == &first || &result == &second)
            return;
        const std::size_t count =
            1 + pick(std::min({result.expected.size(), first.expected.size(), second.expected.size()}));
        kernels::TestingParameters p;
        p.result = result.buffer.pointer().address;
        p.first = first.buffer.pointer().address;
        p.second = second.buffer.pointer().address;
        p.count = static_cast<std::uint32_t>(count);
        p.value = value();
        s.launch(kernels::test_combine, groups_of(count), p,
                 std::array{part(result.buffer, 0, count, true), part(first.buffer, 0, count, false),
                            part(second.buffer, 0, count, false)});
        for (std::size_t i = 0; i < count; ++i)
            result.expected[i] = 3 * first.expected[i] + second.expected[i] + p.value;
    }
    void check(Stream& s, const Block& block, std::size_t first, std::size_t count) {
        Words words(count);
        s.download(std::as_writable_bytes(std::span(words)), block.buffer.pointer() + 4 * first);
        checked_words_ += count;
        const auto expected = block.expected.begin() + static_cast<std::ptrdiff_t>(first);
        const auto [found, correct] = std::mismatch(words.begin(), words.end(), expected);
        if (found == words.end())
            return;
        if (wrong_++ == 0)
            first_wrong_ = "word " + std::to_string(found - words.begin()) + " of " + std::to_string(count) +
                           " is " + std::to_string(*found) + ", not " + std::to_string(*correct);
    }
    /// Hands a block to another stream of this thread, or to the other thread.
    void hand_over(Stream& s, std::vector<Block>& blocks, std::size_t lane) {
        const std::size_t index = pick(blocks.size());
        std::swap(blocks[index], blocks.back());
        Parcel parcel{std::move(blocks.back()), s.record(random_() % 2 == 0)};
        blocks.pop_back();
        const std::size_t target = pick(streams_.size() + 1);
        if (target == streams_.size())
            out_.put(std::move(parcel));
        else if (target != lane)
            accept(*streams_[target], blocks_[target], std::move(parcel));
        else
            blocks.push_back(std::move(parcel.block));
    }
    void receive(Stream& s, std::vector<Block>& blocks) {
        if (auto parcel = in_.take()) {
            ++received_;
            accept(s, blocks, std::move(*parcel));
        }
    }
    void accept(Stream& s, std::vector<Block>& blocks, Parcel parcel) {
        s.wait(parcel.event);
        device_.allocator().record_stream(parcel.block.buffer, s);
        blocks.push_back(std::move(parcel.block));
    }

    OpenedDevice& device_;
    std::mt19937_64 random_;
    Mailbox &out_, &in_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<std::vector<Block>> blocks_;
    std::string first_wrong_;
    std::size_t wrong_ = 0, checked_words_ = 0, received_ = 0;
};

class StressTest : public StreamTest {
  protected:
    /// Returns how many reads found wrong values.
    std::size_t run(std::uint64_t seed, int operations, const StreamOptions& options = {}) {
        device();
        Mailbox there, back;
        std::size_t wrong = 0, words = 0, received = 0;
        std::mutex mutex;
        const auto work = [&](std::size_t streams, std::uint64_t own_seed, Mailbox& out, Mailbox& in) {
            Worker worker(opened(), options, streams, own_seed, out, in);
            worker.run(operations);
            const std::scoped_lock lock(mutex);
            wrong += worker.wrong();
            if (worker.wrong() > 0)
                first_wrong_ += worker.first_wrong() + "; ";
            words += worker.checked_words();
            received += worker.received();
        };
        std::thread first([&] { work(2, seed, there, back); });
        std::thread second([&] { work(1, seed + 1, back, there); });
        first.join();
        second.join();
        EXPECT_GT(words, 10000u);
        EXPECT_GT(received, 0u);
        device().synchronize();
        EXPECT_EQ(device().allocator().statistics(MemoryKind::device).out_of_memory, 0u);
        return wrong;
    }
    std::string first_wrong_;
};

TEST_F(StressTest, RandomWorkOnThreeStreamsAndTwoThreads) {
    EXPECT_EQ(run(1, 1500), 0u) << first_wrong_;
}

TEST_F(StressTest, RandomWorkWithPoison) {
    environment.set("REKINDLE_POISON", "1");
    EXPECT_EQ(run(2, 700), 0u) << first_wrong_;
}

TEST_F(StressTest, RandomWorkWithoutTestModes) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    environment.unset("REKINDLE_RANDOM_ORDER");
    EXPECT_EQ(run(3, 3000), 0u) << first_wrong_;
}

TEST_F(StressTest, RandomOrderWithoutGuardPages) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    EXPECT_EQ(run(4, 3000), 0u) << first_wrong_;
}

TEST_F(StressTest, UploadsOnTheirOwnQueue) {
    // A transfer queue if the device has one; otherwise a second lane of the compute queue with the same
    // semaphores.
    StreamOptions options;
    options.upload_queue = UploadQueue::second;
    options.large_upload_bytes = 1;
    options.staging_bytes = 4000;
    EXPECT_EQ(run(6, 700, options), 0u) << first_wrong_;
    environment.set("REKINDLE_GUARD_PAGES", "0");
    device_ = nullptr;
    EXPECT_EQ(run(7, 3000, options), 0u) << first_wrong_;
}

// The test of the test.
TEST_F(StressTest, DetectsMissingBarriers) {
    environment.set("REKINDLE_GUARD_PAGES", "0");
    StreamOptions without;
    without.barriers = false;
    EXPECT_GT(run(5, 1000, without), 0u);
}

} // namespace
} // namespace rekindle::runtime::test
