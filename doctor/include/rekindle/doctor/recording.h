#pragma once
/// The facts and probes of a host together.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/probe.h>

#include <nlohmann/json_fwd.hpp>

#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The facts of a host and the results of its probes.
struct Recording {
    Facts facts;
    std::vector<ProbeResult> probes;
};

/// Facts and probes of a recorded --json (or of bare facts). Throws usage_error that names `where`.
Recording recording_from_json(const nlohmann::ordered_json& json, std::string_view where);

/// Fills in what the host's files did not contain and a probe found: compute capability and memory of
/// NVIDIA GPUs. The source is then "probe ID". A value that was read stays.
void add_probed_facts(Facts& facts, const std::vector<ProbeResult>& probes);

} // namespace rekindle::doctor
