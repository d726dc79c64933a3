#pragma once
/// The allocator's interface for the rest of the runtime.

#include "device/stream_timeline.h"

#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rekindle::runtime {

/// All kinds, in the order of their values.
inline constexpr std::array memory_kinds{MemoryKind::device, MemoryKind::upload, MemoryKind::readback,
                                         MemoryKind::parameters};

/// In poison mode every DevicePointer that leaves the allocator carries this bit.
constexpr std::uint64_t poison_bit = 1ull << 62;
constexpr std::uint64_t without_poison(std::uint64_t address) {
    return address & ~poison_bit;
}
inline std::vector<Access> without_poison(std::span<const Access> ranges) {
    std::vector<Access> plain(ranges.begin(), ranges.end());
    for (Access& range : plain)
        range.begin.address = without_poison(range.begin.address);
    return plain;
}

/// The allocator as streams see it.
class DeviceAllocator : public Allocator {
  public:
    /// Like allocate(), for callers that have the stream's timeline.
    virtual Buffer allocate_on(std::uint64_t bytes, MemoryKind kind,
                               const std::shared_ptr<StreamTimeline>& stream) = 0;
    /// The live block that contains [pointer, pointer + bytes); the poison bit may be set. Throws Error when
    /// no block does.
    virtual BufferLocation locate(DevicePointer pointer, std::uint64_t bytes) = 0;
    /// Removes the poison bit from every 8-byte-aligned word of a push-constant block that is a pointer into
    /// a live block.
    virtual void strip_poison(std::span<std::byte> parameters) = 0;
    /// Guard-page mode: until the returned guard is destroyed, ranges that are only read are write-protected
    /// (pages that a written range touches stay writable). Otherwise: null.
    class ReadOnly {
      public:
        virtual ~ReadOnly() = default;
    };
    virtual std::unique_ptr<ReadOnly> protect(std::span<const Access> accesses) = 0;
    /// Takes back released blocks that waited for work which has completed. Cheap; called after waits.
    virtual void collect() = 0;
    /// Poison mode: throws Error if a changed sentinel was found since the last call.
    virtual void throw_on_damage() = 0;
};

} // namespace rekindle::runtime
