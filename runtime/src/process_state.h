#pragma once
/// Whether this process may still call Vulkan: not after a fork, not when it ends. One state for the process,
/// because both come to all devices at once and from outside.

#include <atomic>

namespace rekindle::runtime {

class VulkanDevice;

enum class ProcessState {
    running,
    forked, ///< a child of a process that had opened a device: its threads and locks are not here
    ending, ///< exit() has begun
};

namespace detail {
extern std::atomic<ProcessState> process_state;
}

/// For each call that may lead to the driver; costs a load.
inline bool vulkan_usable() noexcept {
    return detail::process_state.load(std::memory_order_relaxed) == ProcessState::running;
}
/// Throws Error because the process was forked or ends. When it ends, threads other than the one that ends it
/// are kept until devices are settled and three seconds more, within which the process goes: they would not
/// know what to do with the Error. No lock is held that the end of the process needs.
void throw_if_unusable();
inline void require_usable() {
    if (!vulkan_usable())
        throw_if_unusable();
}

/// For on_exit: ends the process at once, with its status, without the handlers that are left. What the
/// process wrote is flushed.
[[noreturn]] void end_without_handlers(int status, void*);

/// From now on forks and the end of the process are looked for, and what `device` has submitted is waited for
/// at the end; where it does not end within seconds, the driver's own handlers, which may wait for it without
/// a limit, do not run. Called when the driver is loaded, so that the end is seen before the driver's own.
void watch_process(VulkanDevice& device);
void forget_device(VulkanDevice& device) noexcept;

} // namespace rekindle::runtime
