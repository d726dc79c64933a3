#pragma once
/// Conclusions from the facts. Rules turn facts, probes and knowledge into findings and never access the
/// host.

#include <map>
#include <string>
#include <vector>

namespace rekindle::doctor {

enum class Severity {
    note,    ///< worth knowing; nothing is wrong
    warning, ///< will cause trouble later, or costs speed
    problem, ///< training on a GPU fails or is wrong because of it
};

/// Where a statement comes from.
struct Evidence {
    std::string what;   ///< "VRAM in use before training"
    std::string source; ///< file, command, log line number
    std::string value;  ///< "21,443,379,200 of 21,458,059,264 bytes"; a log line unchanged
};

struct Finding {
    std::string cause; ///< slug in knowledge/causes.yaml, which also has its stable code (D…)
    Severity severity = Severity::problem;
    bool primary = false;  ///< the one to resolve first; at most one finding is
    double score = 0;      ///< order among findings; not a probability and never printed as one
    std::string statement; ///< one sentence about this host or log
    std::vector<Evidence> evidence;
    /// What would decide between it and the next, as far as it applies to this platform.
    std::vector<std::string> distinguishing_checks;
    std::vector<std::string> devices;    ///< Gpu::address
    std::vector<std::string> signatures; ///< ids of knowledge/signatures that matched
    /// Ids of knowledge/remedies.yaml, best first; empty: those of the cause.
    std::vector<std::string> remedies;
    /// Values for the remedies' {placeholders}: "pid", "gfx", "index"
    std::map<std::string, std::string> parameters;
};

} // namespace rekindle::doctor
