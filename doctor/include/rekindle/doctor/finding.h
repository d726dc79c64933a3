#pragma once
/// What follows from the facts. Rules make findings from facts, probes and knowledge and never touch the
/// host.

#include <map>
#include <string>
#include <vector>

namespace rekindle::doctor {

enum class Severity {
    note,    ///< worth knowing; nothing is wrong
    warning, ///< will bite some day, or costs speed
    problem, ///< training on a GPU fails or is wrong because of it
};

/// Where a statement comes from.
struct Evidence {
    std::string what;   ///< "VRAM in use before training"
    std::string source; ///< file, command, log line number
    std::string value;  ///< "21,443,379,200 of 21,458,059,264 bytes"; a log line as it is
};

struct Finding {
    std::string cause; ///< slug of knowledge/causes.yaml; its stable code (D…) stands there
    Severity severity = Severity::problem;
    bool primary = false;  ///< at most one finding is: the one to deal with first
    double score = 0;      ///< order among findings; not a probability and never printed as one
    std::string statement; ///< one sentence about this host or log
    std::vector<Evidence> evidence;
    std::vector<std::string> tell_apart; ///< what would decide between this and the next candidates
    std::vector<std::string> devices;    ///< Gpu::address
    std::vector<std::string> signatures; ///< ids of knowledge/signatures that matched
    std::vector<std::string>
        remedies; ///< ids of knowledge/remedies.yaml, best first; empty: those of the cause
    std::map<std::string, std::string>
        parameters; ///< what the remedies' {placeholders} stand for: "pid", "gfx", "index"
};

} // namespace rekindle::doctor
