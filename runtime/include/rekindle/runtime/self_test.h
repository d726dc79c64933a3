#pragma once
/// The known-answer test: small kernels with known results, run at the first use of a device and driver
/// build. A feature that gives a wrong answer is disabled, with a warning.

#include <rekindle/kernels/kernel.h>

#include <string>
#include <vector>

namespace rekindle::runtime {

class Device;

struct SelfTestRow {
    std::string name; ///< "subgroup sum, size 32"
    /// absent: the device lacks the property that the row checks for; this is not a failure.
    enum class Outcome { passed, failed, unsupported, absent } outcome{};
    std::string detail; ///< what was expected and found, or why it was not run
    /// Disabled when the row fails or the property is absent; empty: the device is refused.
    kernels::Features disables;
};

class SelfTestResult {
  public:
    std::vector<SelfTestRow> rows;
    bool from_cache = false; ///< run earlier on this device and driver build
    double milliseconds = 0; ///< duration of the run
    /// False when a row that disables no feature failed: the device computes wrong answers.
    bool usable() const;
    kernels::Features disabled() const;
};

/// Runs all rows now, whatever the cache says, and updates the cache. Throws DeviceLost, or Error when it
/// cannot run.
SelfTestResult run_self_test(Device& device);

} // namespace rekindle::runtime
