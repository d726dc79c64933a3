#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/probe_json.h>
#include <rekindle/doctor/recording.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rekindle::doctor {

Recording recording_from_json(const nlohmann::ordered_json& json, std::string_view where) {
    Recording recording;
    if (!json.is_object())
        throw usage_error("not a recording")
            .at(std::string(where))
            .expected("a JSON object: the output of --json, or its \"facts\"");
    if (!json.contains("facts")) {
        recording.facts = facts_from_json(json, where);
        return recording;
    }
    const std::string schema = fmt::format("rekindle-doctor/{}", facts_schema);
    if (json.contains("schema") && json["schema"] != schema)
        throw usage_error(fmt::format("the recording has schema {}", json["schema"].dump()))
            .at(std::string(where))
            .expected(schema)
            .hint("Another version of Rekindle wrote this file; read it with that version.");
    recording.facts = facts_from_json(json["facts"], fmt::format("{}: facts", where));
    if (json.contains("probes") && !json["probes"].is_array())
        throw usage_error("\"probes\" is not a list").at(std::string(where)).expected("a JSON array");
    if (json.contains("probes"))
        for (std::size_t i = 0; i < json["probes"].size(); ++i)
            recording.probes.push_back(
                probe_result_from_json(json["probes"][i], fmt::format("{}: probes[{}]", where, i)));
    return recording;
}

} // namespace rekindle::doctor
