#include <rekindle/base/version.h>
#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/probe_json.h>
#include <rekindle/doctor/report.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace rekindle::doctor {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> severity_names{"note", "warning", "problem"};

Json json_of(const std::vector<Evidence>& evidence) {
    Json list = Json::array();
    for (const Evidence& one : evidence)
        list.push_back({{"what", one.what}, {"source", one.source}, {"value", one.value}});
    return list;
}

Json json_of(const Finding& finding, const Knowledge& knowledge) {
    const Cause* cause = knowledge.cause(finding.cause);
    return {{"cause", finding.cause},
            {"code", cause == nullptr ? "" : cause->code},
            {"severity", severity_names.at(static_cast<std::size_t>(finding.severity))},
            {"primary", finding.primary},
            {"statement", finding.statement},
            {"explanation", cause == nullptr ? "" : cause->sentence},
            {"evidence", json_of(finding.evidence)},
            {"tell_apart", finding.distinguishing_checks}, // the format's name
            {"devices", finding.devices},
            {"signatures", finding.signatures},
            {"remedies", finding.remedies.empty() && cause != nullptr ? cause->remedies : finding.remedies}};
}

Json json_of(const std::vector<Finding>& findings, const Knowledge& knowledge) {
    Json list = Json::array();
    for (const Finding& finding : findings)
        list.push_back(json_of(finding, knowledge));
    return list;
}

Json json_of(const std::vector<Recognized>& recognized) {
    Json list = Json::array();
    for (const Recognized& one : recognized)
        list.push_back({{"signature", one.signature},
                        {"title", one.title},
                        {"means", one.means},
                        {"source", one.source},
                        {"line", one.line}});
    return list;
}

Json json_of(const std::vector<Candidate>& candidates) {
    Json list = Json::array();
    for (const Candidate& one : candidates)
        list.push_back({{"cause", one.cause}, {"missing", one.missing}});
    return list;
}

Json json_of(const std::vector<RuledOut>& ruled_out) {
    Json list = Json::array();
    for (const RuledOut& one : ruled_out)
        list.push_back(
            {{"cause", one.cause}, {"fact", one.fact}, {"value", one.value}, {"source", one.source}});
    return list;
}

Json json_of(const DeviceStatus& device) {
    return {{"address", device.address}, {"name", device.name}, {"target", device.target},
            {"memory", device.memory},   {"rocm", device.rocm}, {"cuda", device.cuda},
            {"vulkan", device.vulkan}};
}

Json json_of(const Step& step) {
    return {{"id", step.id},
            {"title", step.title},
            {"cause", step.cause},
            {"why", step.why},
            {"changes", step.changes},
            {"where", step.where},
            {"commands", step.commands},
            {"verify", step.verify},
            {"expect", step.expect},
            {"undo", step.undo},
            {"minutes", step.minutes},
            {"risk", step.risk},
            {"root", step.root},
            {"reboot", step.reboot},
            {"automatic", step.automatic}};
}

Json json_of(const Plan& plan) {
    Json steps = Json::array();
    for (const Step& step : plan.steps)
        steps.push_back(json_of(step));
    return {{"steps", std::move(steps)},
            {"remarks", plan.remarks},
            {"ladder", plan.verification_stages},
            {"stop", plan.stop}};
}

Json json_of(const RunResult& run) {
    return {{"command", run.command},
            {"exit_status", run.exit_status},
            {"signal", run.signal},
            {"seconds", run.seconds}};
}

} // namespace

Json to_json(const Report& report, const Knowledge& knowledge) {
    Json devices = Json::array();
    for (const DeviceStatus& device : report.devices)
        devices.push_back(json_of(device));
    Json probes = Json::array();
    for (const ProbeResult& probe : report.probes)
        probes.push_back(to_json(probe));
    Json json{{"schema", fmt::format("rekindle-doctor/{}", facts_schema)},
              {"program", version_number()},
              {"verdict", report.verdict},
              {"log", report.log},
              {"devices", std::move(devices)},
              {"findings", json_of(report.findings, knowledge)},
              {"besides", json_of(report.host_findings, knowledge)}, // the format's name for host_findings
              {"recognized", json_of(report.recognized)},
              {"candidates", json_of(report.candidates)},
              {"ruled_out", json_of(report.ruled_out)},
              {"ask", report.ask},
              {"noticed", report.noticed},
              {"plan", json_of(report.plan)},
              {"probes", std::move(probes)},
              {"facts", to_json(report.facts)}};
    if (report.run)
        json["run"] = json_of(*report.run);
    if (report.second_run)
        json["second_run"] = json_of(*report.second_run);
    return json;
}

} // namespace rekindle::doctor
