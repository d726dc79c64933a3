#pragma once
/// The parent's side: turns tasks into results, whatever the children do.

#include "probes/child_process.h"

#include <rekindle/doctor/probe.h>

#include <string>
#include <vector>

namespace rekindle::doctor {

/// One child of the program itself.
struct ProbeTask {
    std::string id;
    std::string device{};                             ///< as ProbeResult::device
    std::vector<std::string> parameters{};            ///< "key=value" for the child
    std::map<std::string, std::string> environment{}; ///< for the child, in addition to ours
    int patience = 1;                                 ///< how many deadlines each of its steps may take
};

/// Results in the order in which they were requested.
class ProbeSession {
  public:
    ProbeSession(const Facts& facts, const ProbeOptions& options) : facts_(facts), options_(options) {}

    const Facts& facts() const noexcept { return facts_; }
    const ProbeOptions& options() const noexcept { return options_; }

    void add(ProbeResult result) { results_.push_back(std::move(result)); }
    void skip(std::string id, std::string device, std::string reason);
    /// Runs them at the same time. Every task has at least one result.
    void run(const std::vector<ProbeTask>& tasks);
    const std::vector<ProbeResult>& results() const noexcept { return results_; }
    std::vector<ProbeResult> take_results() { return std::move(results_); }
    /// The results of a probe that are about a device.
    std::vector<ProbeResult> devices_of(const std::string& id) const;

  private:
    const Facts& facts_;
    const ProbeOptions& options_;
    std::vector<ProbeResult> results_;
};

/// Fills in what the end of a child says about the probe that was in progress. `step`: what it did last, ""
/// when unknown.
void conclude(ProbeResult& result, const ChildOutcome& outcome, const std::string& step,
              std::chrono::milliseconds deadline);

/// Bytes of VRAM in use on the GPU with that address, from sysfs; "" if the facts had none or it cannot be
/// read.
std::string vram_in_use(const Facts& facts, const std::string& address);

} // namespace rekindle::doctor
