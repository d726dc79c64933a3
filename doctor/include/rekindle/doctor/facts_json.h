#pragma once
/// Facts ↔ JSON (docs/formats/doctor.md). Empty fields are left out. Reading is strict about types and names,
/// and lenient about one thing, so that hosts can be written by hand: a Fact may be its bare value.

#include <rekindle/doctor/facts.h>

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace rekindle::doctor {

nlohmann::ordered_json to_json(const Facts& facts);
/// Throws usage_error naming `where` and the field. Reads only objects whose "schema" is one that this
/// version knows.
Facts facts_from_json(const nlohmann::ordered_json& json, std::string_view where);

} // namespace rekindle::doctor
