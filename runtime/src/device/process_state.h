#pragma once
/// Whether this process may still call Vulkan: not after a fork, and not during exit. There is one state per
/// process, because both affect all devices at the same time.

#include <atomic>
#include <chrono>

namespace rekindle::runtime {

enum class ProcessState {
    running,
    forked, ///< child of a process that had opened a device: the parent's threads do not exist here
    ending, ///< exit() has started
};

namespace detail {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): set by handlers of fork and exit
extern std::atomic<ProcessState> process_state;
} // namespace detail

/// Checked before each call that may reach the driver; costs one load.
inline bool vulkan_usable() noexcept {
    return detail::process_state.load(std::memory_order_relaxed) == ProcessState::running;
}
/// Throws Error because the process was forked or is exiting. During exit, it blocks threads other than the
/// exiting one until three seconds after the devices are settled, because they could not handle the Error; by
/// then the process has ended. It blocks without holding a lock that process exit needs.
void throw_if_unusable();
inline void require_usable() {
    if (!vulkan_usable())
        throw_if_unusable();
}

/// Declares that the calling thread handles the Error of throw_if_unusable(), which then throws at once
/// instead of blocking it. Threads that the exiting thread waits for must call this, or the two wait for each
/// other.
void this_thread_handles_exit() noexcept;

/// For on_exit: ends the process immediately with its status, without running the remaining handlers.
/// Buffered output is flushed.
[[noreturn]] void end_without_handlers(int status, void*);

/// Something that may have work on a device when the process exits.
class SettledAtExit {
  public:
    /// Waits for the submitted work to end, at most until `until`, and saves what should outlive the process,
    /// even if work is still running. Returns false if work may still be running or the device is lost.
    virtual bool settle(std::chrono::steady_clock::time_point until) noexcept = 0;

  protected:
    ~SettledAtExit() = default;
};

/// Handles forks and process exit from now on, and settles `device` at exit. If its work does not end within
/// five seconds, the driver's own handlers, which may wait for it forever, do not run. Call it once the
/// driver is loaded, so that this handler runs before the driver's own. If the main thread has called it and
/// later calls exit(), the device is settled before any handler of exit() runs.
void watch_process(SettledAtExit& device);
void forget_device(SettledAtExit& device) noexcept;

} // namespace rekindle::runtime
