#include "stream/event.h"

#include "stream/synchronizations.h"

#include <algorithm>

namespace rekindle::runtime {

Dependency::Dependency(std::shared_ptr<EventSource> of, std::uint64_t at, std::span<const Access> ranges)
    : source(std::move(of)), value(at) {
    for (const Access& range : ranges)
        memory_.insert(range.begin.address, range.bytes);
}

bool Dependency::concerns(std::span<const Access> ranges) const {
    return std::ranges::any_of(
        ranges, [this](const Access& range) { return memory_.overlaps(range.begin.address, range.bytes); });
}

bool Event::done() const {
    require_usable();
    return !state_ || state_->source->completed() >= state_->value;
}

bool Event::submit() const {
    require_usable();
    if (!state_)
        return true;
    state_->source->flush_to(state_->value);
    return state_->source->submitted_to(state_->value);
}

void Event::wait() const {
    if (!state_)
        return;
    ++counted_synchronizations().waits;
    state_->source->wait_and_collect(state_->value);
}

double Event::seconds_since(const Event& earlier) const {
    for (const Event* event : {this, &earlier}) {
        if (!event->state_ || !event->state_->timing)
            throw Error("cannot measure the time between events: an event was recorded without timing");
        if (!event->done())
            throw Error("cannot measure the time between events: an event is not done");
        if (!event->state_->resolved.load(std::memory_order_acquire))
            event->state_->source->gather();
    }
    VulkanDevice& device = state_->source->device();
    if (&device != &earlier.state_->source->device())
        throw Error("cannot measure the time between events of different devices");
    // Ticks wrap around at the queue's valid bits; the shorter direction is the right one.
    const std::uint32_t unused = 64 - device.compute_queue().timestamp_bits;
    const auto ticks = static_cast<std::int64_t>((state_->ticks - earlier.state_->ticks) << unused) >> unused;
    return static_cast<double>(ticks) * device.info().can.timestamp_period_ns * 1e-9;
}

} // namespace rekindle::runtime
