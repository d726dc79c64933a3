#include "memory/allocator.h"

#include "memory/poison.h"

#include <algorithm>
#include <utility>

namespace rekindle::runtime {
namespace {

BlockRules rules_for(BlockRules rules, const MemorySource& source, MemoryKind kind) {
    rules.largest_segment = source.largest(kind);
    return rules;
}

} // namespace

Buffer::Block::~Block() {
    if (place && vulkan_usable())
        allocator.release(*this);
}

DevicePointer Buffer::pointer() const noexcept {
    return block_ ? block_->pointer : DevicePointer{};
}

std::uint64_t Buffer::bytes() const noexcept {
    return block_ ? block_->bytes : 0;
}

std::span<std::byte> Buffer::host() const noexcept {
    if (!block_ || !block_->host)
        return {};
    return {block_->host, static_cast<std::size_t>(block_->bytes)};
}

CachingAllocator::CachingAllocator(std::unique_ptr<MemorySource> source, AllocatorOptions options)
    : source_(std::move(source)), options_(options),
      pools_{Pool(rules_for(options.rules, *source_, MemoryKind::device)),
             Pool(rules_for(options.rules, *source_, MemoryKind::upload)),
             Pool(rules_for(options.rules, *source_, MemoryKind::readback)),
             Pool(rules_for(options.rules, *source_, MemoryKind::parameters))} {}

CachingAllocator::~CachingAllocator() = default;

Buffer CachingAllocator::allocate(std::uint64_t bytes, MemoryKind kind, Stream* stream) {
    return stream ? allocate_on(bytes, kind, timeline_of(*stream)) : allocate_on(bytes, kind, nullptr);
}

Buffer CachingAllocator::allocate_on(std::uint64_t bytes, MemoryKind kind,
                                     const std::shared_ptr<StreamTimeline>& stream) {
    require_usable();
    const BlockRules& rules = pool(kind).arena.rules();
    if (bytes > rules.largest_segment)
        refuse(bytes, kind);
    const std::uint64_t size = place_size(bytes, rules);
    if (size > rules.largest_segment)
        refuse(bytes, kind);
    auto block = std::make_shared<Buffer::Block>(*this, source_->keep_alive());
    block->bytes = bytes;
    block->kind = kind;
    block->on_stream = stream != nullptr;
    block->stream = stream;
    if (!take_at_once(*block, stream, size)) {
        BlockArena::Block* place = find_place(kind, stream, size);
        if (!place)
            place = take_after_giving_back(kind, stream, size);
        if (!place)
            refuse(bytes, kind);
        const std::lock_guard lock(mutex_);
        put_in_use_locked(*block, place);
    }
    if (waits_always())
        poison_fresh(*block, stream);
    return Buffer(std::move(block));
}

Buffer CachingAllocator::import_pages(std::span<std::byte> pages, std::shared_ptr<const void> keep) {
    require_usable();
    auto block = std::make_shared<Buffer::Block>(*this, source_->keep_alive());
    block->bytes = pages.size();
    block->kind = MemoryKind::readback;
    auto memory = source_->import(pages, std::move(keep));
    const std::lock_guard lock(mutex_);
    if (segments_.contains(memory->address)) // some drivers use the host's address
        throw Error(source_->device_name() + ": these pages have been imported already");
    BlockArena::Block* const place = pool(block->kind).arena.add_taken(0, pages.size());
    add_single_locked(block->kind, *place->segment, std::move(memory));
    put_in_use_locked(*block, place);
    return Buffer(std::move(block));
}

bool CachingAllocator::take_at_once(Buffer::Block& block, const std::shared_ptr<StreamTimeline>& stream,
                                    std::uint64_t size) {
    if (options_.guard_pages)
        return false;
    const std::lock_guard lock(mutex_);
    Pool& pool = this->pool(block.kind);
    BlockArena::Block* const place = pool.arena.take(bin_locked(pool, stream), size);
    if (!place)
        return false;
    put_in_use_locked(block, place);
    return true;
}

std::uint64_t CachingAllocator::place_size(std::uint64_t bytes, const BlockRules& rules) const {
    if (options_.guard_pages)
        return round_up(std::max<std::uint64_t>(bytes, 1), 16);
    return rules.block_size(options_.poison ? bytes + 2 * sentinel_bytes : bytes);
}

BlockArena::Block* CachingAllocator::find_place(MemoryKind kind,
                                                const std::shared_ptr<StreamTimeline>& stream,
                                                std::uint64_t size) {
    if (options_.guard_pages)
        collect();
    else if (BlockArena::Block* place = take_cached(pool(kind), stream, size))
        return place;
    return grow(kind, stream, size);
}

BlockArena::Block* CachingAllocator::take_cached(Pool& pool, const std::shared_ptr<StreamTimeline>& stream,
                                                 std::uint64_t size) {
    collect();
    const std::lock_guard lock(mutex_);
    const std::uint32_t bin = bin_locked(pool, stream);
    if (BlockArena::Block* place = pool.arena.take(bin, size))
        return place;
    return adopt_locked(pool, bin, size);
}

/// The smallest empty segment of another stream that no queued work uses.
BlockArena::Block* CachingAllocator::adopt_locked(Pool& pool, std::uint32_t bin, std::uint64_t size) {
    BlockArena::Segment* best = nullptr;
    for (const auto& segment : pool.arena.segments())
        if (segment->taken == 0 && segment->bin != bin &&
            segment->small == pool.arena.rules().is_small(size) && segment->size >= size &&
            (!best || segment->size < best->size) && idle(pool, *segment))
            best = segment.get();
    if (!best)
        return nullptr;
    pool.arena.move_to_bin(*best, bin);
    best->last_use = 0;
    return pool.arena.take_in(*best, size);
}

/// A free block that no queued work uses, in any stream's segment: the last resort.
BlockArena::Block* CachingAllocator::take_anywhere(Pool& pool, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    for (const auto& segment : pool.arena.segments())
        if (idle(pool, *segment))
            if (BlockArena::Block* place = pool.arena.take_in(*segment, size))
                return place;
    return nullptr;
}

std::uint32_t CachingAllocator::bin_locked(Pool& pool, const std::shared_ptr<StreamTimeline>& stream) {
    if (!stream || &pool != &this->pool(MemoryKind::device))
        return 0;
    for (std::uint32_t i = 1; i < pool.bins.size(); ++i)
        if (pool.bins[i].key == stream.get() && !pool.bins[i].stream.expired())
            return i;
    std::uint32_t unused = 0;
    for (std::uint32_t i = 1; i < pool.bins.size(); ++i)
        if (pool.bins[i].stream.expired())
            unused = i;
    if (unused == 0) {
        pool.bins.push_back({stream, stream.get()});
        return static_cast<std::uint32_t>(pool.bins.size() - 1);
    }
    for (const auto& segment : pool.arena.segments()) // that stream is gone and its work is done
        if (segment->bin == unused)
            pool.arena.move_to_bin(*segment, 0);
    pool.bins[unused] = {stream, stream.get()};
    return unused;
}

bool CachingAllocator::idle(const Pool& pool, const BlockArena::Segment& segment) {
    if (segment.bin == 0)
        return true;
    const auto stream = pool.bins[segment.bin].stream.lock();
    return !stream || stream->completed() >= segment.last_use;
}

BlockArena::Block* CachingAllocator::grow(MemoryKind kind, const std::shared_ptr<StreamTimeline>& stream,
                                          std::uint64_t size) {
    Pool& pool = this->pool(kind);
    std::uint64_t bytes = size;
    if (!options_.guard_pages) {
        const std::lock_guard lock(mutex_);
        bytes = pool.arena.rules().segment_size(size, pool.arena.reserved_large());
    }
    auto memory = source_->take(kind, bytes);
    if (!memory && bytes > size) {
        bytes = size;
        memory = source_->take(kind, bytes);
    }
    if (!memory)
        return nullptr;
    const std::lock_guard lock(mutex_);
    return add_locked(kind, bin_locked(pool, stream), bytes, size, std::move(memory));
}

BlockArena::Block* CachingAllocator::add_locked(MemoryKind kind, std::uint32_t bin,
                                                std::uint64_t segment_bytes, std::uint64_t size,
                                                std::unique_ptr<DriverMemory> memory) {
    Pool& pool = this->pool(kind);
    if (options_.guard_pages) {
        BlockArena::Block* const place = pool.arena.add_taken(bin, size);
        add_single_locked(kind, *place->segment, std::move(memory));
        return place;
    }
    BlockArena::Segment& segment = pool.arena.add(bin, segment_bytes, pool.arena.rules().is_small(size));
    segment.memory = std::move(memory);
    count_added_locked(kind, segment);
    return pool.arena.take_in(segment, size);
}

void CachingAllocator::add_single_locked(MemoryKind kind, BlockArena::Segment& segment,
                                         std::unique_ptr<DriverMemory> memory) {
    segment.single = true;
    segment.memory = std::move(memory);
    count_added_locked(kind, segment);
}

void CachingAllocator::count_added_locked(MemoryKind kind, const BlockArena::Segment& segment) {
    Pool& pool = this->pool(kind);
    segments_.insert_or_assign(segment.memory->address, SegmentPlace{&segment, kind});
    for (BlockLevels* const levels : levels_of(pool, segment)) {
        levels->segments.rise(1);
        levels->reserved_bytes.rise(segment.size);
    }
    MemoryStatistics& s = pool.statistics;
    ++s.driver_allocations;
    s.reserved_bytes = pool.arena.reserved();
    s.reserved_peak_bytes = std::max(s.reserved_peak_bytes, s.reserved_bytes);
}

BlockArena::Block* CachingAllocator::take_after_giving_back(MemoryKind kind,
                                                            const std::shared_ptr<StreamTimeline>& stream,
                                                            std::uint64_t size) {
    wait_for_released();
    release_segments();
    BlockArena::Block* place = find_place(kind, stream, size);
    if (!place && !options_.guard_pages)
        place = take_anywhere(pool(kind), size);
    if (place) {
        const std::lock_guard lock(mutex_);
        ++pool(kind).statistics.retries;
    }
    return place;
}

std::unique_ptr<SegmentMemory> CachingAllocator::remove_locked(Pool& pool, BlockArena::Segment& segment) {
    for (BlockLevels* const levels : levels_of(pool, segment)) {
        levels->segments.fall(1);
        levels->reserved_bytes.fall(segment.size);
    }
    segments_.erase(segment.memory->address);
    auto memory = pool.arena.remove(segment);
    pool.statistics.reserved_bytes = pool.arena.reserved();
    ++pool.statistics.driver_frees;
    return memory;
}

void CachingAllocator::put_in_use_locked(Buffer::Block& block, BlockArena::Block* place) {
    auto& memory = static_cast<DriverMemory&>(*place->segment->memory);
    block.begin = options_.poison && !place->segment->single ? sentinel_bytes : 0;
    const std::uint64_t offset = place->offset + block.begin;
    const std::uint64_t address = memory.address + offset;
    block.pointer = {options_.poison ? address | poison_bit : address};
    if (block.kind != MemoryKind::device)
        block.host = memory.host + offset;
    place->live = true;
    place->begin = block.begin;
    place->bytes = block.bytes;
    Pool& pool = this->pool(block.kind);
    MemoryStatistics& s = pool.statistics;
    ++s.allocations;
    s.allocated_bytes += place->size;
    s.allocated_peak_bytes = std::max(s.allocated_peak_bytes, s.allocated_bytes);
    for (BlockLevels* const levels : levels_of(pool, *place->segment)) {
        levels->allocations.rise(1);
        levels->allocated_bytes.rise(place->size);
        levels->requested_bytes.rise(block.bytes);
        levels->active.rise(1);
        levels->active_bytes.rise(place->size);
    }
    block.place = place;
}

void CachingAllocator::record_stream(const Buffer& buffer, Stream& stream) {
    record(buffer, timeline_of(stream));
}

void CachingAllocator::record(const Buffer& buffer, const std::shared_ptr<StreamTimeline>& stream) {
    require_usable();
    if (!buffer)
        return;
    Buffer::Block& block = *buffer.block();
    const std::lock_guard lock(mutex_);
    const auto same = [&](const std::weak_ptr<StreamTimeline>& s) {
        return !s.owner_before(stream) && !stream.owner_before(s);
    };
    if (!same(block.stream) && std::ranges::none_of(block.other_streams, same))
        block.other_streams.emplace_back(stream);
}

void CachingAllocator::refuse(std::uint64_t bytes, MemoryKind kind) {
    static constexpr std::array names{"device memory", "upload memory (host memory that the device sees)",
                                      "readback memory (host memory that the device sees)",
                                      "parameter memory (written by the host, read by the device)"};
    MemoryStatistics now;
    std::uint64_t largest = 0;
    {
        const std::lock_guard lock(mutex_);
        now = (++pool(kind).statistics.out_of_memory, pool(kind).statistics);
        largest = pool(kind).arena.rules().largest_segment;
    }
    std::string text = source_->device_name() + ": out of memory: asked for " + readable_bytes(bytes) +
                       " of " + names[static_cast<std::size_t>(kind)] + "; " +
                       readable_bytes(now.allocated_bytes) + " are in use (peak " +
                       readable_bytes(now.allocated_peak_bytes) + "), " + readable_bytes(now.reserved_bytes) +
                       " are taken from the driver; " + source_->describe_heaps(kind) +
                       "; the largest single allocation is " + readable_bytes(largest);
    const bool too_large = bytes > largest;
    throw OutOfMemory(
        text, too_large ? "Request less at a time: no single block may be larger than the driver's limit."
                        : "Request less at a time, release buffers, or close other programs that use this "
                          "device.");
}

std::unique_ptr<CachingAllocator> make_allocator(VulkanDevice& device) {
    const TestMode& mode = device.test_mode();
    AllocatorOptions options;
    options.poison = mode.poison;
    options.guard_pages = mode.guard_pages;
    return std::make_unique<CachingAllocator>(
        mode.guard_pages ? make_guarded_memory(device) : make_driver_memory(device), options);
}

} // namespace rekindle::runtime
