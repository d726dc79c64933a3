#pragma once
/// How a device gets its self-test result.

#include "vulkan_device.h"

#include <rekindle/runtime/self_test.h>

#include <filesystem>
#include <optional>

namespace rekindle::runtime {

/// Runs all rows on the device. TestMode::Fault::wrong_answer flips one bit of one row's results.
SelfTestResult run_known_answers(VulkanDevice& device);

/// Where results are kept: one file per device and driver build, used only for the same program version,
/// kernels and capabilities.
class SelfTestCache {
  public:
    SelfTestCache(const DeviceInfo& device, const std::filesystem::path& folder);
    /// Nothing if there is no result for exactly this combination. Throws Error when the file is damaged.
    std::optional<SelfTestResult> read() const;
    /// Throws Error.
    void write(const SelfTestResult& result) const;
    const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
    std::string key_;
};

/// From the cache; otherwise runs the test and saves its result. Wrong answers are logged each time.
SelfTestResult self_test_of(VulkanDevice& device);

/// "float16 arithmetic: a + b of item 3 is 1, not 2; …", for the rows that failed.
std::string failures_of(const SelfTestResult& result);

} // namespace rekindle::runtime
