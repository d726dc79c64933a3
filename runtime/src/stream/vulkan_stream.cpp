#include "device/hexadecimal.h"
#include "stream/event.h"
#include "stream/stream_core.h"
#include "stream/synchronizations.h"
#include "stream/transient.h"

#include <rekindle/foundation/text.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

namespace rekindle::runtime {

namespace {

/// The largest upload that is embedded in the command buffer instead of going through staging memory.
constexpr std::size_t largest_update = 4096;

Queue& queue_of(VulkanDevice& device, StreamQueue queue) {
    if (queue == StreamQueue::main)
        return device.compute_queue();
    Queue* const copies =
        queue == StreamQueue::copies ? device.transfer_queue(device.next_copy_stream_number()) : nullptr;
    return copies != nullptr ? *copies : device.second_compute_queue();
}

class VulkanStream final : public TimelineStream {
  public:
    VulkanStream(const StreamParts& parts, const StreamOptions& options)
        : core_(std::make_shared<StreamCore>(parts, queue_of(parts.device, options.queue), options)),
          device_(core_->device()), transients_(core_) {
        device_.add_timeline(core_);
    }
    ~VulkanStream() override {
        core_->close();
        // The process is ending: leaks the core, because threads that were stopped midway may still hold its
        // locks.
        if (!vulkan_usable())
            new std::shared_ptr<StreamCore>(core_); // NOLINT(bugprone-unhandled-exception-at-new)
    }
    VulkanStream(const VulkanStream&) = delete;
    VulkanStream& operator=(const VulkanStream&) = delete;

    void launch(const kernels::Kernel& kernel, Groups groups, std::span<const std::byte> parameters,
                std::span<const Access> accesses, std::span<const kernels::ConstantValue> constants,
                double expected_seconds) override;
    void launch(const Pipeline& pipeline, Groups groups, std::span<const std::byte> parameters,
                std::span<const Access> accesses, double expected_seconds) override;
    Transient transient(std::uint64_t bytes) override { return transients_.take(bytes); }
    void copy(DevicePointer to, DevicePointer from, std::uint64_t bytes) override;
    void upload(DevicePointer to, std::span<const std::byte> from) override;
    void download(std::span<std::byte> to, DevicePointer from) override;
    void fill(DevicePointer to, std::uint64_t bytes, std::uint32_t word) override;
    Event record(bool timing) override { return Event(core_->record(timing)); }
    std::vector<Event> record_uses(std::span<const Access> ranges) override;
    void wait(const Event& event) override;
    void flush() override { core_->flush(); }
    void synchronize() override;
    std::uint32_t number() const noexcept override { return core_->number(); }

    const std::shared_ptr<StreamTimeline>& timeline() const noexcept override { return timeline_; }

  private:
    void check_groups(const kernels::Kernel& kernel, Groups groups) const;
    void put_without_poison(const Pipeline& pipeline, Groups groups, std::span<const std::byte> parameters,
                            std::span<const Access> accesses, double expected_seconds);
    /// Returns whether the device is still executing work on the main queue. Work that the host has not
    /// submitted yet does not count, because a copy cannot slow it down.
    bool main_queue_is_busy() const;
    void copy_on(StreamCore& core, DevicePointer to, DevicePointer from, std::uint64_t bytes);
    /// Through staging memory, as work of `core`.
    void upload_on(StreamCore& core, DevicePointer to, std::span<const std::byte> from);
    void wait_for_all();

