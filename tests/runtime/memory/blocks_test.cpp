#include "memory/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace rekindle::runtime {
namespace {

using Block = BlockArena::Block;
using Segment = BlockArena::Segment;

/// Every taken byte range, per segment: the arena must agree with it. The model has no lists and no
/// neighbors.
class Model {
  public:
    void taken(const Block& block) {
        const auto key = std::pair(block.segment, block.offset);
        const auto next = ranges_.lower_bound(key);
        if (next != ranges_.end() && next->first.first == block.segment) {
            EXPECT_LE(block.offset + block.size, next->first.second);
        }
        if (next != ranges_.begin()) {
            const auto last = std::prev(next);
            if (last->first.first == block.segment) {
                EXPECT_LE(last->first.second + last->second, block.offset);
            }
        }
        EXPECT_LE(block.offset + block.size, block.segment->size);
        EXPECT_EQ(block.offset % BlockRules::alignment, 0u);
        ranges_[key] = block.size;
    }
    void given(const Block& block) { ASSERT_EQ(ranges_.erase(std::pair(block.segment, block.offset)), 1u); }
    std::uint64_t taken_in(Segment* segment) const {
        std::uint64_t sum = 0;
        for (const auto& [key, size] : ranges_)
            sum += key.first == segment ? size : 0;
        return sum;
    }
    /// The smallest gap in a segment of that bin and kind with at least `size` bytes; 0 if there is none.
    std::uint64_t smallest_gap(const BlockArena& arena, std::uint32_t bin, bool small,
                               std::uint64_t size) const {
        std::uint64_t best = 0;
        for (const auto& segment : arena.segments()) {
            if (segment->bin != bin || segment->small != small)
                continue;
            std::uint64_t at = 0;
            const auto consider = [&](std::uint64_t end) {
                if (end - at >= size && (best == 0 || end - at < best))
                    best = end - at;
            };
            for (auto i = ranges_.lower_bound({segment.get(), 0});
                 i != ranges_.end() && i->first.first == segment.get(); ++i) {
                consider(i->first.second);
                at = i->first.second + i->second;
            }
            consider(segment->size);
        }
        return best;
    }

  private:
    std::map<std::pair<Segment*, std::uint64_t>, std::uint64_t> ranges_;
};

TEST(BlockRules, SizesCoverTheRequestWithLittleWaste) {
    const BlockRules rules;
    std::uint64_t last = 0;
    for (std::uint64_t bytes = 0; bytes < 3 << 20; bytes += bytes < 20'000 ? 1 : 977) {
        const std::uint64_t size = rules.block_size(bytes);
        ASSERT_GE(size, std::max<std::uint64_t>(bytes, 1));
        ASSERT_EQ(size % BlockRules::alignment, 0u);
        ASSERT_GE(size, last) << "monotonic";
        ASSERT_EQ(rules.block_size(size), size) << "a class size maps to itself";
        ASSERT_LE(size - bytes,
                  std::max<std::uint64_t>(bytes / 8 + 1, bytes > rules.small_block ? 4096 : 256))
            << bytes;
        last = size;
    }
    std::set<std::uint64_t> small;
    for (std::uint64_t bytes = 1; bytes <= rules.small_block; bytes += 255)
        small.insert(rules.block_size(bytes));
    EXPECT_LT(small.size(), 90u) << "sizes come in classes";
}

TEST(BlockRules, SegmentsGrowGeometricallyUpToTheCapAndTheDriversLargest) {
    BlockRules rules;
    rules.largest_segment = 100 << 20;
    std::uint64_t reserved = 0;
    std::vector<std::uint64_t> sizes;
    for (int i = 0; i < 8; ++i) {
        sizes.push_back(rules.segment_size(2 << 20, reserved) >> 20);
        reserved += sizes.back() << 20;
    }
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{8, 8, 16, 32, 64, 100, 100, 100}));
    EXPECT_EQ(rules.segment_size(90 << 20, 0), 90u << 20);
    EXPECT_EQ(rules.segment_size(1 << 20, 1 << 30), 2u << 20);
    EXPECT_EQ(rules.segment_size(256, 0), 2u << 20);
}

TEST(BlockArena, BestFitSplitsAndMerges) {
    BlockArena arena{BlockRules{}};
    EXPECT_EQ(arena.take(0, 256), nullptr);
    arena.add(0, 2 << 20, true);
    EXPECT_EQ(arena.take(1, 256), nullptr) << "belongs to another bin";
    EXPECT_EQ(arena.take(0, 2 << 20), nullptr) << "a large block does not lie in a small segment";
    Block* a = arena.take(0, 1024);
    Block* b = arena.take(0, 512);
    Block* c = arena.take(0, 1024);
    Block* d = arena.take(0, 256);
    ASSERT_TRUE(a && b && c && d);
    arena.give(a);
    arena.give(b);
    arena.give(d);
    EXPECT_EQ(arena.take(0, 1536)->offset, 0u) << "a and b are merged again and fit exactly";
    arena.give(c);
    Block* all = arena.take(0, (2 << 20) - 1536);
    EXPECT_EQ(all, nullptr) << "small blocks are not that large";
    EXPECT_EQ(arena.take(0, 1 << 20)->offset, 1536u);
}

TEST(BlockArena, OnlyALargeRemainderBecomesABlock) {
    const BlockRules rules;
    BlockArena arena{rules};
    arena.add(0, 8 << 20, false);
    Block* most = arena.take(0, (8 << 20) - rules.large_remainder + 4096);
    ASSERT_TRUE(most);
    EXPECT_EQ(most->size, 8u << 20);
    arena.give(most);
    Block* part = arena.take(0, (8 << 20) - rules.large_remainder);
    EXPECT_EQ(part->size, (8u << 20) - rules.large_remainder);
}

