#pragma once
/// Device memory: pointers are buffer device addresses; blocks come from a caching allocator.

#include <rekindle/runtime/error.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rekindle::runtime {

/// An address in device memory, as kernels see it. Never dereference it on the host (in poison mode it
/// carries a non-canonical bit, removed at launch, so that doing so crashes).
struct DevicePointer {
    std::uint64_t address = 0;
    constexpr DevicePointer operator+(std::uint64_t bytes) const { return {address + bytes}; }
    constexpr explicit operator bool() const { return address != 0; }
    friend constexpr auto operator<=>(DevicePointer, DevicePointer) = default;
};

/// The address as the device knows it. Use it for pointers that are written into device memory (tables of
/// pointers); a launch converts those in a kernel's parameters itself.
constexpr std::uint64_t raw_address(DevicePointer pointer) {
    constexpr std::uint64_t poison = 0x4000; // in the upper 16 bits, which no device's addresses use
    return pointer.address >> 48 == poison ? pointer.address & ((1ull << 48) - 1) : pointer.address;
}

enum class MemoryKind {
    device,     ///< device-local; not mapped (memory that the host cannot see is preferred)
    upload,     ///< host-visible, coherent: written by the host, read by the device
    readback,   ///< host-visible, coherent and cached: written by the device, read by the host
    parameters, ///< host-visible, coherent, device-local where it exists: small blocks that the host
                ///< writes (sequentially; reading them may be slow) and kernels read
};

/// A block of memory; its destructor returns it to the allocator. Movable. A device block may be released
/// while work that uses it is still queued on the stream that it was allocated for: stream order protects it.
/// For blocks used on another stream, call record_stream(). Host blocks are reused only after the work that
/// used them has completed.
class Buffer {
  public:
    Buffer() = default;
    struct Block; ///< defined only in the library's sources
    explicit Buffer(std::shared_ptr<Block> block) : block_(std::move(block)) {}

    DevicePointer pointer() const noexcept;
    std::uint64_t bytes() const noexcept; ///< as requested
    explicit operator bool() const noexcept { return block_ != nullptr; }
    /// The mapped bytes of a host block; empty for device memory.
    std::span<std::byte> host() const noexcept;
    template <class T>
    std::span<T> host_as() const noexcept {
        const auto bytes = host();
        return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    const std::shared_ptr<Block>& block() const noexcept { return block_; }

  private:
    std::shared_ptr<Block> block_;
};

struct MemoryStatistics {
    std::uint64_t allocated_bytes = 0, allocated_peak_bytes = 0; ///< in Buffers
    std::uint64_t reserved_bytes = 0, reserved_peak_bytes = 0;   ///< taken from the driver
    std::uint64_t allocations = 0, driver_allocations = 0;       ///< since the start
    std::uint64_t driver_frees = 0;                              ///< since the start
    std::uint64_t retries = 0;       ///< allocations that succeeded after the cache was emptied
    std::uint64_t out_of_memory = 0; ///< allocations that failed even then
    std::uint64_t waits = 0;         ///< for queued work, because memory ran out or was given back
};

/// A count or a number of bytes that rises and falls.
struct Level {
    std::int64_t current = 0, peak = 0;
    std::int64_t risen = 0, fallen = 0; ///< total amounts

    void rise(std::uint64_t by) {
        current += static_cast<std::int64_t>(by);
        risen += static_cast<std::int64_t>(by);
        peak = current > peak ? current : peak;
    }
    void fall(std::uint64_t by) {
        current -= static_cast<std::int64_t>(by);
        fallen += static_cast<std::int64_t>(by);
    }
};

/// Statistics of blocks and segments, as PyTorch's allocators define them. Bytes count whole blocks, except
/// for requested_bytes.
struct BlockLevels {
    Level allocations, allocated_bytes;          ///< in Buffers
    Level requested_bytes;                       ///< as requested, in Buffers
    Level active, active_bytes;                  ///< in Buffers, or released but still used by queued work
    Level segments, reserved_bytes;              ///< taken from the driver
    Level inactive_splits, inactive_split_bytes; ///< free blocks in segments that also hold used ones
};

struct MemoryLevels {
    BlockLevels all, small, large; ///< by segment: small ones hold blocks up to 1 MiB
};

/// The heap that device memory comes from.
struct MemoryInfo {
    std::uint64_t free_bytes = 0, total_bytes = 0;
    /// True: free_bytes is what the driver reports for this process and others (VK_EXT_memory_budget). False:
    /// it is the total minus what this Allocator has taken.
    bool budgeted = false;
};

class Stream;

/// The memory of one device. Thread-safe. Sizes are rounded to 256 bytes (device) and kept in size classes;
/// large blocks are split and merged with their free neighbors.
class Allocator {
  public:
    virtual ~Allocator() = default;
    /// `stream`: the stream whose order allows a device block to be reused immediately; null: it is reused
    /// once the work queued at its release has completed on all streams. bytes == 0 gives a valid block of
    /// the smallest class. Throws OutOfMemory with the numbers (requested, allocated, reserved, heap, budget,
    /// largest single allocation).
    virtual Buffer allocate(std::uint64_t bytes, MemoryKind kind, Stream* stream = nullptr) = 0;
    /// Makes a host block whose bytes are these pages, so that the device can access them. They begin and end
    /// at multiples of import_alignment(), belong to no other block, and must stay mapped while `keep` lives.
    /// The block owns `keep` until the work that was queued at its release has completed. Throws Unsupported
    /// if the driver cannot import these pages (Linux's amdgpu refuses pages of files), Error.
    virtual Buffer import_pages(std::span<std::byte> pages, std::shared_ptr<const void> keep) = 0;
    /// The alignment that import_pages() requires, in bytes.
    virtual std::uint64_t import_alignment() const = 0;
    /// Declares that the block is also used on that stream: after its release it is not reused until the work
    /// queued there has completed.
    virtual void record_stream(const Buffer& buffer, Stream& stream) = 0;
    /// Gives every free block back to the driver.
    virtual void empty_cache() = 0;
    virtual MemoryStatistics statistics(MemoryKind kind) const = 0;
    virtual MemoryLevels levels(MemoryKind kind) const = 0;
    /// Sets the peaks of statistics() and levels() to the current values.
    virtual void reset_peaks() = 0;
    /// Counts since the start (Level::risen and fallen, allocations, retries …) restart from 0.
    virtual void reset_accumulated() = 0;
    /// Asks the driver.
    virtual MemoryInfo memory_info() const = 0;
};

} // namespace rekindle::runtime
