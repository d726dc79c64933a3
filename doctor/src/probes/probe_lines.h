#pragma once
/// The lines that a probe's child writes on result_descriptor, each one JSON object: {"at": STEP, "probe":
/// ID} before something that may not return, {"result": {…}} when a result is known. The child may be
/// broken: what it writes is treated as untrusted text.

#include <rekindle/doctor/probe.h>

#include <optional>
#include <string>
#include <string_view>

namespace rekindle::doctor {

struct ProbeLine {
    std::optional<ProbeResult> result;
    std::string probe; ///< for "at": id of the probe in progress, "" for a child that is a single probe
    std::string step;  ///< for "at": "hipInit"
};

/// One line without its line end.
std::string line_of_step(std::string_view step);
std::string line_of_result(const ProbeResult& result);

/// Throws usage_error for anything else.
ProbeLine parse_probe_line(std::string_view line);

} // namespace rekindle::doctor