/// Random requests, returns, moves between bins and removals; after each one the arena must agree with the
/// model.
class BlockArenaRandom : public testing::TestWithParam<unsigned> {};
/// Free bytes in segments that also hold taken blocks.
std::int64_t free_in_used_segments(const BlockArena& arena, bool small) {
    std::uint64_t sum = 0;
    for (const auto& segment : arena.segments())
        if (segment->small == small && segment->taken > 0)
            sum += segment->size - segment->taken;
    return static_cast<std::int64_t>(sum);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BlockArenaRandom, testing::Range(0u, 8u));

TEST_P(BlockArenaRandom, AgreesWithBruteForce) {
    std::mt19937 random(GetParam());
    const auto below = [&](std::uint64_t n) {
        return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random);
    };
    BlockRules rules;
    rules.largest_segment = 64 << 20;
    BlockArena arena{rules};
    Model model;
    std::vector<Block*> live;
    std::uint64_t reserved = 0;
    const auto give = [&](std::size_t i) {
        model.given(*live[i]);
        arena.give(live[i]);
        live[i] = live.back();
        live.pop_back();
    };
    const auto take = [&] {
        const auto bin = static_cast<std::uint32_t>(below(3));
        const std::uint64_t size =
            rules.block_size(below(4) == 0 ? 1 + below(20 << 20) : 1 + below(std::uint64_t{1} << below(21)));
        const std::uint64_t gap = model.smallest_gap(arena, bin, rules.is_small(size), size);
        Block* block = arena.take(bin, size);
        ASSERT_EQ(block != nullptr, gap != 0) << "a block must be found exactly if there is a gap";
        if (!block) {
            const std::uint64_t bytes = rules.segment_size(size, arena.reserved_large());
            ASSERT_LE(bytes, rules.largest_segment);
            reserved += bytes;
            block = arena.take_in(arena.add(bin, bytes, rules.is_small(size)), size);
            ASSERT_TRUE(block);
        }
        ASSERT_GE(block->size, size);
        ASSERT_EQ(block->segment->bin, bin);
        if (rules.is_small(size))
            ASSERT_EQ(block->size, size);
        else
            ASSERT_LT(block->size - size, rules.large_remainder);
        model.taken(*block);
        live.push_back(block);
    };
    for (int step = 0; step < 20'000 && !HasFailure(); ++step) {
        const std::uint64_t what = below(100);
        const bool growing = step / 1000 % 2 == 0;
        if (what < (growing ? 60u : 30u)) {
            take();
        } else if (what < 94) {
            if (!live.empty())
                give(below(live.size()));
        } else if (!arena.segments().empty()) {
            Segment& segment = *arena.segments()[below(arena.segments().size())];
            if (what < 97) {
                arena.move_to_bin(segment, static_cast<std::uint32_t>(below(3)));
            } else if (segment.taken == 0) {
                reserved -= segment.size;
                arena.remove(segment);
            }
        }
        ASSERT_EQ(arena.reserved(), reserved);
        if (step % 50 == 0) {
            for (const auto& segment : arena.segments())
                ASSERT_EQ(segment->taken, model.taken_in(segment.get()));
            for (const Block* block : live)
                for (const std::uint64_t offset :
                     {block->offset, block->offset + below(block->size), block->offset + block->size - 1})
                    ASSERT_EQ(BlockArena::at(*block->segment, offset), block);
            for (const auto& segment : arena.segments()) {
                const std::uint64_t offset = below(segment->size);
                const Block* found = BlockArena::at(*segment, offset);
                ASSERT_TRUE(found->segment == segment.get() && found->offset <= offset &&
                            offset < found->offset + found->size);
            }
            for (const bool small : {false, true})
                ASSERT_EQ(arena.splits(small).bytes.current, free_in_used_segments(arena, small));
        }
    }
    while (!live.empty())
        give(below(live.size()));
    while (!arena.segments().empty()) {
        Segment& segment = *arena.segments().front();
        ASSERT_EQ(segment.taken, 0u);
        Block* whole = arena.take_in(segment, segment.size);
        ASSERT_TRUE(whole) << "merged back into one block";
        arena.give(whole);
        arena.remove(segment);
    }
    EXPECT_EQ(arena.reserved(), 0u);
    EXPECT_EQ(arena.reserved_large(), 0u);
}

TEST(BlockArena, TakesTheBestGapOfTheSizeList) {
    std::mt19937 random(1);
    BlockRules rules;
    BlockArena arena{rules};
    Model model;
    arena.add(0, 200 << 20, false);
    std::vector<Block*> blocks;
    for (int i = 0; i < 60; ++i) {
        Block* block = arena.take(0, rules.block_size((1 << 20) + 1 + random() % (2 << 20)));
        ASSERT_TRUE(block);
        model.taken(*block);
        blocks.push_back(block);
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
        model.given(*blocks[i]);
        arena.give(blocks[i]);
    }
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t size = rules.block_size((1 << 20) + 1 + random() % (2 << 20));
        const std::uint64_t gap = model.smallest_gap(arena, 0, false, size);
        Block* block = arena.take(0, size);
        ASSERT_EQ(block != nullptr, gap != 0);
        if (!block)
            continue;
        EXPECT_EQ(block->size, gap - size >= rules.large_remainder ? size : gap)
            << "from the smallest gap that fits";
        model.taken(*block);
    }
}

} // namespace
} // namespace rekindle::runtime
