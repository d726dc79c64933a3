#pragma once
/// What --review, --explain, --matrix and --alternatives print with --json (docs/formats/doctor.md).

#include <rekindle/doctor/report.h>
#include <rekindle/doctor/review.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The fields that all lookups have: schema, program, `lookup` (the mode's name), and what `report`
/// recognized, which causes it considered and which a fact ruled out. `report` is made from the text of the
/// lookup and the replayed facts.
nlohmann::ordered_json lookup_json(std::string_view mode, const Report& report, const Knowledge& knowledge);

nlohmann::ordered_json to_json(const std::vector<Mark>& marks);
nlohmann::ordered_json to_json(const std::vector<MatrixRow>& rows);
nlohmann::ordered_json to_json(const std::vector<Option>& options);

/// "true", "false", "harmful", "no effect", "unknown".
std::string_view word_of(Verdict verdict) noexcept;

} // namespace rekindle::doctor
