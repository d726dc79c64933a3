/// Returns blocks whose work is done to their segments, and segments to the driver.

#include "device/promise_board.h"
#include "memory/allocator.h"
#include "memory/poison.h"

#include <algorithm>
#include <utility>

namespace rekindle::runtime {

bool CachingAllocator::WorkPoint::reached() const {
    const auto alive = stream.lock();
    return !alive || alive->completed() >= value;
}

void CachingAllocator::WorkPoint::wait() const {
    if (const auto alive = stream.lock())
        alive->wait(thread_keeps_promises() ? std::min(value, alive->submitted()) : value);
}

bool CachingAllocator::Pending::reached() const {
    return std::ranges::all_of(points, [](const WorkPoint& p) { return p.reached(); });
}

std::vector<CachingAllocator::WorkPoint> CachingAllocator::work_of(const Buffer::Block& block) const {
    std::vector<WorkPoint> points;
    const auto add = [&](const std::shared_ptr<StreamTimeline>& stream) {
        if (!stream)
            return;
        const std::uint64_t queued = stream->queued();
        if (stream->completed() < queued)
            points.push_back({stream, queued});
    };
    if (block.on_stream)
        add(block.stream.lock());
    else
        for (const auto& stream : source_->timelines())
            add(stream);
    for (const auto& stream : block.other_streams)
        add(stream.lock());
    return points;
}

void CachingAllocator::give_locked(Pool& pool, BlockArena::Block* place) {
    for (BlockLevels* const levels : levels_of(pool, *place->segment)) {
        levels->active.fall(1);
        levels->active_bytes.fall(place->size);
    }
    pool.arena.give(place);
}

void CachingAllocator::release(Buffer::Block& block) noexcept {
    const auto stream = block.stream.lock();
    // Only this stream's order is known here: other streams may still use the block later.
    if (options_.poison && block.kind == MemoryKind::device && stream && block.other_streams.empty())
        fill_in_order(block, *stream);
    const bool own_order =
        block.kind == MemoryKind::device && stream && !waits_always() && block.other_streams.empty();
    const std::uint64_t queued = own_order ? stream->queued() : 0;
    Pending pending{block.place, block.begin, block.bytes, {}};
    if (!own_order)
        pending.points = work_of(block);
    Finished finished;
    {
        const std::lock_guard lock(mutex_);
        Pool& pool = this->pool(block.kind);
        BlockArena::Segment& segment = *block.place->segment;
        block.place->live = false;
        pool.statistics.allocated_bytes -= block.place->size;
        for (BlockLevels* const levels : levels_of(pool, segment)) {
            levels->allocations.fall(1);
            levels->allocated_bytes.fall(block.place->size);
            levels->requested_bytes.fall(block.bytes);
        }
        if (own_order) {
            const Bin& bin = pool.bins[segment.bin];
            if (bin.key == stream.get() && !bin.stream.expired()) {
                segment.last_use = std::max(segment.last_use, queued);
                give_locked(pool, block.place);
                return;
            }
            pending.points.push_back({stream, queued}); // the block lies in another stream's segment
        }
        if (pending.points.empty())
            finish_locked(pool, pending, finished);
        else
            pool.pending.push_back(std::move(pending));
    }
    report(finished);
}

void CachingAllocator::finish_locked(Pool& pool, Pending& pending, Finished& finished) {
    BlockArena::Segment& segment = *pending.place->segment;
    if (waits_always())
        check_sentinels_locked(pending, finished);
    if (!segment.single) {
        give_locked(pool, pending.place);
        return;
    }
    for (BlockLevels* const levels : levels_of(pool, segment)) {
        levels->active.fall(1);
        levels->active_bytes.fall(pending.place->size);
    }
    finished.memories.push_back(remove_locked(pool, segment));
}

void CachingAllocator::collect() {
    Finished finished;
    {
        const std::lock_guard lock(mutex_);
        for (Pool& pool : pools_)
            std::erase_if(pool.pending, [&](Pending& pending) {
                const bool reached = pending.reached();
                if (reached)
                    finish_locked(pool, pending, finished);
                return reached;
            });
    }
    report(finished);
}

void CachingAllocator::report(const Finished& finished) {
    for (const std::string& damage : finished.damages)
        source_->log(LogLevel::error, damage);
}

void CachingAllocator::wait_for_released() {
    std::vector<WorkPoint> points;
    {
        const std::lock_guard lock(mutex_);
        for (Pool& pool : pools_) {
            ++pool.statistics.waits;
            for (const Pending& pending : pool.pending)
                points.insert(points.end(), pending.points.begin(), pending.points.end());
            for (const auto& segment : pool.arena.segments())
                if (segment->taken == 0 && !idle(pool, *segment))
                    points.push_back({pool.bins[segment->bin].stream, segment->last_use});
        }
    }
    for (const WorkPoint& point : points)
        point.wait();
    collect();
}

void CachingAllocator::release_segments() {
    std::vector<std::unique_ptr<SegmentMemory>> gone; // destroyed after unlocking
    const std::lock_guard lock(mutex_);
    for (Pool& pool : pools_) {
        std::vector<BlockArena::Segment*> unused;
        for (const auto& segment : pool.arena.segments())
            if (segment->taken == 0 && idle(pool, *segment))
                unused.push_back(segment.get());
        for (BlockArena::Segment* segment : unused)
            gone.push_back(remove_locked(pool, *segment));
    }
}

void CachingAllocator::empty_cache() {
    require_usable();
    wait_for_released();
    release_segments();
}

} // namespace rekindle::runtime
