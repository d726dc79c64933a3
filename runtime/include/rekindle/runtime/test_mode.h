#pragma once
/// Test modes that expose defects, read from the environment when a device is opened. No validation layer
/// follows raw pointers, so the tests run with guard pages and random order by default
/// (tests/support/vulkan_test_mode.h).

#include <cstdint>
#include <optional>

namespace rekindle::runtime {

struct TestMode {
    /// REKINDLE_POISON=1: device pointers carry a non-canonical bit that is removed at launch; fresh and
    /// released memory is filled with a pattern of signaling NaNs; 256 bytes around every block are sentinels
    /// that are checked when it is released (a change is an error in the log and makes the process's next
    /// wait throw).
    bool poison = false;
    /// REKINDLE_GUARD_PAGES=1: every allocation ends at a protected page (host memory imported with
    /// VK_EXT_external_memory_host: CPU drivers only). Ranges that a launch only reads are mapped read-only
    /// during the launch.
    bool guard_pages = false;
    /// REKINDLE_RANDOM_ORDER=seed: operations between two barriers are recorded in random order.
    std::optional<std::uint64_t> random_order;
    /// REKINDLE_VALIDATION=1: VK_LAYER_KHRONOS_validation; its messages are errors in the log.
    bool validation = false;
    /// REKINDLE_FAULT=out-of-memory:N | device-lost:N | hang:N | wrong-answer:N | refused-kernel:N: driver
    /// allocation N fails, submit N loses the device, submit N never ends, row N of the self-test (of those
    /// that the device can run) gives a wrong answer, or the driver refuses to compile pipeline N. "N+": N
    /// and all later ones.
    enum class Fault {
        none,
        out_of_memory,
        device_lost,
        hang,
        wrong_answer,
        refused_kernel
    } fault = Fault::none;
    std::uint64_t fault_at = 0;
    bool fault_repeats = false; ///< "N+"
    /// REKINDLE_WATCHDOG_SECONDS: how long a wait may see no progress before the device counts as lost.
    /// Default: 30, or 600 with a CPU driver, which compiles a kernel when it first runs and shares the CPU
    /// with other programs.
    std::optional<double> watchdog_seconds;
    double watchdog(bool cpu_driver) const { return watchdog_seconds.value_or(cpu_driver ? 600 : 30); }
};

/// Throws Error when a variable's value is invalid.
TestMode test_mode_from_environment();

} // namespace rekindle::runtime
