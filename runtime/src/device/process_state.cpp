#include "device/process_state.h"

#include <rekindle/runtime/error.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rekindle::runtime {

namespace detail {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a fork handler takes no user data
std::atomic<ProcessState> process_state{ProcessState::running};
} // namespace detail

namespace {

/// Never destroyed: static objects that close devices may be destroyed later.
struct OpenDevices {
    std::mutex mutex;
    std::vector<SettledAtExit*> devices;
    std::thread::id ended_by;
    bool gave_up = false; ///< work was still running after five seconds; the process waits for it only once

    /// Waits for the work of all devices and returns whether it has ended. The caller has locked `mutex`.
    bool settle() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(gave_up ? 0 : 5);
        bool settled = true;
        for (SettledAtExit* const device : devices)
            settled = device->settle(until) && settled;
        gave_up = !settled;
        return settled;
    }

    static OpenDevices& all() {
        // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
        static OpenDevices& known = *new OpenDevices;
        return known;
    }
};

thread_local constinit bool handles_exit = false;

extern "C" void rekindle_after_fork() {
    detail::process_state.store(ProcessState::forked, std::memory_order_relaxed);
}

extern "C" void rekindle_at_exit(int status, void*) {
    if (!vulkan_usable())
        return;
    OpenDevices& open = OpenDevices::all();
    const std::scoped_lock lock(open.mutex);
    open.ended_by = std::this_thread::get_id();
    detail::process_state.store(ProcessState::ending, std::memory_order_release);
    // The driver's own handlers run next. They may wait forever for a device that hangs.
    if (!open.settle())
        end_without_handlers(status, nullptr);
    // Gives other threads time to return from the driver.
    if (!open.devices.empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

/// Waits for the work of all devices when the main thread calls exit(). rekindle_at_exit alone would come too
/// late: a driver's compiler creates static objects when it first compiles, which is after rekindle_at_exit
/// was registered, so exit() destroys them before it calls rekindle_at_exit, and a compiler that is still
/// running crashes. exit() destroys the thread-local objects of its thread before anything else.
struct EndOfMainThread {
    EndOfMainThread() = default;
    EndOfMainThread(const EndOfMainThread&) = delete;
    EndOfMainThread& operator=(const EndOfMainThread&) = delete;
    ~EndOfMainThread() {
        if (!vulkan_usable() || ::gettid() != ::getpid())
            return;
        OpenDevices& open = OpenDevices::all();
        const std::scoped_lock lock(open.mutex);
        open.settle();
    }
};

} // namespace

void end_without_handlers(int status, void*) {
    std::fflush(nullptr);
    ::_exit(status);
}

void this_thread_handles_exit() noexcept {
    handles_exit = true;
}

void throw_if_unusable() {
    const ProcessState state = detail::process_state.load(std::memory_order_acquire);
    if (state == ProcessState::running)
        return;
    if (state == ProcessState::forked)
        throw Error(
            "this process was forked after Vulkan was opened, and Vulkan does not survive a fork",
            "start worker processes before the first use of the device, or use spawn instead of fork");
    OpenDevices& open = OpenDevices::all();
    if (!handles_exit && std::this_thread::get_id() != open.ended_by) {
        {
            const std::scoped_lock until_settled(open.mutex);
        }
        std::this_thread::sleep_for(std::chrono::seconds(3));
    }
    throw Error("the process is exiting: its Vulkan devices are closed");
}

void watch_process(SettledAtExit& device) {
    static const bool watching = [] {
        return ::pthread_atfork(nullptr, nullptr, rekindle_after_fork) == 0 &&
               ::on_exit(rekindle_at_exit, nullptr) == 0;
    }();
    if (!watching)
        throw Error("pthread_atfork or on_exit: out of memory");
    static thread_local const EndOfMainThread settles_devices;
    OpenDevices& open = OpenDevices::all();
    const std::scoped_lock lock(open.mutex);
    open.devices.push_back(&device);
}

void forget_device(SettledAtExit& device) noexcept {
    if (!vulkan_usable())
        return;
    OpenDevices& open = OpenDevices::all();
    const std::scoped_lock lock(open.mutex);
    std::erase(open.devices, &device);
}

} // namespace rekindle::runtime
