#pragma once
/// Reports the progress of the driver's compiler to a user who is waiting for it.

#include <rekindle/runtime/device.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

namespace rekindle::runtime {

/// Counts the pipelines of one period of compiling: from a request while none is outstanding until none is
/// outstanding again. Thread-safe.
class CompileProgress {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds silent{2000}, between_reports{100};

    explicit CompileProgress(CompileProgressCallback report) : report_(std::move(report)) {}

    void requested(Clock::time_point now);
    /// A requested pipeline is compiled, or the driver has refused it.
    void ended(Clock::time_point now);

  private:
    const CompileProgressCallback report_;
    std::mutex mutex_;
    std::uint32_t requested_ = 0, ended_ = 0;
    Clock::time_point begin_{}, last_report_{};
    bool reported_ = false;
};

} // namespace rekindle::runtime
