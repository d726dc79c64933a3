#include "stream/transient.h"

#include "memory/blocks.h"

#include <algorithm>
#include <utility>

namespace rekindle::runtime {

namespace {

constexpr std::uint64_t alignment = 16;

} // namespace

void Transient::Unpin::operator()(Chunk* chunk) const noexcept {
    if (chunk->alone) {
        delete chunk; // NOLINT(cppcoreguidelines-owning-memory): this is the deleter of its owner
        return;
    }
    const std::uint64_t queued = chunk->core.queued();
    std::uint64_t before = chunk->last_use.load(std::memory_order_relaxed);
    while (before < queued &&
           !chunk->last_use.compare_exchange_weak(before, queued, std::memory_order_relaxed)) {
    }
    chunk->pins.fetch_sub(1, std::memory_order_release);
}

TransientRing::TransientRing(std::shared_ptr<StreamCore> core)
    : core_(std::move(core)),
      own_allocations_(core_->device().test_mode().poison || core_->device().test_mode().guard_pages) {}

Transient TransientRing::take(std::uint64_t bytes) {
    core_->device().throw_if_lost();
    if (bytes > Stream::largest_transient)
        throw Error("a transient block of " + std::to_string(bytes) + " bytes; the limit is " +
                    std::to_string(Stream::largest_transient));
    if (own_allocations_)
        return alone(bytes);
    const std::uint64_t size = round_up(std::max<std::uint64_t>(bytes, 1), alignment);
    const std::scoped_lock lock(mutex_);
    Transient::Chunk& chunk = with_room(size);
    const std::uint64_t begin = std::exchange(chunk.used, chunk.used + size);
    chunk.pins.fetch_add(1, std::memory_order_relaxed);
    return {chunk.memory.host().subspan(begin, bytes), chunk.memory.pointer() + begin,
            std::unique_ptr<Transient::Chunk, Transient::Unpin>(&chunk)};
}

Transient::Chunk& TransientRing::with_room(std::uint64_t bytes) {
    if (!chunks_.empty() && chunks_.back()->used + bytes <= chunk_bytes)
        return *chunks_.back();
    if (!reuse_oldest())
        chunks_.push_back(make_chunk(chunk_bytes));
    return *chunks_.back();
}

/// Makes the unpinned chunk that was used longest ago the current one. False if a new chunk is needed
/// instead.
bool TransientRing::reuse_oldest() {
    const auto oldest = std::ranges::find_if(
        chunks_, [](const auto& chunk) { return chunk->pins.load(std::memory_order_acquire) == 0; });
    if (oldest == chunks_.end())
        return false;
    const std::uint64_t value = (*oldest)->last_use.load(std::memory_order_relaxed);
    if (core_->completed() < value) {
        if (chunks_.size() < chunks_at_most)
            return false;
        core_->wait(value);
    }
    std::unique_ptr<Transient::Chunk> chunk = std::move(*oldest);
    chunks_.erase(oldest);
    chunk->used = 0;
    chunk->last_use.store(0, std::memory_order_relaxed);
    chunks_.push_back(std::move(chunk));
    return true;
}

Transient TransientRing::alone(std::uint64_t bytes) {
    std::unique_ptr<Transient::Chunk> chunk = make_chunk(bytes);
    chunk->alone = true;
    return {chunk->memory.host(), chunk->memory.pointer(),
            std::unique_ptr<Transient::Chunk, Transient::Unpin>(chunk.release())};
}

std::unique_ptr<Transient::Chunk> TransientRing::make_chunk(std::uint64_t bytes) {
    return std::make_unique<Transient::Chunk>(
        core_->allocator().allocate_on(bytes, MemoryKind::parameters, core_), *core_);
}

} // namespace rekindle::runtime
