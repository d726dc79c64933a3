#pragma once
/// Results of probes ↔ JSON (docs/formats/doctor.md). Empty fields are omitted.

#include <rekindle/doctor/probe.h>

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace rekindle::doctor {

nlohmann::ordered_json to_json(const ProbeResult& result);
/// Throws usage_error that names `where` and the field that has a wrong type, is unknown, or is missing
/// ("id" and "status").
ProbeResult probe_result_from_json(const nlohmann::ordered_json& json, std::string_view where);

} // namespace rekindle::doctor