    const std::shared_ptr<StreamCore> core_;
    const std::shared_ptr<StreamTimeline> timeline_{core_}; ///< the same object
    VulkanDevice& device_;
    TransientRing transients_;
};

Access reading(DevicePointer begin, std::uint64_t bytes) {
    return {{without_poison(begin.address)}, bytes, false};
}
Access writing(DevicePointer begin, std::uint64_t bytes) {
    return {{without_poison(begin.address)}, bytes, true};
}

void VulkanStream::check_groups(const kernels::Kernel& kernel, Groups groups) const {
    const auto& most = device_.limits().maxComputeWorkGroupCount;
    if (groups.x > most[0] || groups.y > most[1] || groups.z > most[2])
        throw Error("launch of " + std::string(kernel.name) + ": " + std::to_string(groups.x) + " x " +
                    std::to_string(groups.y) + " x " + std::to_string(groups.z) + " workgroups; " +
                    device_.info().name + " allows at most " + std::to_string(most[0]) + " x " +
                    std::to_string(most[1]) + " x " + std::to_string(most[2]));
}

void VulkanStream::launch(const kernels::Kernel& kernel, Groups groups, std::span<const std::byte> parameters,
                          std::span<const Access> accesses, std::span<const kernels::ConstantValue> constants,
                          double expected_seconds) {
    device_.throw_if_lost();
    launch(core_->pipelines().request(kernel, constants), groups, parameters, accesses, expected_seconds);
}

void VulkanStream::launch(const Pipeline& pipeline, Groups groups, std::span<const std::byte> parameters,
                          std::span<const Access> accesses, double expected_seconds) {
    device_.throw_if_lost();
    const kernels::Kernel& kernel = *pipeline.kernel;
    if (core_->options().queue == StreamQueue::copies)
        throw Error("launch of " + std::string(kernel.name) + ": this stream only copies");
    if (parameters.size() != kernel.parameter_bytes)
        throw Error("launch of " + std::string(kernel.name) + ": its parameters have " +
                    counted(kernel.parameter_bytes, "byte") + ", not " + std::to_string(parameters.size()));
    check_groups(kernel, groups);
    if (device_.test_mode().poison)
        put_without_poison(pipeline, groups, parameters, accesses, expected_seconds);
    else
        core_->put(pipeline, groups, parameters, accesses, expected_seconds);
}

void VulkanStream::put_without_poison(const Pipeline& pipeline, Groups groups,
                                      std::span<const std::byte> parameters, std::span<const Access> accesses,
                                      double expected_seconds) {
    std::array<std::byte, 128> stripped;
    std::copy(parameters.begin(), parameters.end(), stripped.begin());
    const std::span block(stripped.data(), parameters.size());
    core_->allocator().strip_poison(block);
    std::vector<Access> plain(accesses.begin(), accesses.end());
    for (Access& a : plain) {
        if (a.bytes != 0 && a.begin.address == without_poison(a.begin.address)) [[unlikely]]
            throw Error("launch of " + std::string(pipeline.kernel->name) + ": address " +
                        hexadecimal(a.begin.address) +
                        " has no poison bit, so it does not come from this device's allocator");
        a.begin.address = without_poison(a.begin.address);
    }
    core_->put(pipeline, groups, block, plain, expected_seconds);
}

void VulkanStream::copy(DevicePointer to, DevicePointer from, std::uint64_t bytes) {
    device_.throw_if_lost();
    const std::uint64_t source = without_poison(from.address), target = without_poison(to.address);
    if (source < target ? target - source < bytes : source - target < bytes)
        throw Error("copy of " + counted(bytes, "byte") + " between overlapping ranges");
    copy_on(*core_, to, from, bytes);
}

bool VulkanStream::main_queue_is_busy() const {
    return std::ranges::any_of(device_.timelines(), [](const std::shared_ptr<StreamTimeline>& timeline) {
        const auto* const core = dynamic_cast<const StreamCore*>(timeline.get());
        return core != nullptr && core->options().queue == StreamQueue::main &&
               core->completed() < core->submitted();
    });
}

void VulkanStream::copy_on(StreamCore& core, DevicePointer to, DevicePointer from, std::uint64_t bytes) {
    if (bytes == 0)
        return;
    const BufferLocation out = core_->allocator().locate(from, bytes);
    const BufferLocation in = core_->allocator().locate(to, bytes);
    const StreamOptions& options = core.options();
    const bool to_host = out.kind == MemoryKind::device && in.kind != MemoryKind::device;
    const std::uint64_t most = to_host && options.queue == StreamQueue::copies && main_queue_is_busy()
                                   ? options.piece_bytes_beside_kernels
                                   : options.piece_bytes;
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t piece = std::min(bytes - done, most);
        core.put(Copy{out.buffer, in.buffer, out.offset + done, in.offset + done, piece},
                 std::array{reading(from + done, piece), writing(to + done, piece)});
        done += piece;
    }
}

void VulkanStream::fill(DevicePointer to, std::uint64_t bytes, std::uint32_t word) {
    device_.throw_if_lost();
    if (bytes % 4 != 0 || to.address % 4 != 0)
        throw Error("fill of " + counted(bytes, "byte") + ": address and size must be multiples of 4");
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t piece = std::min(bytes - done, core_->options().piece_bytes);
        const BufferLocation in = core_->allocator().locate(to + done, piece);
        core_->put(Fill{in.buffer, in.offset, piece, word}, std::array{writing(to + done, piece)});
        done += piece;
    }
}

