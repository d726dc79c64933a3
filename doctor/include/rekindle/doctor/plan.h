#pragma once
/// The plan: remedies for the findings, cheap and reversible first, filled in for this host.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/finding.h>
#include <rekindle/doctor/knowledge.h>
#include <rekindle/doctor/probe.h>

#include <string>
#include <vector>

namespace rekindle::doctor {

/// A remedy with its placeholders filled in.
struct Step {
    std::string id; ///< id of the remedy; what --fix takes
    std::string title;
    std::string why; ///< the cause that it removes, in one sentence
    std::string cause;
    std::string changes;
    std::string where; ///< "" for where the training runs, else "on the host, outside the container"
    std::vector<std::string> commands; ///< none where they are not known for this host
    std::string verify;
    std::string expect;
    std::vector<std::string> undo;
    double minutes = 0;
    std::string risk;
    bool root = false;
    bool reboot = false;
    bool automatic = false; ///< --fix may run its commands, verbatim, with sh -e
    /// Absolute path of the new virtual environment that its commands make; "" for none.
    std::string environment;
};

struct Plan {
    std::vector<Step> steps;                      ///< in the order in which to try them
    std::vector<std::string> remarks;             ///< "/opt/rocm is not used by this wheel: …"
    std::vector<std::string> verification_stages; ///< after a remedy: probe, one batch, one epoch, two GPUs
    std::string stop;                             ///< when to stop and what stopping costs
};

/// Every step fits the host: a remedy whose commands are for another system, vendor, distribution or
/// container is skipped or replaced by its `otherwise`, and so is one whose values are not known. `probes`
/// say what was tried; they are optional.
Plan make_plan(const Facts& facts, const std::vector<Finding>& findings, const Knowledge& knowledge,
               const std::vector<ProbeResult>& probes = {});

} // namespace rekindle::doctor
