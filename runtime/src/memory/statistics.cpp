/// The statistics of the allocator.

#include "memory/allocator.h"

#include <algorithm>

namespace rekindle::runtime {

namespace {

template <class F>
void for_each_level(BlockLevels& levels, F&& f) {
    for (Level* const level :
         {&levels.allocations, &levels.allocated_bytes, &levels.requested_bytes, &levels.active,
          &levels.active_bytes, &levels.segments, &levels.reserved_bytes})
        f(*level);
}

void reset_peak(Level& level) {
    level.peak = level.current;
}

void reset_sums(Level& level) {
    level.risen = level.fallen = 0;
}

Level sum(const Level& a, const Level& b) {
    // The two may have peaked at different times.
    return {a.current + b.current, std::max(a.peak + b.current, a.current + b.peak), a.risen + b.risen,
            a.fallen + b.fallen};
}

} // namespace

MemoryStatistics CachingAllocator::statistics(MemoryKind kind) const {
    require_usable();
    const std::lock_guard lock(mutex_);
    return pools_[static_cast<std::size_t>(kind)].statistics;
}

MemoryLevels CachingAllocator::levels(MemoryKind kind) const {
    require_usable();
    const std::lock_guard lock(mutex_);
    const Pool& pool = pools_[static_cast<std::size_t>(kind)];
    MemoryLevels levels = pool.levels;
    for (const bool small : {true, false}) {
        BlockLevels& part = small ? levels.small : levels.large;
        part.inactive_splits = pool.arena.splits(small).count;
        part.inactive_split_bytes = pool.arena.splits(small).bytes;
    }
    levels.all.inactive_splits = sum(levels.small.inactive_splits, levels.large.inactive_splits);
    levels.all.inactive_split_bytes =
        sum(levels.small.inactive_split_bytes, levels.large.inactive_split_bytes);
    return levels;
}

void CachingAllocator::reset_peaks() {
    require_usable();
    const std::lock_guard lock(mutex_);
    for (Pool& pool : pools_) {
        pool.statistics.allocated_peak_bytes = pool.statistics.allocated_bytes;
        pool.statistics.reserved_peak_bytes = pool.statistics.reserved_bytes;
        for (BlockLevels* const levels : {&pool.levels.all, &pool.levels.small, &pool.levels.large})
            for_each_level(*levels, reset_peak);
        for (const bool small : {true, false}) {
            reset_peak(pool.arena.splits(small).count);
            reset_peak(pool.arena.splits(small).bytes);
        }
    }
}

void CachingAllocator::reset_accumulated() {
    require_usable();
    const std::lock_guard lock(mutex_);
    for (Pool& pool : pools_) {
        MemoryStatistics& s = pool.statistics;
        s.allocations = s.driver_allocations = s.driver_frees = s.retries = s.out_of_memory = s.waits = 0;
        for (BlockLevels* const levels : {&pool.levels.all, &pool.levels.small, &pool.levels.large})
            for_each_level(*levels, reset_sums);
        for (const bool small : {true, false}) {
            reset_sums(pool.arena.splits(small).count);
            reset_sums(pool.arena.splits(small).bytes);
        }
    }
}

MemoryInfo CachingAllocator::memory_info() const {
    require_usable();
    std::uint64_t reserved = 0;
    {
        const std::lock_guard lock(mutex_);
        reserved = pools_[static_cast<std::size_t>(MemoryKind::device)].arena.reserved();
    }
    return source_->memory_info(reserved);
}

} // namespace rekindle::runtime
