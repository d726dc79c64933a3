#pragma once
/// The state of an Event. Private to the library.

#include "vulkan_device.h"

#include <rekindle/runtime/stream.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace rekindle::runtime {

class StreamCore;

struct Event::State {
    State(std::shared_ptr<StreamCore> of, std::uint64_t at) : core(std::move(of)), value(at) {}

    const std::shared_ptr<StreamCore> core;
    const std::uint64_t value; ///< on the stream's timeline
    bool timing = false;
    /// In ticks of the queue; valid only if `resolved`.
    std::uint64_t ticks = 0;
    std::atomic<bool> resolved{false};
};

} // namespace rekindle::runtime
