#include "bridge.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <utility>

namespace rvk {

namespace {

/// Bytes of a piece: large enough to reach the link's full rate, small enough that reading and writing
/// overlap.
constexpr std::uint64_t piece_bytes = 4ull << 20;
constexpr std::size_t piece_count = 4;
/// How many pieces the source device may copy ahead of the target device.
constexpr std::size_t most_ahead = 2;

/// Anonymous pages of the host.
std::shared_ptr<std::byte> pages(std::size_t bytes) {
    void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED)
        throw runtime::OutOfMemory("no " + std::to_string(bytes >> 20) +
                                   " MiB of host memory for copies between devices");
    return {static_cast<std::byte*>(begin), [bytes](std::byte* p) { ::munmap(p, bytes); }};
}

} // namespace

/// Pieces of host memory that copies use in turn. Both devices access each piece: through the same pages if
/// both drivers can import them; otherwise each device has its own block, and the CPU copies from one to the
/// other.
struct Bridge::Pieces {
    struct Piece {
        runtime::Buffer source, target;
        runtime::Event read; ///< the target's device has read the piece, which can be written again
    };

    std::mutex mutex;
    std::array<Piece, piece_count> ring;
    std::size_t used = 0;
    bool shared = false;

    Pieces(DeviceIndex from, DeviceIndex to) {
        runtime::Allocator &source = device(from).allocator(), &target = device(to).allocator();
        shared = std::all_of(ring.begin(), ring.end(),
                             [&](Piece& piece) { return import(piece, source, target); });
        if (!shared)
            allocate(source, target);
    }

    /// Returns false if a driver cannot import host memory.
    static bool import(Piece& piece, runtime::Allocator& from, runtime::Allocator& to) {
        const std::shared_ptr<std::byte> memory = pages(piece_bytes);
        const std::span<std::byte> bytes(memory.get(), piece_bytes);
        try {
            piece.source = from.import_pages(bytes, memory);
            piece.target = to.import_pages(bytes, memory);
        } catch (const runtime::Unsupported&) {
            return false;
        }
        return true;
    }
    void allocate(runtime::Allocator& from, runtime::Allocator& to) {
        for (Piece& piece : ring)
            piece = {from.allocate(piece_bytes, runtime::MemoryKind::readback),
                     to.allocate(piece_bytes, runtime::MemoryKind::upload),
                     {}};
    }
};

Bridge& Bridge::between(DeviceIndex from, DeviceIndex to) {
    static auto* const mutex = new std::mutex; // copies may happen while static objects are destroyed
    static auto* const bridges = new std::map<std::pair<DeviceIndex, DeviceIndex>, std::unique_ptr<Bridge>>;
    const std::lock_guard lock(*mutex);
    std::unique_ptr<Bridge>& bridge = (*bridges)[{from, to}];
    if (!bridge)
        bridge.reset(new Bridge(from, to));
    return *bridge;
}

Bridge::Bridge(DeviceIndex from, DeviceIndex to)
    : from_(from), to_(to), pieces_(std::make_unique<Pieces>(from, to)) {}
Bridge::~Bridge() = default;

void Bridge::copy(runtime::DevicePointer to, runtime::DevicePointer from, std::uint64_t bytes) {
    struct Step {
        Pieces::Piece* piece;
        runtime::Event written; ///< the source's device has written the piece
        std::uint64_t begin, bytes;
    };
    runtime::Stream &reader = current_stream(from_), &writer = current_stream(to_);
    std::deque<Step> ahead;
    const auto pass_on = [&] {
        const Step& step = ahead.front();
        step.written.wait();
        if (!pieces_->shared)
            std::memcpy(step.piece->target.host().data(), step.piece->source.host().data(), step.bytes);
        writer.copy(to + step.begin, step.piece->target.pointer(), step.bytes);
        step.piece->read = writer.record();
        writer.flush();
        ahead.pop_front();
    };
    const std::lock_guard lock(pieces_->mutex);
    for (std::uint64_t begin = 0; begin < bytes; begin += piece_bytes) {
        Pieces::Piece& piece = pieces_->ring[pieces_->used++ % piece_count];
        piece.read.wait();
        const std::uint64_t size = std::min(bytes - begin, piece_bytes);
        reader.copy(piece.source.pointer(), from + begin, size);
        ahead.push_back({&piece, reader.record(), begin, size});
        reader.flush();
        if (ahead.size() > most_ahead)
            pass_on();
    }
    while (!ahead.empty())
        pass_on();
}

} // namespace rvk
