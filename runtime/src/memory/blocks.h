#pragma once
/// Which bytes of a segment are in use: works with offsets only, without memory or Vulkan. Best fit in bins
/// by size; blocks are split when taken, merged with free neighbors when returned, and found again by any
/// offset inside them.

#include <rekindle/runtime/memory.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

namespace rekindle::runtime {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Sizes of blocks and segments, in bytes.
struct BlockRules {
    static constexpr std::uint64_t alignment = 256; ///< of every offset and size
    static constexpr std::uint64_t page = 4096;     ///< sizes of large blocks are multiples of it
    std::uint64_t largest_segment =
        std::numeric_limits<std::uint64_t>::max() / 2; ///< the driver's largest allocation
    std::uint64_t small_block = 1 << 20;               ///< blocks up to this size lie in small segments
    std::uint64_t small_segment = 2 << 20;
    std::uint64_t first_large_segment = 8 << 20;
    std::uint64_t large_segment_cap = 256 << 20; ///< growth ends here; larger blocks have their own segments
    std::uint64_t large_remainder = 512 << 10;   ///< a large block is split if at least this much remains

    bool is_small(std::uint64_t size) const { return size <= small_block; }
    /// The size of the block that serves a request: for small blocks the next of eight sizes per octave
    /// (multiples of 256 below 4 KiB), for large ones the next multiple of a page.
    std::uint64_t block_size(std::uint64_t requested) const;
    /// The segment size to request from the driver when a block of that size does not fit anywhere and large
    /// segments already hold `reserved_large` bytes: each segment is as large as all earlier ones together,
    /// up to the cap.
    std::uint64_t segment_size(std::uint64_t block, std::uint64_t reserved_large) const;
};

/// The memory behind a segment. Derived classes own it.
struct SegmentMemory {
    virtual ~SegmentMemory() = default;
    std::uint64_t address = 0; ///< as the device sees it
    std::byte* host = nullptr; ///< where it is mapped; null: not mapped
    bool imported = false;     ///< pages of the host, which others may use: no sentinels, never overwritten
};

/// Free and taken blocks in segments. A segment belongs to a bin (one stream's memory); a search covers one
/// bin. Not thread-safe.
class BlockArena {
  public:
    struct Segment;
    struct Block {
        Segment* segment = nullptr;
        std::uint64_t offset = 0, size = 0;
        bool free = false;
        // For the owner of the arena: which part of the block its user has.
        bool live = false;
        std::uint64_t begin = 0, bytes = 0;

      private:
        friend class BlockArena;
        Block *before = nullptr, *after = nullptr;            // neighbors in the segment
        Block *previous_free = nullptr, *next_free = nullptr; // in the list for its size
    };
    struct Segment {
        std::uint64_t size = 0;
        std::uint32_t bin = 0;
        bool small = false;
        bool single = false;     ///< for the owner of the arena: its memory is freed when its only block is
                                 ///< released
        std::uint64_t taken = 0; ///< bytes of blocks that are not free
        std::uint64_t last_use = 0; ///< for the owner of the arena: when a block was last returned
        std::unique_ptr<SegmentMemory> memory;

      private:
        friend class BlockArena;
        Block* first = nullptr;
        std::size_t place = 0; // in segments_
        // Where blocks begin: at most one block begins in each stretch of `stretch` bytes.
        std::uint64_t stretch = 0;
        std::vector<Block*> begins;
        std::vector<std::uint64_t> marks; // one bit per entry of `begins`, set if it is not null
    };

    explicit BlockArena(BlockRules rules) : rules_(rules) {}

    const BlockRules& rules() const { return rules_; }
    /// A free block of the bin with at least `size` bytes (as BlockRules::block_size returns them), split if
    /// the remainder is large enough; null if there is none.
    Block* take(std::uint32_t bin, std::uint64_t size);
    /// Like take(), but only in one segment.
    Block* take_in(Segment& segment, std::uint64_t size);
    void give(Block* block);
    /// The block that contains the offset, which is less than the segment's size.
    static Block* at(const Segment& segment, std::uint64_t offset);

    /// Adds a segment that is one free block. size: a multiple of 256.
    Segment& add(std::uint32_t bin, std::uint64_t size, bool small);
    /// Adds a segment that is one taken block of any size.
    Block* add_taken(std::uint32_t bin, std::uint64_t size);
    /// The segment must be empty or one taken block. Returns its memory.
    std::unique_ptr<SegmentMemory> remove(Segment& segment);
    void move_to_bin(Segment& segment, std::uint32_t bin);

    const std::vector<std::unique_ptr<Segment>>& segments() const { return segments_; }
    std::uint64_t reserved() const { return reserved_; }
    std::uint64_t reserved_large() const { return reserved_large_; }
    /// Free blocks that are smaller than their segment.
    struct Splits {
        Level count, bytes;
    };
    const Splits& splits(bool small) const { return splits_[small ? 0 : 1]; }
    Splits& splits(bool small) { return splits_[small ? 0 : 1]; }

  private:
    static constexpr std::size_t octaves = 48, steps = 8;
    /// Free blocks of one bin and one kind of segment, in lists by size: list (o, s) holds sizes from 2^o (1
    /// + s/8) · 256 bytes up to those of the next list.
    struct FreeLists {
        std::array<std::array<Block*, steps>, octaves> heads{};
        std::array<std::uint8_t, octaves> steps_used{};
        std::uint64_t octaves_used = 0;
    };
    struct ListIndex {
        std::size_t octave, step;
    };
    static ListIndex list_of(std::uint64_t size);
    FreeLists& lists(std::uint32_t bin, bool small);
    static Block* best_in(Block* head, std::uint64_t size);
    static Block* find(const FreeLists& lists, std::uint64_t size);
    void link(Block* block);
    void unlink(Block* block);
    Block* carve(Block* block, std::uint64_t size);
    Block* new_block();
    Block* add_block(std::uint32_t bin, std::uint64_t size, bool small, std::uint64_t stretch);
    static void mark(Block* block);
    static void unmark(Block* block);
    void forget(Block* block);

    BlockRules rules_;
    std::vector<std::unique_ptr<Segment>> segments_;
    std::vector<std::array<std::unique_ptr<FreeLists>, 2>> bins_;
    std::deque<Block> blocks_;
    std::vector<Block*> spare_;
    std::uint64_t reserved_ = 0, reserved_large_ = 0;
    std::array<Splits, 2> splits_;
};

} // namespace rekindle::runtime
