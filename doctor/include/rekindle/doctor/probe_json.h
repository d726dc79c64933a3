#pragma once
/// Results of probes ↔ JSON (docs/formats/doctor.md). Empty fields are left out.

#include <rekindle/doctor/probe.h>

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace rekindle::doctor {

nlohmann::ordered_json to_json(const ProbeResult& result);
/// Throws usage_error naming `where` and the field: of a wrong type, unknown, or missing ("id" and "status").
ProbeResult probe_result_from_json(const nlohmann::ordered_json& json, std::string_view where);

} // namespace rekindle::doctor
