#pragma once
/// How a device gets its self-test result.

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/self_test.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::runtime {

/// Runs all rows on the device. `wrong_answer` is asked before the results of each row are checked; where it
/// returns true, one bit of them is flipped.
SelfTestResult run_known_answers(Device& device, const std::function<bool()>& wrong_answer);

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

/// "float16 arithmetic: a + b of item 3 is 1, not 2; …", for the rows that failed.
std::string failures_of(const SelfTestResult& result);
/// One line for each row that failed, with the consequence, for the log.
std::vector<std::string> warnings_of(const SelfTestResult& result, const std::string& device_name);

} // namespace rekindle::runtime
