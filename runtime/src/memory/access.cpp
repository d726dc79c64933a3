/// Looks up addresses for streams, and writes and checks the patterns of the test modes in and around blocks.

#include "device/hexadecimal.h"
#include "memory/allocator.h"
#include "memory/poison.h"

#include <rekindle/foundation/text.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rekindle::runtime {
namespace {

/// The host's view of a block and of the bytes around it.
struct Neighborhood {
    std::span<std::byte> before, block, behind;
};

Neighborhood neighborhood(const BlockArena::Block& place, std::uint64_t begin, std::uint64_t bytes) {
    const auto& memory = static_cast<const DriverMemory&>(*place.segment->memory);
    const std::span all(memory.host + place.offset, static_cast<std::size_t>(place.size));
    Neighborhood s{all.first(begin), all.subspan(begin, bytes), all.subspan(begin + bytes)};
    if (!memory.before.empty())
        s.before = memory.before;
    return s;
}

class HeldPages final : public DeviceAllocator::ReadOnly {
  public:
    void add(std::shared_ptr<const void> pages) { pages_.push_back(std::move(pages)); }

  private:
    std::vector<std::shared_ptr<const void>> pages_;
};

} // namespace

/// The live block at `place` if it contains `address`; its end counts as inside.
std::optional<CachingAllocator::Live> CachingAllocator::block_at_locked(std::uint64_t place,
                                                                        std::uint64_t address) const {
    auto next = segments_.upper_bound(place);
    if (next == segments_.begin())
        return std::nullopt;
    const auto& [begin, of] = *std::prev(next);
    if (place - begin >= of.segment->size)
        return std::nullopt;
    const BlockArena::Block& block = *BlockArena::at(*of.segment, place - begin);
    const std::uint64_t first = begin + block.offset + block.begin;
    if (!block.live || address < first || address - first > block.bytes)
        return std::nullopt;
    return Live{first, block.bytes, static_cast<DriverMemory*>(of.segment->memory.get()),
                block.offset + block.begin, of.kind};
}

std::optional<CachingAllocator::Live> CachingAllocator::find_locked(std::uint64_t address) const {
    std::optional<Live> live = block_at_locked(address, address);
    return live || address == 0 ? live : block_at_locked(address - 1, address);
}

BufferLocation CachingAllocator::locate(DevicePointer pointer, std::uint64_t bytes) {
    const std::uint64_t address = raw_address(pointer);
    const std::lock_guard lock(mutex_);
    const std::optional<Live> live = find_locked(address);
    if (!live || bytes > live->bytes - (address - live->first))
        throw Error(
            source_->device_name() + ": no block contains the " + counted(bytes, "byte") + " at " +
            hexadecimal(address) +
            (live ? "; the block at " + hexadecimal(live->first) + " has " + std::to_string(live->bytes)
                  : std::string{}));
    const std::uint64_t within = address - live->first;
    return {live->memory->buffer, live->memory->buffer_offset + live->offset + within, live->bytes - within,
            live->kind};
}

void CachingAllocator::strip_poison(std::span<std::byte> parameters) {
    if (!options_.poison)
        return;
    const std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= parameters.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, parameters.data() + at, sizeof word);
        const std::uint64_t address = raw_address({word});
        if (address == word || !find_locked(address))
            continue;
        std::memcpy(parameters.data() + at, &address, sizeof address);
    }
}

std::unique_ptr<DeviceAllocator::ReadOnly> CachingAllocator::protect(std::span<const Access> accesses) {
    if (!options_.guard_pages)
        return nullptr;
    auto held = std::make_unique<HeldPages>();
    const std::lock_guard lock(mutex_);
    std::map<DriverMemory*, std::vector<ByteUse>> used;
    for (const Access& access : accesses) {
        const std::uint64_t address = raw_address(access.begin);
        const std::optional<Live> live = find_locked(address);
        if (!live || live->kind != MemoryKind::device) // the host may write host blocks meanwhile
            continue;
        const std::uint64_t begin = address - live->first;
        used[live->memory].push_back({begin, begin + access.bytes, access.writes});
    }
    for (const auto& [memory, ranges] : used)
        held->add(memory->protect(ranges));
    return held;
}

void CachingAllocator::poison_fresh(const Buffer::Block& block,
                                    const std::shared_ptr<StreamTimeline>& stream) {
    const auto& memory = *block.place->segment->memory;
    if (memory.host) {
        const Neighborhood around = neighborhood(*block.place, block.begin, block.bytes);
        write_sentinel(around.before);
        write_sentinel(around.behind);
        if (options_.poison)
            write_poison(around.block);
        return;
    }
    warn_unchecked();
    if (stream)
        fill_in_order(block, *stream);
}

void CachingAllocator::fill_in_order(const Buffer::Block& block, StreamTimeline& stream) {
    const std::uint64_t bytes = block.bytes / sizeof poison_word * sizeof poison_word;
    if (bytes == 0)
        return;
    const auto& memory = static_cast<const DriverMemory&>(*block.place->segment->memory);
    const BufferLocation at{memory.buffer, memory.buffer_offset + block.place->offset + block.begin,
                            block.bytes, block.kind};
    stream.fill_before_next(at, block.pointer, bytes, poison_word);
}

void CachingAllocator::warn_unchecked() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(warned_unchecked_, true))
            return;
    }
    source_->log(LogLevel::warning, source_->device_name() +
                                        ": the host cannot see this device's memory: sentinels "
                                        "around its blocks are not checked");
}

void CachingAllocator::check_sentinels_locked(const Pending& pending, Finished& finished) {
    const auto& memory = *pending.place->segment->memory;
    if (!memory.host || memory.imported)
        return;
    const Neighborhood around = neighborhood(*pending.place, pending.begin, pending.bytes);
    if (const auto i = changed_byte(around.before))
        note_damage_locked(pending, "before its start", around.before.size() - *i, around.before[*i],
                           finished);
    if (const auto i = changed_byte(around.behind))
        note_damage_locked(pending, "after its end", *i, around.behind[*i], finished);
    if (options_.poison)
        write_poison(around.block);
}

void CachingAllocator::note_damage_locked(const Pending& pending, std::string_view where,
                                          std::uint64_t distance, std::byte found, Finished& finished) {
    const auto& memory = *pending.place->segment->memory;
    damage_ = source_->device_name() + ": memory around a block of " + counted(pending.bytes, "byte") +
              " at " + hexadecimal(memory.address + pending.place->offset + pending.begin) +
              " was overwritten: the byte at offset " + std::to_string(distance) + " " + std::string(where) +
              " is " + hexadecimal(std::to_integer<std::uint64_t>(found));
    finished.damages.push_back(damage_);
}

void CachingAllocator::throw_on_damage() {
    if (!waits_always())
        return;
    collect();
    const std::lock_guard lock(mutex_);
    if (!damage_.empty())
        throw Error(std::exchange(damage_, {}));
}

} // namespace rekindle::runtime
