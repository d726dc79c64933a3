#include "stream/profiler.h"
#include "stream_fixture.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rekindle::runtime::test {
namespace {

class ProfilerTest : public StreamTest {};

TEST_F(ProfilerTest, SumsTheTimeOfEachKernel) {
    const auto s = stream();
    const Buffer words = memory(*s, numbered(2048)), result = memory(*s, 2048);
    Profiler& profiler = device().profiler();
    advance(*s, words, 1);
    s->synchronize();
    EXPECT_FALSE(profiler.enabled());
    EXPECT_TRUE(profiler.rows().empty()); // disabled at the start

    profiler.enable(true);
    const auto begun = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < 20; ++i)
        advance(*s, words, i);
    spin(*s, result, words, 60000);
    s->synchronize();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
    profiler.enable(false);
    advance(*s, words, 1);
    s->synchronize();

    const auto rows = profiler.rows();
    ASSERT_EQ(rows.size(), 2u);
    const std::size_t spin_row = rows[0].kernel == "test_spin" ? 0 : 1;
    EXPECT_EQ(rows[spin_row].kernel, "test_spin");
    EXPECT_EQ(rows[spin_row].launches, 1u);
    EXPECT_EQ(rows[1 - spin_row].kernel, "test_advance");
    EXPECT_EQ(rows[1 - spin_row].launches, 20u);
    EXPECT_GT(rows[1].seconds, 0);
    EXPECT_GE(rows[0].seconds, rows[1].seconds); // the slowest first
    EXPECT_LE(rows[0].seconds + rows[1].seconds, wall.count() * 1.01);
    profiler.reset();
    EXPECT_TRUE(profiler.rows().empty());
}

TEST_F(ProfilerTest, CountsEveryLaunchOfFullSubmits) {
    const auto s = stream();
    const Buffer words = memory(*s, Words(64, 1));
    device().profiler().enable(true);
    for (std::uint32_t i = 0; i < 700; ++i)
        advance(*s, words, i);
    const Event event = s->record(true);
    event.wait();
    const auto rows = device().profiler().rows();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].launches, 700u);
}

TEST_F(ProfilerTest, RecordsOperationsWithTheirTimes) {
    const auto s = stream(), other = stream();
    const Buffer words = memory(*s, numbered(8192)), result = memory(*s, 8192);
    const Buffer back = device().allocator().allocate(4096, MemoryKind::readback);
    Profiler& profiler = device().profiler();
    advance(*s, words, 1);
    device().synchronize();
    const auto now = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
    const std::int64_t enabled = now();
    profiler.enable_records(true);
    EXPECT_TRUE(profiler.take_records().empty());
    const std::int64_t begun = now();
    Stream::set_correlation(41);
    spin(*s, result, words, 60000);
    Stream::set_correlation(42);
    s->fill(words.pointer(), 1000, 3);
    s->copy(back.pointer(), result.pointer(), 4096);
    const Words two{1, 2};
    s->upload(words.pointer(), std::as_bytes(std::span(two)));
    Stream::set_correlation(0);
    s->synchronize();
    advance(*other, words, 1);
    other->synchronize();
    const std::int64_t ended = now();
    profiler.enable_records(false);
    advance(*s, words, 1);
    s->synchronize();

    std::uint64_t lost = 9;
    const std::vector<Profiler::Record> records = profiler.take_records(&lost);
    const std::int64_t taken = now();
    EXPECT_EQ(lost, 0u);
    ASSERT_EQ(records.size(), 5u);
    const auto find = [&](std::string_view name) {
        return *std::ranges::find(records, name, &Profiler::Record::name);
    };
    EXPECT_EQ(find("test_spin").correlation, 41u);
    EXPECT_EQ(find("test_spin").bytes, 2u * 4 * 8192);
    EXPECT_EQ(find("fill").bytes, 1000u);
    EXPECT_EQ(find("copy").bytes, 4096u);
    EXPECT_EQ(find("copy").correlation, 42u);
    EXPECT_EQ(find("upload").bytes, 8u);
    EXPECT_EQ(find("test_advance").correlation, 0u);
    EXPECT_EQ(find("test_spin").stream, s->number());
    EXPECT_EQ(find("test_advance").stream, other->number());
    EXPECT_NE(s->number(), other->number());
    EXPECT_GE(find("copy").begin_ns, find("test_spin").end_ns) << "the copy reads its result";
    // The clocks are compared between these two times, so that the error is less, however long that took.
    const std::int64_t off = taken - enabled;
    for (const Profiler::Record& r : records) {
        EXPECT_LE(r.begin_ns, r.end_ns) << r.name;
        EXPECT_GE(r.begin_ns, begun - off) << r.name;
        EXPECT_LE(r.end_ns, ended + off) << r.name;
        EXPECT_EQ(r.calibrated, vulkan().enabled().calibrated_timestamps);
    }
    EXPECT_TRUE(profiler.take_records().empty()) << "they were taken already";
}

TEST_F(ProfilerTest, CorrelationsBelongToTheQueueingThread) {
    const auto s = stream();
    const Buffer words = memory(*s, Words(64, 1));
    device().profiler().enable_records(true);
    Stream::set_correlation(1);
    std::jthread([&] {
        Stream::set_correlation(2);
        advance(*s, words, 0);
    }).join();
    advance(*s, words, 0);
    Stream::set_correlation(0);
    s->synchronize();
    const auto records = device().profiler().take_records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].correlation, 2u);
    EXPECT_EQ(records[1].correlation, 1u);
}

TEST(HostTime, CountsFromAPairInBothDirectionsAndAcrossTheWrap) {
    const ClockPair pair{1000, 5'000'000, true};
    EXPECT_EQ(host_time(pair, 1000, 64, 10.0), 5'000'000);
    EXPECT_EQ(host_time(pair, 1007, 64, 10.0), 5'000'070);
    EXPECT_EQ(host_time(pair, 900, 64, 10.0), 4'999'000);
    const ClockPair before_wrap{(1ull << 36) - 5, 0, true};
    EXPECT_EQ(host_time(before_wrap, 5, 36, 1.0), 10);
    EXPECT_EQ(host_time({5, 0, true}, (1ull << 36) - 5, 36, 1.0), -10);
}

} // namespace
} // namespace rekindle::runtime::test
