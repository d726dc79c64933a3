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

/// For each call that may reach the driver; costs one load.
inline bool vulkan_usable() noexcept {
    return detail::process_state.load(std::memory_order_relaxed) == ProcessState::running;
}
/// Throws Error because the process was forked or is exiting. During exit, threads other than the exiting one
/// are blocked until the devices are settled and three seconds longer, by which time the process has ended:
/// they could not handle the Error. No lock is held that process exit needs.
void throw_if_unusable();
inline void require_usable() {
    if (!vulkan_usable())
        throw_if_unusable();
}

/// For on_exit: ends the process immediately with its status, without running the remaining handlers.
/// Buffered output is flushed.
[[noreturn]] void end_without_handlers(int status, void*);

/// Something that has work on a device when the process exits.
class SettledAtExit {
  public:
    /// Waits until what was submitted has ended, at most until `until`, and saves what is worth saving.
    /// Returns false if work may still be running or the device is lost.
    virtual bool settle(std::chrono::steady_clock::time_point until) noexcept = 0;

  protected:
    ~SettledAtExit() = default;
};

/// From now on, forks and process exit are handled, and `device` is settled at exit. If its work does not end
/// within seconds, the driver's own handlers, which may wait for it without a limit,
/// do not run. Called when the driver is loaded, so that this handler runs before the driver's own.
void watch_process(SettledAtExit& device);
void forget_device(SettledAtExit& device) noexcept;

} // namespace rekindle::runtime
