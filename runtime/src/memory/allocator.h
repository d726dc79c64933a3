#pragma once
/// The caching allocator: decides when a released block is free again, and which streams may take it.

#include "memory/source.h"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::runtime {

struct AllocatorOptions {
    BlockRules rules; ///< largest_segment is set from the source
    bool poison = false;
    /// Every block is its own segment, which goes back to the source when it is released.
    bool guard_pages = false;
};

class CachingAllocator;

struct Buffer::Block {
    Block(CachingAllocator& owner, std::shared_ptr<const void> device)
        : allocator(owner), keep(std::move(device)) {}
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    CachingAllocator& allocator;
    std::shared_ptr<const void> keep;
    BlockArena::Block* place = nullptr;
    std::uint64_t begin = 0; ///< offset in the place: after the sentinel in poison mode
    DevicePointer pointer;
    std::uint64_t bytes = 0;
    std::byte* host = nullptr; ///< for blocks that are not device memory
    MemoryKind kind{};
    bool on_stream = false; ///< `stream` was given
    std::weak_ptr<StreamTimeline> stream;
    std::vector<std::weak_ptr<StreamTimeline>> other_streams; ///< guarded by the allocator's mutex
};

/// Blocks of device memory lie in segments of the stream that they were allocated for, and that stream may
/// reuse them as soon as they are released. An empty segment may go to another stream once the work queued
/// before its last release has completed. All other blocks (host memory, blocks without a stream or recorded
/// on further streams, and every block in poison and guard-page mode) wait for the work that was queued at
/// their release.
class CachingAllocator final : public DeviceAllocator {
  public:
    CachingAllocator(std::unique_ptr<MemorySource> source, AllocatorOptions options);
    ~CachingAllocator() override;

    Buffer allocate(std::uint64_t bytes, MemoryKind kind, Stream* stream) override;
    Buffer allocate_on(std::uint64_t bytes, MemoryKind kind,
                       const std::shared_ptr<StreamTimeline>& stream) override;
    Buffer import_pages(std::span<std::byte> pages, std::shared_ptr<const void> keep) override;
    std::uint64_t import_alignment() const override { return source_->import_alignment(); }
    void record_stream(const Buffer& buffer, Stream& stream) override;
    void record(const Buffer& buffer, const std::shared_ptr<StreamTimeline>& stream);
    void empty_cache() override;
    MemoryStatistics statistics(MemoryKind kind) const override;
    MemoryLevels levels(MemoryKind kind) const override;
    void reset_peaks() override;
    void reset_accumulated() override;
    MemoryInfo memory_info() const override;

    BufferLocation locate(DevicePointer pointer, std::uint64_t bytes) override;
    void strip_poison(std::span<std::byte> parameters) override;
    std::unique_ptr<ReadOnly> protect(std::span<const Access> accesses) override;
    void collect() override;
    void throw_on_damage() override;

  private:
    friend struct Buffer::Block;

    /// A value that a stream's completed() has to reach. A destroyed stream has completed its work.
    struct WorkPoint {
        std::weak_ptr<StreamTimeline> stream;
        std::uint64_t value = 0;
        bool reached() const;
        void wait() const;
    };
    /// A released block that queued work may still use.
    struct Pending {
        BlockArena::Block* place = nullptr;
        std::uint64_t begin = 0, bytes = 0; ///< of the user's part, to check the sentinels
        std::vector<WorkPoint> points;
        bool reached() const;
    };
    /// The segments of one stream. Bin 0 belongs to no stream: no queued work uses its free blocks.
    struct Bin {
        std::weak_ptr<StreamTimeline> stream;
        const StreamTimeline* key = nullptr;
    };
    /// Memory of one kind.
    struct Pool {
        explicit Pool(const BlockRules& rules) : arena(rules) {}
        BlockArena arena;
        std::vector<Bin> bins{1};
        std::vector<Pending> pending;
        MemoryStatistics statistics;
        MemoryLevels levels; ///< except the splits, which the arena counts
    };
    /// A block in use, found by an address.
    struct Live {
        std::uint64_t first = 0, bytes = 0; ///< addresses of the user's part
        DriverMemory* memory = nullptr;
        std::uint64_t offset = 0; ///< of `first` in the memory
        MemoryKind kind{};
    };
    struct SegmentPlace {
        const BlockArena::Segment* segment = nullptr;
        MemoryKind kind{};
    };
    /// What is left to do after blocks were returned and the mutex was released.
    struct Finished {
        std::vector<std::unique_ptr<SegmentMemory>> memories; ///< to return to the driver
        std::vector<std::string> damages;                     ///< to log
    };

