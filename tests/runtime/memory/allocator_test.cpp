/// The allocator with fake memory and with streams that complete on command.
#include "memory/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace rekindle::runtime {
namespace {

using testing::HasSubstr;

class FakeStream final : public StreamTimeline {
  public:
    std::uint64_t queued() const override { return queued_; }
    std::uint64_t submitted() const noexcept override { return queued_ - held_back; }
    std::uint64_t completed() const override { return completed_; }
    void wait(std::uint64_t value) override {
        ++waits;
        completed_ = std::max<std::uint64_t>(completed_, value);
    }
    void gather() override {}
    bool settle(std::chrono::steady_clock::time_point) noexcept override { return true; }
    void fill_before_next(const BufferLocation& at, DevicePointer begin, std::uint64_t bytes,
                          std::uint32_t) override {
        EXPECT_LE(bytes, at.remaining);
        fills.emplace_back(begin, bytes);
        ++queued_;
    }
    void submit_held() override { held_back = 0; }
    std::uint64_t queue() { return ++queued_; }
    void complete(std::uint64_t value) { completed_ = value; }
    void complete_all() { completed_ = queued_.load(); }

    std::atomic<int> waits = 0;
    std::atomic<std::uint64_t> held_back = 0; ///< of what is queued
    std::vector<std::pair<DevicePointer, std::uint64_t>> fills;

  private:
    std::atomic<std::uint64_t> queued_ = 0, completed_ = 0;
};

/// A device with a fixed capacity, whose memory is host memory.
struct FakeDriver {
    std::uint64_t capacity = 1 << 30, used = 0, next_address = 1 << 20, taken = 0;
    std::vector<std::shared_ptr<StreamTimeline>> streams;
    std::vector<std::string> log;
    std::mutex mutex;
    bool mapped = true;
};

class FakeMemory final : public DriverMemory {
  public:
    FakeMemory(FakeDriver& driver, std::uint64_t bytes, std::uint64_t begin)
        : driver_(driver), bytes_(driver.mapped ? bytes : 0), size_(bytes) {
        address = begin;
        host = driver.mapped ? bytes_.data() : nullptr;
    }
    ~FakeMemory() override {
        const std::lock_guard lock(driver_.mutex);
        driver_.used -= size_;
    }

  private:
    FakeDriver& driver_;
    std::vector<std::byte> bytes_;
    std::uint64_t size_;
};

class FakeSource final : public MemorySource {
  public:
    explicit FakeSource(FakeDriver& driver) : driver_(driver) {}
    std::unique_ptr<DriverMemory> take(MemoryKind, std::uint64_t bytes) override {
        const std::lock_guard lock(driver_.mutex);
        if (bytes > driver_.capacity - driver_.used)
            return nullptr;
        driver_.used += bytes;
        ++driver_.taken;
        const std::uint64_t begin = driver_.next_address;
        driver_.next_address += round_up(bytes, 1 << 20);
        return std::make_unique<FakeMemory>(driver_, bytes, begin);
    }
    std::unique_ptr<DriverMemory> import(std::span<std::byte>, std::shared_ptr<const void>) override {
        throw Unsupported("the fake driver imports nothing");
    }
    std::uint64_t import_alignment() const override { return 4096; }
    std::uint64_t largest(MemoryKind) const override { return 512 << 20; }
    std::string describe_heaps(MemoryKind) const override { return "heap 0 holds 1.00 GiB"; }
    MemoryInfo memory_info(std::uint64_t reserved) const override {
        return {(1 << 30) - reserved, 1 << 30, false};
    }
    std::string device_name() const override { return "gpu:9 (fake)"; }
    std::vector<std::shared_ptr<StreamTimeline>> timelines() override { return driver_.streams; }
    std::shared_ptr<const void> keep_alive() override { return nullptr; }
    void log(LogLevel, std::string_view text) override { driver_.log.emplace_back(text); }

