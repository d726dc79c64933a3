#include "stream/hazards.h"

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <limits>
#include <random>
#include <vector>

namespace rekindle::runtime {
namespace {

constexpr std::size_t space = 96;

Access reading(std::uint64_t begin, std::uint64_t bytes) {
    return {{begin}, bytes, false};
}
Access writing(std::uint64_t begin, std::uint64_t bytes) {
    return {{begin}, bytes, true};
}

/// Answers the same questions byte by byte.
struct ByteModel {
    std::bitset<space> read, written;

    bool needs_barrier(std::span<const Access> accesses) const {
        for (const Access& a : accesses)
            for (std::uint64_t i = a.begin.address; i < a.begin.address + a.bytes; ++i)
                if (written[i] || (a.writes && read[i]))
                    return true;
        return false;
    }
    void add(std::span<const Access> accesses) {
        for (const Access& a : accesses)
            for (std::uint64_t i = a.begin.address; i < a.begin.address + a.bytes; ++i)
                (a.writes ? written : read)[i] = true;
    }
};

TEST(HazardTracker, AgreesWithAModelOfSingleBytes) {
    std::mt19937_64 random(5);
    std::size_t barriers = 0, free_runs = 0;
    for (int round = 0; round < 400; ++round) {
        HazardTracker tracker;
        ByteModel model;
        for (int operation = 0; operation < 60; ++operation) {
            std::array<Access, 40> accesses; // short lists and long ones are inserted differently
            for (Access& a : accesses) {
                const std::uint64_t begin = random() % space;
                const std::uint64_t longest = std::min<std::uint64_t>(space - begin, 1 + random() % 8);
                a = {{begin}, random() % (longest + 1), random() % 3 == 0};
            }
            const std::size_t count = random() % 8 == 0 ? random() % (accesses.size() + 1) : random() % 4;
            const std::span<const Access> some(accesses.data(), count);
            ASSERT_EQ(tracker.needs_barrier(some), model.needs_barrier(some)) << "round " << round;
            if (model.needs_barrier(some)) {
                ++barriers;
                tracker.barrier();
                model = {};
            } else {
                ++free_runs;
            }
            tracker.add(some);
            model.add(some);
            ASSERT_EQ(tracker.pending(), (model.read | model.written).any());
        }
    }
    // Both answers must have occurred often, or the comparison would prove little.
    EXPECT_GT(barriers, 2000u);
    EXPECT_GT(free_runs, 2000u);
}

TEST(AddressRanges, NeighborsAndOverlapsBecomeOneRange) {
    AddressRanges ranges;
    for (std::uint64_t i = 0; i < 1000; ++i)
        ranges.insert(16 * (i * 7 % 1000), 16);
    EXPECT_EQ(ranges.size(), 1u);
    EXPECT_TRUE(ranges.overlaps(0, 1));
    EXPECT_TRUE(ranges.overlaps(15999, 1));
    EXPECT_FALSE(ranges.overlaps(16000, 1));
    ranges.insert(20000, 8);
    EXPECT_EQ(ranges.size(), 2u);
    ranges.insert(15000, 6000);
    EXPECT_EQ(ranges.size(), 1u);
    EXPECT_FALSE(ranges.overlaps(21000, 100));
}

TEST(AddressRanges, ManyAtOnceAreTheSameSet) {
    std::vector<Access> accesses;
    for (std::uint64_t i = 0; i < 1000; ++i)
        accesses.push_back(i % 2 == 0 ? writing(48 * (i * 7 % 1000), 16)
                                      : reading(48 * (i * 7 % 1000) + 8, 16));
    AddressRanges written, read;
    written.insert(accesses, true);
    read.insert(accesses, false);
    EXPECT_EQ(written.size(), 500u);
    EXPECT_EQ(read.size(), 500u);
    for (const Access& a : accesses) {
        EXPECT_TRUE((a.writes ? written : read).overlaps(a.begin.address, 1));
        EXPECT_FALSE((a.writes ? written : read).overlaps(a.begin.address + 16, 1));
        EXPECT_FALSE((a.writes ? read : written).overlaps(a.begin.address, 16));
    }
    written.insert(std::array{writing(0, 48'000), reading(100'000, 1)}, true);
    EXPECT_EQ(written.size(), 1u);
    constexpr auto end = std::numeric_limits<std::uint64_t>::max();
    EXPECT_THROW(written.insert(std::array{writing(70'000, 8), writing(end - 8, 9)}, true), Error);
    EXPECT_FALSE(written.overlaps(70'000, 8));
}

TEST(AddressRanges, HandlesTheEndsOfTheAddressSpace) {
    constexpr auto end = std::numeric_limits<std::uint64_t>::max();
    AddressRanges ranges;
    ranges.insert(end - 8, 8);
    EXPECT_TRUE(ranges.overlaps(end - 1, 1));
    EXPECT_TRUE(ranges.overlaps(0, end));
    EXPECT_FALSE(ranges.overlaps(0, end - 8));
    EXPECT_FALSE(ranges.overlaps(end - 4, 0));
    EXPECT_THROW(ranges.insert(end - 8, 9), Error);
}

TEST(HazardTracker, IndependentWorkNeedsNoBarrier) {
    HazardTracker tracker;
    const std::array first{writing(0, 64), reading(256, 64)};
    tracker.add(first);
    EXPECT_FALSE(tracker.needs_barrier(std::array{reading(256, 64), writing(64, 64)}));
    EXPECT_TRUE(tracker.needs_barrier(std::array{reading(63, 1)}));    // read after write
    EXPECT_TRUE(tracker.needs_barrier(std::array{writing(319, 100)})); // write after read
    EXPECT_TRUE(tracker.needs_barrier(std::array{writing(0, 1)}));     // write after write
    tracker.barrier();
    EXPECT_FALSE(tracker.needs_barrier(first));
}

TEST(HazardTracker, KeepsABoundedNumberOfRanges) {
    HazardTracker tracker;
    std::uint64_t address = 0;
    std::size_t added = 0;
    for (; !tracker.needs_barrier(std::array{writing(address, 4)}); address += 64, ++added)
        tracker.add(std::array{writing(address, 4)});
    EXPECT_EQ(added, HazardTracker::maximum_ranges + 1);
    tracker.barrier();
    EXPECT_FALSE(tracker.needs_barrier(std::array{writing(0, 4)}));
}

} // namespace
} // namespace rekindle::runtime
