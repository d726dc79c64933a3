#pragma once
/// Asks whether the device has reached an event.

#include <rekindle/runtime/stream.h>

namespace rvk {

/// Returns whether the device has reached the event. Submits the event's work first: callers ask until the
/// answer is true, and nothing else may submit the work.
inline bool is_reached(const rekindle::runtime::Event& event) {
    event.submit();
    return event.done();
}

} // namespace rvk
