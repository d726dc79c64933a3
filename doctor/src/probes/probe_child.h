#pragma once
/// The child's side of a probe that is not Python: its request and its answers.

#include <rekindle/doctor/probe.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The first argument that turns the program into a probe.
constexpr std::string_view probe_option = "--rekindle-probe";

/// "--rekindle-probe NAME key=value …"; a key may occur more than once.
struct ProbeRequest {
    std::string name;
    std::multimap<std::string, std::string> parameters;

    /// The first value of that key, "" when there is none.
    std::string first(const std::string& key) const;
    std::vector<std::string> all(const std::string& key) const;
    int number(const std::string& key) const; ///< 0 when there is none
    int device() const { return number("device"); }
};

/// Writes lines to a descriptor as soon as they are known: the process may die in the next library call.
class ProbeReport {
  public:
    ProbeReport(int descriptor, std::string id) : descriptor_(descriptor), id_(std::move(id)) {}

    /// Reports what is tried next.
    void at(std::string_view step) const;
    /// The result to fill in; its id is that of the probe.
    ProbeResult result(std::string device = {}) const;
    void passed(ProbeResult result) const;
    void failed(ProbeResult result, std::string reason, std::string code = {}) const;
    void skipped(ProbeResult result, std::string reason, std::string code = {}) const;
    /// Enters the number of devices into the host's result; once all of them are described, reports that the
    /// host passed, then each device.
    void passed_with_devices(ProbeResult& host, int count,
                             const std::function<ProbeResult(int)>& describe) const;

  private:
    void write(std::string line) const;
    int descriptor_;
    std::string id_;
};

void probe_vulkan_devices(const ProbeRequest& request, const ProbeReport& report);
void probe_vulkan_self_test(const ProbeRequest& request, const ProbeReport& report);
void probe_hip_init(const ProbeRequest& request, const ProbeReport& report);
void probe_blas_handle(const ProbeRequest& request, const ProbeReport& report);
void probe_hiprtc_vector_add(const ProbeRequest& request, const ProbeReport& report);
void probe_rccl(const ProbeRequest& request, const ProbeReport& report);
void probe_cuda_driver(const ProbeRequest& request, const ProbeReport& report);
/// Reads every NVIDIA GPU through NVML until this process is killed. Each sample is one result for each GPU,
/// then one without a device. "interval": milliseconds between samples; "library": NVML's path or name.
void probe_nvml_readings(const ProbeRequest& request, const ProbeReport& report);
void probe_cuda_vector_add(const ProbeRequest& request, const ProbeReport& report);

} // namespace rekindle::doctor
