#include "probes/probe_lines.h"

#include <rekindle/doctor/probe_json.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rekindle::doctor {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<ProbeStatus, std::string_view>, 5> statuses{{
    {ProbeStatus::passed, "passed"},
    {ProbeStatus::failed, "failed"},
    {ProbeStatus::crashed, "crashed"},
    {ProbeStatus::timed_out, "timed_out"},
    {ProbeStatus::skipped, "skipped"},
}};

[[noreturn]] void refuse(std::string_view where, std::string_view field, std::string_view expected) {
    throw usage_error(fmt::format("\"{}\" in a probe's result is invalid", field))
        .at(std::string(where))
        .expected(std::string(expected));
}

std::string text(const Json& value, std::string_view field, std::string_view where) {
    if (!value.is_string())
        refuse(where, field, "text");
    return value.get<std::string>();
}

int small_number(const Json& value, std::string_view field, std::string_view where) {
    if (!value.is_number_integer() || value < 0 || value > 255)
        refuse(where, field, "an integer from 0 to 255");
    return value.get<int>();
}

double seconds(const Json& value, std::string_view where) {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0) || !std::isfinite(number))
        refuse(where, "seconds", "a non-negative number");
    return number;
}

ProbeStatus status(const Json& value, std::string_view where) {
    const std::string name = text(value, "status", where);
    const auto known = std::ranges::find(statuses, name, [](const auto& entry) { return entry.second; });
    if (known == statuses.end())
        refuse(where, "status", "passed, failed, crashed, timed_out or skipped");
    return known->first;
}

std::string_view name_of(ProbeStatus status) {
    return std::ranges::find(statuses, status, [](const auto& entry) { return entry.first; })->second;
}

std::map<std::string, std::string> values(const Json& json, std::string_view where) {
    if (!json.is_object())
        refuse(where, "values", "an object whose values are text");
    std::map<std::string, std::string> read;
    for (const auto& [name, value] : json.items())
        read[name] = text(value, "values." + name, where);
    return read;
}

void read_field(ProbeResult& result, const std::string& name, const Json& value, std::string_view where) {
    if (name == "id")
        result.id = text(value, name, where);
    else if (name == "device")
        result.device = text(value, name, where);
    else if (name == "status")
        result.status = status(value, where);
    else if (name == "reason")
        result.reason = text(value, name, where);
    else if (name == "code")
        result.code = text(value, name, where);
    else if (name == "seconds")
        result.seconds = seconds(value, where);
    else if (name == "exit_status")
        result.exit_status = small_number(value, name, where);
    else if (name == "signal")
        result.signal = small_number(value, name, where);
    else if (name == "errors")
        result.errors = text(value, name, where);
    else if (name == "values")
        result.values = values(value, where);
    else
        refuse(where, name,
               "id, device, status, reason, code, seconds, exit_status, signal, errors or values");
}

std::string one_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

Json to_json(const ProbeResult& result) {
    Json json{{"id", result.id}};
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty())
            json[name] = value;
    };
    add("device", result.device);
    json["status"] = name_of(result.status);
    add("reason", result.reason);
    add("code", result.code);
    json["seconds"] = result.seconds;
    if (result.exit_status != 0)
        json["exit_status"] = result.exit_status;
    if (result.signal != 0)
        json["signal"] = result.signal;
    add("errors", result.errors);
    if (!result.values.empty())
        json["values"] = result.values;
    return json;
}

ProbeResult probe_result_from_json(const Json& json, std::string_view where) {
    if (!json.is_object())
        refuse(where, "", "an object");
    ProbeResult result;
    for (const auto& [name, value] : json.items())
        read_field(result, name, value, where);
    if (result.id.empty())
        refuse(where, "id", "the name of a probe");
    if (!json.contains("status"))
        refuse(where, "status", "the outcome of the probe");
    return result;
}

std::string line_of_step(std::string_view step) {
    return one_line({{"at", step}});
}

std::string line_of_result(const ProbeResult& result) {
    return one_line({{"result", to_json(result)}});
}

ProbeLine parse_probe_line(std::string_view line) {
    constexpr std::string_view where = "a probe's results";
    // The callback limits nesting: a line of 64 KiB could otherwise be 64 Ki levels deep.
    constexpr int deepest = 4;
    const auto shallow = [](int depth, Json::parse_event_t, Json&) {
        if (depth > deepest)
            throw usage_error("a probe's result is nested too deeply");
        return true;
    };
    const Json json = Json::parse(line, shallow, false);
    if (json.is_discarded() || !json.is_object())
        throw usage_error("a probe wrote something that is not a result")
            .at(std::string(where))
            .expected("one JSON object per line");
    ProbeLine parsed;
    for (const auto& [name, value] : json.items())
        if (name == "result")
            parsed.result = probe_result_from_json(value, where);
        else if (name == "at")
            parsed.step = text(value, name, where);
        else if (name == "probe")
            parsed.probe = text(value, name, where);
        else
            refuse(where, name, "at, probe or result");
    return parsed;
}

} // namespace rekindle::doctor
