#pragma once
/// A child process that reads NVML at an interval, because a driver's library may hang or crash.

#include "probes/start_child.h"

#include <rekindle/doctor/gpu_monitor.h>
#include <rekindle/doctor/probe.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The child is killed with the object. Not thread-safe.
class NvmlFeed {
  public:
    explicit NvmlFeed(const MonitorOptions& options);
    ~NvmlFeed();
    NvmlFeed(const NvmlFeed&) = delete;
    NvmlFeed& operator=(const NvmlFeed&) = delete;

    /// The newest complete reading of each device. The first call waits for one, at most two seconds.
    const std::vector<ProbeResult>& newest();
    /// Why the newest reading is missing or old; "" if it is neither.
    std::string problem() const;
    /// Whether this host has no NVML at all.
    bool absent() const noexcept { return absent_; }

  private:
    void take_lines();
    void take_line(std::string_view line);
    void wait_for_first();

    std::chrono::milliseconds interval_;
    StartedChild child_;
    std::string unfinished_; ///< the beginning of a line
    std::string step_;       ///< the call that is in progress
    std::string failure_;    ///< why the child ended
    bool absent_ = false;
    bool ended_ = false;
    std::chrono::steady_clock::time_point last_{};
    std::vector<ProbeResult> incoming_;
    std::vector<ProbeResult> newest_;
};

/// Fills in what the feed says about one device.
void read_from_nvml(const ProbeResult& device, GpuReading& reading);
/// The reasons in NVML's bit mask, without those that are not a limit ("idle", settings of the user).
std::vector<std::string> nvml_throttling(unsigned long long mask);

} // namespace rekindle::doctor