  private:
    FakeDriver& driver_;
};

class CachingAllocatorTest : public testing::Test {
  protected:
    std::shared_ptr<FakeStream> stream() {
        auto made = std::make_shared<FakeStream>();
        driver.streams.push_back(made);
        return made;
    }
    void make(AllocatorOptions options = {}) {
        allocator = std::make_unique<CachingAllocator>(std::make_unique<FakeSource>(driver), options);
    }
    void SetUp() override { make(); }
    Buffer device(std::uint64_t bytes, const std::shared_ptr<FakeStream>& on = nullptr) {
        return allocator->allocate_on(bytes, MemoryKind::device, on);
    }
    Buffer upload(std::uint64_t bytes, const std::shared_ptr<FakeStream>& on = nullptr) {
        return allocator->allocate_on(bytes, MemoryKind::upload, on);
    }
    MemoryStatistics statistics(MemoryKind kind = MemoryKind::device) const {
        return allocator->statistics(kind);
    }

    FakeDriver driver;
    std::unique_ptr<CachingAllocator> allocator;
};

TEST_F(CachingAllocatorTest, AReleasedBlockIsImmediatelyReusableOnItsStream) {
    const auto a = stream();
    Buffer first = device(1000, a);
    const DevicePointer pointer = first.pointer();
    EXPECT_EQ(pointer.address % 256, 0u);
    EXPECT_EQ(first.bytes(), 1000u);
    EXPECT_TRUE(first.host().empty());
    a->queue();
    first = {};
    EXPECT_EQ(device(1000, a).pointer(), pointer) << "work queued on the stream runs before what follows";
    EXPECT_EQ(a->waits, 0);
}

TEST_F(CachingAllocatorTest, AnotherStreamGetsTheSegmentOnlyAfterTheWorkCompletes) {
    const auto a = stream(), b = stream();
    Buffer first = device(1000, a);
    const DevicePointer pointer = first.pointer();
    a->queue();
    first = {};
    const Buffer early = device(1000, b);
    EXPECT_NE(early.pointer(), pointer);
    EXPECT_EQ(driver.taken, 2u);
    a->complete_all();
    const Buffer fills = device(1 << 20, b),
                 more = device(1 << 20, b); // more than what is left of b's segment
    EXPECT_EQ(driver.taken, 2u) << "the segment of a went to b";
    EXPECT_EQ(more.pointer(), pointer);
}

TEST_F(CachingAllocatorTest, ABlockUsedOnAnotherStreamWaitsForThatStream) {
    const auto a = stream(), b = stream();
    Buffer first = device(1000, a);
    const DevicePointer pointer = first.pointer();
    allocator->record(first, b);
    allocator->record(first, b);
    const std::uint64_t work = b->queue();
    first = {};
    const Buffer early = device(1000, a);
    EXPECT_NE(early.pointer(), pointer);
    b->complete(work);
    const Buffer filler = device(1 << 20, a), filler2 = device((1 << 20) - 4096, a);
    EXPECT_EQ(device(1000, a).pointer(), pointer);
}

TEST_F(CachingAllocatorTest, WithoutAStreamABlockWaitsForAllStreams) {
    const auto a = stream(), b = stream();
    Buffer first = device(1 << 20);
    const DevicePointer pointer = first.pointer();
    a->queue();
    b->queue();
    first = {};
    a->complete_all();
    const Buffer second = device(1 << 20);
    EXPECT_NE(second.pointer(), pointer);
    b->complete_all();
    EXPECT_EQ(device(1 << 20).pointer(), pointer);
}

TEST_F(CachingAllocatorTest, HostBlocksWaitForTheWorkThatUsedThem) {
    const auto a = stream(), b = stream();
    Buffer first = upload(1 << 20, a);
    EXPECT_EQ(first.host().size(), 1u << 20);
    EXPECT_EQ(first.host_as<float>().size(), 1u << 18);
    const DevicePointer pointer = first.pointer();
    a->queue();
    b->queue();
    first = {};
    const Buffer second = upload(1 << 20, a);
    EXPECT_NE(second.pointer(), pointer);
    a->complete_all();
    EXPECT_EQ(upload(1 << 20, b).pointer(), pointer) << "b never used it";
}

TEST_F(CachingAllocatorTest, BlocksOfADestroyedStreamAreFree) {
    auto a = stream();
    Buffer kept = device(1000, a), released = device(5000, a);
    const DevicePointer pointer = kept.pointer();
    a->queue();
    released = {};
    driver.streams.clear();
    a.reset();
    kept = {};
    EXPECT_EQ(device(1000, stream()).pointer(), pointer);
    EXPECT_EQ(driver.taken, 1u);
    EXPECT_EQ(statistics().allocated_bytes, 0u);
}

TEST_F(CachingAllocatorTest, KindsDoNotShareMemory) {
    const Buffer a = device(100), b = upload(100),
                 c = allocator->allocate_on(100, MemoryKind::readback, nullptr);
    EXPECT_EQ(driver.taken, 3u);
    EXPECT_EQ(statistics(MemoryKind::upload).allocations, 1u);
    EXPECT_EQ(statistics(MemoryKind::readback).allocated_bytes, 256u);
}

TEST_F(CachingAllocatorTest, CountsLevelsOfBlocksAndSegments) {
    const auto a = stream(), b = stream();
    const auto expect = [](const Level& level, std::int64_t current, std::int64_t peak, std::int64_t risen) {
        EXPECT_EQ(level.current, current);
        EXPECT_EQ(level.peak, peak);
        EXPECT_EQ(level.risen, risen);
        EXPECT_EQ(level.fallen, risen - current);
    };
    Buffer x = device(300, a), y = device(1000, a), z = device((2 << 20) + 1, a);
    MemoryLevels l = allocator->levels(MemoryKind::device);
    expect(l.all.allocations, 3, 3, 3);
    expect(l.small.allocations, 2, 2, 2);
    expect(l.small.requested_bytes, 1300, 1300, 1300);
    expect(l.small.allocated_bytes, 512 + 1024, 512 + 1024, 512 + 1024);
    expect(l.large.requested_bytes, (2 << 20) + 1, (2 << 20) + 1, (2 << 20) + 1);
    expect(l.all.segments, 2, 2, 2);
    expect(l.large.reserved_bytes, 8 << 20, 8 << 20, 8 << 20);
    EXPECT_EQ(l.small.inactive_splits.current, 1);
    EXPECT_EQ(l.small.inactive_split_bytes.current, (2 << 20) - 512 - 1024);
    EXPECT_EQ(l.all.inactive_splits.current, 2);

    allocator->record(y, b);
    b->queue();
    y = {}; // still used by b
    l = allocator->levels(MemoryKind::device);
    expect(l.small.allocations, 1, 2, 2);
    expect(l.small.active, 2, 2, 2);
    expect(l.small.active_bytes, 512 + 1024, 512 + 1024, 512 + 1024);
    b->complete_all();
    allocator->collect();
    expect(allocator->levels(MemoryKind::device).small.active, 1, 2, 2);

    x = z = {};
    l = allocator->levels(MemoryKind::device);
    expect(l.all.active_bytes, 0, 512 + 1024 + (2 << 20) + 4096, 512 + 1024 + (2 << 20) + 4096);
    EXPECT_EQ(l.all.inactive_splits.current, 0) << "each segment is one free block";
    EXPECT_EQ(l.all.inactive_split_bytes.current, 0);
    allocator->empty_cache();
    l = allocator->levels(MemoryKind::device);
    expect(l.all.segments, 0, 2, 2);
    expect(l.all.reserved_bytes, 0, 10 << 20, 10 << 20);
    EXPECT_EQ(statistics().driver_frees, 2u);
    EXPECT_EQ(statistics().waits, 1u);
    allocator->reset_peaks();
    allocator->reset_accumulated();
    l = allocator->levels(MemoryKind::device);
    expect(l.all.allocations, 0, 0, 0);
    expect(l.large.reserved_bytes, 0, 0, 0);
    EXPECT_EQ(l.all.inactive_split_bytes.peak, 0);
    EXPECT_EQ(statistics().driver_allocations, 0u);
}

TEST_F(CachingAllocatorTest, LocatesByAnyAddressOfABlock) {
    const auto a = stream();
    std::vector<Buffer> held;
    for (const std::uint64_t bytes : {1u, 256u, 300u, 5000u, 1u << 20, (1u << 20) + 1, 3u << 20, 30u << 20})
        held.push_back(device(bytes, a));
    for (const Buffer& buffer : held) {
        for (const std::uint64_t at : {std::uint64_t{0}, buffer.bytes() / 2, buffer.bytes() - 1}) {
            EXPECT_EQ(allocator->locate(buffer.pointer() + at, 1).remaining, buffer.bytes() - at);
            EXPECT_THROW(allocator->locate(buffer.pointer() + at, buffer.bytes() - at + 1), Error);
        }
        EXPECT_NO_THROW(allocator->locate(buffer.pointer() + buffer.bytes(), 0)) << "the end, too";
    }
    const DevicePointer gone = held[3].pointer();
    held[3] = {};
    EXPECT_THROW(allocator->locate(gone + 100, 1), Error);
    EXPECT_THROW(allocator->locate({12345}, 1), Error);
}

TEST_F(CachingAllocatorTest, StatisticsAreExact) {
    const auto a = stream();
    Buffer x = device(0, a), y = device(300, a), z = device((1 << 20) + 1, a);
    EXPECT_EQ(x.bytes(), 0u);
    EXPECT_NE(x.pointer(), y.pointer());
    MemoryStatistics s = statistics();
    EXPECT_EQ(s.allocated_bytes, 256u + 512 + (1 << 20) + 4096);
    EXPECT_EQ(s.allocated_peak_bytes, s.allocated_bytes);
    EXPECT_EQ(s.reserved_bytes, (2u << 20) + (8u << 20));
    EXPECT_EQ(s.allocations, 3u);
    EXPECT_EQ(s.driver_allocations, 2u);
    z = {};
    x = device(256, a);
    EXPECT_EQ(statistics().allocated_bytes, 768u);
    EXPECT_EQ(statistics().allocated_peak_bytes, s.allocated_peak_bytes);
    allocator->empty_cache();
    EXPECT_EQ(statistics().reserved_bytes, 2u << 20);
    EXPECT_EQ(driver.used, 2u << 20);
    EXPECT_EQ(statistics().reserved_peak_bytes, 10u << 20);
    allocator->reset_peaks();
    EXPECT_EQ(statistics().allocated_peak_bytes, 768u);
    EXPECT_EQ(statistics().reserved_peak_bytes, 2u << 20);
    x = y = {};
    allocator->empty_cache();
    EXPECT_EQ(driver.used, 0u);
}

TEST_F(CachingAllocatorTest, EmptyingTheCacheWaitsForQueuedWork) {
    const auto a = stream();
    Buffer x = device(1000, a);
    a->queue();
    x = {};
    allocator->empty_cache();
    EXPECT_EQ(a->waits, 1) << "memory in use by queued work may not be freed";
    EXPECT_EQ(a->completed(), a->queued());
    EXPECT_EQ(driver.used, 0u);
}

TEST_F(CachingAllocatorTest, OutOfMemoryEmptiesTheCacheAndRetries) {
    driver.capacity = 40 << 20;
    const auto a = stream();
    Buffer x = device(30 << 20, a);
    a->queue();
    x = {};
    const Buffer y = device(35 << 20, a);
    EXPECT_EQ(statistics().retries, 1u);
    EXPECT_EQ(statistics().out_of_memory, 0u);
    EXPECT_GT(a->waits, 0);
    EXPECT_EQ(driver.used, 35u << 20);
}

TEST_F(CachingAllocatorTest, WaitsForReleasedHostBlocksBeforeGivingUp) {
    driver.capacity = 40 << 20;
    const auto a = stream();
    Buffer x = upload(30 << 20, a);
    a->queue();
    x = {};
    const Buffer y = device(35 << 20, a);
    EXPECT_EQ(statistics().retries, 1u);
}

TEST_F(CachingAllocatorTest, UsesFreeMemoryOfIdleStreamsAsALastResort) {
    driver.capacity = 2 << 20;
    const auto a = stream(), b = stream();
    const Buffer x = device(1000, a);
    Buffer y = device(1000, b);
    EXPECT_EQ(statistics().retries, 1u);
    const DevicePointer pointer = y.pointer();
    b->queue();
    y = {};
    EXPECT_NE(device(1000, a).pointer(), pointer) << "b's work may still use it";
    b->complete_all();
    allocator->collect();
    EXPECT_EQ(device(1000, a).pointer(), pointer);
}

TEST_F(CachingAllocatorTest, AThreadThatKeepsPromisesDoesNotWaitForWorkThatIsHeldBack) {
    driver.capacity = 2 << 20;
    const auto a = stream(), b = stream();
    const Buffer x = device(1000, a);
    Buffer y = device(1000, b);
    b->queue();
    b->held_back = 1;
    y = {};
    allocator->collect();
    std::thread keeper([&] {
        Promise::this_thread_keeps_promises();
        EXPECT_THROW(device(2 << 20, a), OutOfMemory);
        EXPECT_LT(b->completed(), b->queued());
    });
    keeper.join();
    EXPECT_THROW(device(2 << 20, a), OutOfMemory);
    EXPECT_EQ(b->completed(), b->queued()) << "other threads wait";
}

TEST_F(CachingAllocatorTest, OutOfMemoryReportsTheNumbers) {
    driver.capacity = 40 << 20;
    const Buffer x = device(30 << 20);
    try {
        const Buffer y = device(35 << 20);
        FAIL() << "there is no such memory";
    } catch (const OutOfMemory& e) {
        EXPECT_THAT(e.what(), HasSubstr("gpu:9 (fake)"));
        EXPECT_THAT(e.what(), HasSubstr("asked for 35.00 MiB of device memory"));
        EXPECT_THAT(e.what(), HasSubstr("30.00 MiB are in use"));
        EXPECT_THAT(e.what(), HasSubstr("30.00 MiB are taken from the driver"));
        EXPECT_THAT(e.what(), HasSubstr("heap 0 holds 1.00 GiB"));
        EXPECT_THAT(e.what(), HasSubstr("largest single allocation is 512.00 MiB"));
        EXPECT_FALSE(e.advice().empty());
    }
    EXPECT_EQ(statistics().out_of_memory, 1u);
    EXPECT_THROW(device(513 << 20), OutOfMemory);
    EXPECT_THROW(device(~0ull), OutOfMemory);
    EXPECT_EQ(statistics().out_of_memory, 3u);
    EXPECT_EQ(statistics().allocated_bytes, 30u << 20);
    EXPECT_NO_THROW(device(5 << 20)) << "and continues";
}

TEST_F(CachingAllocatorTest, FindsTheBlockOfAnAddress) {
    const Buffer x = device(1000), y = device(1000);
    const BufferLocation at = allocator->locate(y.pointer() + 100, 900);
    EXPECT_EQ(at.offset, y.pointer().address + 100 - (1 << 20));
    EXPECT_EQ(at.remaining, 900u);
    EXPECT_EQ(at.kind, MemoryKind::device);
    EXPECT_THROW(allocator->locate(y.pointer() + 100, 901), Error);
    EXPECT_THROW(allocator->locate(x.pointer() + 1001, 0), Error);
    EXPECT_THROW(allocator->locate({1}, 1), Error);
    EXPECT_THROW(allocator->locate({~0ull}, 1), Error);
    EXPECT_THROW(allocator->locate(y.pointer(), ~0ull), Error);
    const DevicePointer gone = device(10).pointer();
    EXPECT_THROW(allocator->locate(gone, 1), Error);
}

class PoisonTest : public CachingAllocatorTest {
  protected:
    void SetUp() override { make({.rules = {}, .poison = true}); }
    static std::uint64_t raw(const Buffer& buffer) { return raw_address(buffer.pointer()); }
    /// The host's view of a device address, for writes outside of any block.
    std::byte* at(const Buffer& buffer) const {
        const Buffer::Block& block = *buffer.block();
        return block.place->segment->memory->host + block.place->offset + block.begin;
    }
};

TEST_F(PoisonTest, ThePoisonBitIsRemovedOnlyFromPointers) {
    const Buffer x = device(1000), y = device(64);
    EXPECT_EQ(x.pointer().address >> 48, 0x4000u);
    EXPECT_EQ(raw(x) % 256, 0u);
    const double two = 2.0;
    std::array<std::uint64_t, 6> parameters{x.pointer().address,
                                            (y.pointer() + 60).address,
                                            7,
                                            std::bit_cast<std::uint64_t>(two),
                                            x.pointer().address + 2000,
                                            0};
    const auto before = parameters;
    allocator->strip_poison(std::as_writable_bytes(std::span(parameters)));
    EXPECT_EQ(parameters[0], raw(x));
    EXPECT_EQ(parameters[1], raw(y) + 60);
    EXPECT_EQ(parameters[2], 7u);
    EXPECT_EQ(parameters[3], before[3]) << "2.0 is not a pointer";
    EXPECT_EQ(parameters[4], before[4]) << "not inside any block";
    EXPECT_EQ(allocator->locate(x.pointer() + 8, 4).remaining, 992u);
}

TEST_F(PoisonTest, FreshMemoryIsNan) {
    const auto a = stream();
    const Buffer x = upload(103, a);
    for (const float value : x.host_as<float>())
        EXPECT_TRUE(std::isnan(value));
    Buffer y = device(103, a);
    const DevicePointer pointer = y.pointer();
    std::fill_n(at(y), 103, std::byte{1});
    y = {};
    ASSERT_EQ(a->fills.size(), 1u) << "in the stream's order";
    EXPECT_EQ(a->fills[0], std::pair(pointer, std::uint64_t{100}));
    const Buffer z = device(103, a);
    EXPECT_NE(z.pointer(), pointer) << "still queued: the fill";
    a->complete_all();
    allocator->collect();
    const Buffer again = device(103, a);
    ASSERT_EQ(again.pointer(), pointer);
    for (int i = 0; i < 103; ++i)
        EXPECT_NE(at(again)[i], std::byte{1});
}

TEST_F(PoisonTest, AWriteOneByteOutsideABlockIsReportedAtItsRelease) {
    for (const std::int64_t offset : {-256, -1, 1000, 1255}) {
        Buffer x = device(1000);
        EXPECT_NO_THROW(allocator->throw_on_damage());
        at(x)[offset] = std::byte{0};
        x = {};
        ASSERT_EQ(driver.log.size(), 1u) << offset;
        EXPECT_THAT(driver.log[0], HasSubstr("block of 1,000 bytes"));
        EXPECT_THAT(driver.log[0],
                    HasSubstr(offset < 0 ? "offset " + std::to_string(-offset) + " before its start"
                                         : "offset " + std::to_string(offset - 1000) + " after its end"));
        EXPECT_THROW(allocator->throw_on_damage(), Error);
        EXPECT_NO_THROW(allocator->throw_on_damage()) << "once";
        driver.log.clear();
    }
}

TEST_F(PoisonTest, WritesOfQueuedWorkAreCheckedWhenItHasCompleted) {
    const auto a = stream();
    Buffer x = device(1000, a);
    std::byte* const end = at(x) + 1000;
    x = {};
    *end = std::byte{0}; // simulates the work running now
    a->complete_all();
    EXPECT_THROW(allocator->throw_on_damage(), Error);
}

TEST_F(PoisonTest, MemoryThatTheHostCannotSeeIsFilledByTheStreamAndReportedAsUnchecked) {
    driver.mapped = false;
    const auto a = stream();
    const Buffer x = device(1000, a), y = device(1000, a);
    EXPECT_EQ(a->fills.size(), 2u);
    ASSERT_EQ(driver.log.size(), 1u);
    EXPECT_THAT(driver.log[0], HasSubstr("not checked"));
}

/// Streams queue and complete at random; blocks come and go. What a stream writes into a block must still be
/// there at the block's last use: no other block with unfinished work may overlap it.
TEST_F(CachingAllocatorTest, NoTwoUnfinishedUsesOfMemoryOverlap) {
    std::mt19937 random(3);
    const auto below = [&](std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    driver.capacity = 64 << 20;
    struct Use {
        std::uint64_t begin, end;
        std::shared_ptr<FakeStream> on;
        std::uint64_t until;
    };
    struct Held {
        Buffer buffer;
        std::vector<std::shared_ptr<FakeStream>> streams; // the first one is its own
    };
    std::vector<std::shared_ptr<FakeStream>> streams{stream(), stream(), stream()};
    std::vector<Held> held;
    std::vector<Use> uses; // uses of released blocks
    std::uint64_t refused = 0;
    for (int step = 0; step < 30'000; ++step) {
        const std::size_t what = below(10);
        const auto& s = streams[below(3)];
        if (what < 4) {
            const std::uint64_t bytes = below(20) == 0 ? 1 + below(12 << 20) : 1 + below(200'000);
            Held h;
            try {
                h.buffer = device(bytes, s);
            } catch (const OutOfMemory&) {
                ++refused;
                held.clear();
                uses.clear();
                for (const auto& each : streams)
                    each->complete_all();
                continue;
            }
            h.streams.push_back(s);
            const std::uint64_t begin = h.buffer.pointer().address, end = begin + bytes;
            for (const Held& other : held) {
                const std::uint64_t b = other.buffer.pointer().address;
                ASSERT_TRUE(end <= b || b + other.buffer.bytes() <= begin);
            }
            std::erase_if(uses, [](const Use& use) { return use.on->completed() >= use.until; });
            for (const Use& use : uses)
                ASSERT_TRUE(use.on == s || end <= use.begin || use.end <= begin)
                    << "a block that another stream's queued work uses";
            held.push_back(std::move(h));
        } else if (what < 8 && !held.empty()) {
            Held& h = held[below(held.size())];
            if (below(5) == 0 && std::ranges::find(h.streams, s) == h.streams.end()) {
                allocator->record(h.buffer, s);
                h.streams.push_back(s);
            }
            for (const auto& on : h.streams)
                on->queue();
            for (const auto& on : h.streams)
                uses.push_back({h.buffer.pointer().address, h.buffer.pointer().address + h.buffer.bytes(), on,
                                on->queued()});
            std::swap(h, held.back());
            held.pop_back();
        } else if (what == 8) {
            s->complete(s->completed() + (s->queued() - s->completed()) / 2);
        } else {
            s->complete_all();
            allocator->collect();
        }
    }
    EXPECT_GT(refused, 0u) << "memory never ran out";
    held.clear();
    allocator->empty_cache();
    EXPECT_EQ(driver.used, 0u);
    EXPECT_EQ(statistics().allocated_bytes, 0u);
    EXPECT_EQ(statistics().reserved_bytes, 0u);
}

TEST_F(CachingAllocatorTest, ManyThreadsAllocateAndRelease) {
    std::vector<std::shared_ptr<FakeStream>> streams{stream(), stream(), stream(), stream()};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            std::vector<Buffer> mine;
            for (int i = 0; i < 3000; ++i) {
                if (random() % 2 || mine.empty()) {
                    mine.push_back(random() % 4 ? device(random() % 100'000, streams[t])
                                                : upload(random() % 5000));
                    if (!mine.back().host().empty())
                        mine.back().host()[0] = std::byte{1};
                } else {
                    streams[t]->queue();
                    std::swap(mine[random() % mine.size()], mine.back());
                    mine.pop_back();
                }
                if (i % 100 == 0)
                    streams[t]->complete_all();
                if (i % 1000 == 0)
                    allocator->empty_cache();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    allocator->empty_cache();
    EXPECT_EQ(driver.used, 0u);
    EXPECT_EQ(statistics(MemoryKind::upload).allocated_bytes, 0u);
}

} // namespace
} // namespace rekindle::runtime