void VulkanStream::upload(DevicePointer to, std::span<const std::byte> from) {
    device_.throw_if_lost();
    if (from.size() <= largest_update && from.size() % 4 == 0 && to.address % 4 == 0) {
        if (from.empty())
            return;
        const BufferLocation in = core_->allocator().locate(to, from.size());
        core_->put(Update{in.buffer, in.offset, from}, std::array{writing(to, from.size())});
        return;
    }
    const bool large = from.size() >= core_->options().large_upload_bytes;
    const auto lane = large ? core_->upload_lane(writing(to, from.size())) : nullptr;
    if (!lane) {
        upload_on(*core_, to, from);
        return;
    }
    // Also after a failure in the middle: the memory must not be reused before the pieces in flight are done.
    const auto join = [&] {
        // Read once: other threads upload through the lane, too, and what they have not submitted must not
        // hold this stream back.
        const std::uint64_t uploaded = lane->queued();
        lane->flush_to(uploaded);
        core_->wait_for({lane, uploaded});
    };
    try {
        upload_on(*lane, to, from);
    } catch (const DeviceLost&) {
        throw;
    } catch (...) {
        join();
        throw;
    }
    join();
}

void VulkanStream::upload_on(StreamCore& core, DevicePointer to, std::span<const std::byte> from) {
    // While the device copies one piece, the host fills the next.
    constexpr std::size_t pieces_under_way = 4;
    std::deque<std::uint64_t> under_way;
    for (std::size_t done = 0; done < from.size();) {
        const std::size_t piece = std::min<std::size_t>(from.size() - done, core.options().staging_bytes);
        if (under_way.size() == pieces_under_way) {
            core.wait(under_way.front());
            under_way.pop_front();
            core_->allocator().collect();
        }
        const Buffer staging = core_->allocator().allocate(piece, MemoryKind::upload);
        std::memcpy(staging.host().data(), from.data() + done, piece);
        copy_on(core, to + done, staging.pointer(), piece);
        done += piece;
        if (done < from.size()) {
            under_way.push_back(core.queued());
            core.flush();
        }
    }
}

void VulkanStream::download(std::span<std::byte> to, DevicePointer from) {
    device_.throw_if_lost();
    ++counted_synchronizations().downloads;
    struct Piece {
        Buffer staging;
        std::span<std::byte> target;
        std::uint64_t value;
    };
    // While the host copies one piece out, the device copies the next one in.
    std::deque<Piece> under_way;
    const auto take = [&] {
        const Piece& piece = under_way.front();
        core_->wait(piece.value);
        std::memcpy(piece.target.data(), piece.staging.host().data(), piece.target.size());
        under_way.pop_front();
    };
    for (std::size_t done = 0; done < to.size();) {
        const std::size_t bytes = std::min<std::size_t>(to.size() - done, core_->options().staging_bytes);
        Piece piece{core_->allocator().allocate(bytes, MemoryKind::readback), to.subspan(done, bytes), 0};
        copy(piece.staging.pointer(), from + done, bytes);
        piece.value = core_->queued();
        core_->flush();
        under_way.push_back(std::move(piece));
        done += bytes;
        if (under_way.size() == 2)
            take();
    }
    while (!under_way.empty())
        take();
    wait_for_all();
}

std::vector<Event> VulkanStream::record_uses(std::span<const Access> ranges) {
    return core_->record_uses(without_poison(ranges));
}

void VulkanStream::wait(const Event& event) {
    device_.throw_if_lost();
    if (!event.state())
        return;
    const std::shared_ptr<EventSource>& other = event.state()->source;
    if (other == core_)
        return;
    // Devices cannot wait for each other's semaphores.
    if (&other->device() != &device_) {
        event.wait();
        return;
    }
    // Submitted before this stream's work, because the two may share a queue.
    other->flush_to(event.state()->value);
    if (core_->submits_at_barriers())
        other->await_submit(event.state()->value);
    core_->wait_for(*event.state());
}

void VulkanStream::synchronize() {
    ++counted_synchronizations().waits;
    wait_for_all();
}

void VulkanStream::wait_for_all() {
    core_->wait_and_collect(core_->queued());
}

} // namespace

std::unique_ptr<Stream> make_stream(const StreamParts& parts, const StreamOptions& options) {
    return std::make_unique<VulkanStream>(parts, options);
}

} // namespace rekindle::runtime
