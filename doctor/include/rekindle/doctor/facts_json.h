#pragma once
/// Facts ↔ JSON (docs/formats/doctor.md). Empty fields are omitted. Reading is strict about types and
/// names, with one exception that makes hosts easier to write by hand: a Fact may be its bare value.

#include <rekindle/doctor/facts.h>

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace rekindle::doctor {

nlohmann::ordered_json to_json(const Facts& facts);
/// Throws usage_error that names `where` and the field. Reads only objects whose "schema" this version
/// knows.
Facts facts_from_json(const nlohmann::ordered_json& json, std::string_view where);

} // namespace rekindle::doctor