    Pool& pool(MemoryKind kind) { return pools_[static_cast<std::size_t>(kind)]; }
    /// The counters that a change in the segment affects.
    static std::array<BlockLevels*, 2> levels_of(Pool& pool, const BlockArena::Segment& segment) {
        return {&pool.levels.all, segment.small ? &pool.levels.small : &pool.levels.large};
    }
    bool waits_always() const { return options_.poison || options_.guard_pages; }
    std::uint64_t place_size(std::uint64_t bytes, const BlockRules& rules) const;

    // These lock the mutex or are called with it locked (…_locked).
    bool take_at_once(Buffer::Block& block, const std::shared_ptr<StreamTimeline>& stream,
                      std::uint64_t size);
    BlockArena::Block* take_cached(Pool& pool, const std::shared_ptr<StreamTimeline>& stream,
                                   std::uint64_t size);
    std::unique_ptr<SegmentMemory> remove_locked(Pool& pool, BlockArena::Segment& segment);
    void give_locked(Pool& pool, BlockArena::Block* place);
    BlockArena::Block* adopt_locked(Pool& pool, std::uint32_t bin, std::uint64_t size);
    BlockArena::Block* take_anywhere(Pool& pool, std::uint64_t size);
    std::uint32_t bin_locked(Pool& pool, const std::shared_ptr<StreamTimeline>& stream);
    static bool idle(const Pool& pool, const BlockArena::Segment& segment);
    BlockArena::Block* add_locked(MemoryKind kind, std::uint32_t bin, std::uint64_t segment_bytes,
                                  std::uint64_t size, std::unique_ptr<DriverMemory> memory);
    void add_single_locked(MemoryKind kind, BlockArena::Segment& segment,
                           std::unique_ptr<DriverMemory> memory);
    void count_added_locked(MemoryKind kind, const BlockArena::Segment& segment);
    void finish_locked(Pool& pool, Pending& pending, Finished& finished);
    /// The live block that contains the address or ends there.
    std::optional<Live> find_locked(std::uint64_t address) const;
    std::optional<Live> block_at_locked(std::uint64_t place, std::uint64_t address) const;

    BlockArena::Block* find_place(MemoryKind kind, const std::shared_ptr<StreamTimeline>& stream,
                                  std::uint64_t size);
    BlockArena::Block* grow(MemoryKind kind, const std::shared_ptr<StreamTimeline>& stream,
                            std::uint64_t size);
    BlockArena::Block* take_after_giving_back(MemoryKind kind, const std::shared_ptr<StreamTimeline>& stream,
                                              std::uint64_t size);
    void wait_for_released();
    void release_segments();
    void put_in_use_locked(Buffer::Block& block, BlockArena::Block* place);
    [[noreturn]] void refuse(std::uint64_t bytes, MemoryKind kind);
    void release(Buffer::Block& block) noexcept;
    std::vector<WorkPoint> work_of(const Buffer::Block& block) const;
    void poison_fresh(const Buffer::Block& block, const std::shared_ptr<StreamTimeline>& stream);
    void fill_in_order(const Buffer::Block& block, StreamTimeline& stream);
    void warn_unchecked();
    void check_sentinels_locked(const Pending& pending, Finished& finished);
    void report(const Finished& finished);
    void note_damage_locked(const Pending& pending, std::string_view where, std::uint64_t distance,
                            std::byte found, Finished& finished);

    std::unique_ptr<MemorySource> source_;
    AllocatorOptions options_;
    mutable std::mutex mutex_; ///< guards all below; never held while the driver allocates, frees or waits
    std::array<Pool, memory_kinds.size()> pools_;
    std::map<std::uint64_t, SegmentPlace> segments_; ///< by first address
    std::string damage_;
    bool warned_unchecked_ = false;
};

/// The memory of a device, as its test modes require. Must be destroyed before the device; Buffers keep the
/// device's owner, and with it the allocator, alive. Throws Error.
std::unique_ptr<CachingAllocator> make_allocator(VulkanDevice& device);

} // namespace rekindle::runtime
