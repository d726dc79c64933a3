#pragma once
/// Reads NVML in a child process, because the library may hang or crash.

#include "probes/start_child.h"

#include <rekindle/doctor/gpu_monitor.h>
#include <rekindle/doctor/probe.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The constructor starts the child, the destructor kills it. Not thread-safe.
class NvmlFeed {
  public:
    explicit NvmlFeed(const MonitorOptions& options);
    ~NvmlFeed();
    NvmlFeed(const NvmlFeed&) = delete;
    NvmlFeed& operator=(const NvmlFeed&) = delete;

    /// The newest complete reading of each device. Until there is one, each call waits up to two seconds for
    /// it.
    const std::vector<ProbeResult>& newest();
    /// Why there is no reading, or only an old one; "" if the newest reading is recent.
    std::string problem() const;
    /// Whether the host has no NVML library.
    bool absent() const noexcept { return absent_; }

  private:
    void take_lines();
    void take_line(std::string_view line);
    void wait_for_first();

    std::chrono::milliseconds interval_;
    StartedChild child_;
    std::string unfinished_; ///< a line whose end has not arrived
    std::string step_;       ///< the NVML call that the child started last
    std::string failure_;    ///< why the child could not start, failed or ended
    bool absent_ = false;
    bool ended_ = false;
    std::chrono::steady_clock::time_point last_{};
    std::vector<ProbeResult> incoming_;
    std::vector<ProbeResult> newest_;
};

/// Fills `reading` with what the child reported for one device.
void read_from_nvml(const ProbeResult& device, GpuReading& reading);
/// Names the reasons in NVML's bit mask. Leaves out "idle" and the user's own clock settings, which are no
/// limits.
std::vector<std::string> nvml_throttling(unsigned long long mask);

} // namespace rekindle::doctor
