#pragma once
/// A stream's memory for small blocks that the host writes and kernels read.

#include "stream/stream_core.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace rekindle::runtime {

/// Memory that Transients are cut from. It may be reused when none of its Transients is held anymore and what
/// was queued on the stream up to then has completed.
struct Transient::Chunk {
    Chunk(Buffer of, const StreamCore& stream) : memory(std::move(of)), core(stream) {}

    const Buffer memory;
    const StreamCore& core;
    std::uint64_t used = 0; ///< bytes handed out; guarded by the ring
    bool alone = false;     ///< holds one Transient and is destroyed with it
    std::atomic<std::uint32_t> pins{0};
    std::atomic<std::uint64_t> last_use{0}; ///< the stream's value when a pin was last removed
};

/// Chunks in the order of their use. Thread-safe. In the test modes, whose guards are around allocations,
/// every Transient is its own allocation.
class TransientRing {
  public:
    explicit TransientRing(std::shared_ptr<StreamCore> core);
    /// See Stream::transient.
    Transient take(std::uint64_t bytes);

    static constexpr std::uint64_t chunk_bytes = 256 << 10;
    /// With this many chunks, a stream waits for its work instead of growing.
    static constexpr std::size_t chunks_at_most = 64;

  private:
    Transient::Chunk& with_room(std::uint64_t bytes);
    bool reuse_oldest();
    Transient alone(std::uint64_t bytes);
    std::unique_ptr<Transient::Chunk> make_chunk(std::uint64_t bytes);

    const std::shared_ptr<StreamCore> core_;
    const bool own_allocations_;
    /// Not the core's mutex: the allocator is called with it held, and the allocator calls the core.
    std::mutex mutex_;
    std::deque<std::unique_ptr<Transient::Chunk>> chunks_; ///< blocks are cut from the last one
};

} // namespace rekindle::runtime
