#pragma once
/// A report of the doctor with a different text in every string, to follow each of them to where it is shown.

#include <rekindle/doctor/report.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::test {

/// Calls `visit(name, string)` for every string of a report except its facts. The structured bindings name
/// every member, so that a new one does not compile until it is added here.
class ReportStrings {
  public:
    using Visit = std::function<void(const std::string& name, std::string& text)>;
    explicit ReportStrings(Visit visit) : visit_(std::move(visit)) {}

    void operator()(doctor::Report& report) const {
        auto& [facts, probes, devices, verdict, findings, host_findings, recognized, candidates, ruled_out,
               ask, noticed, plan, log, outcome, run, second_run] = report;
        visit_("verdict", verdict);
        all("devices", devices);
        all("findings", findings);
        all("host_findings", host_findings);
        all("recognized", recognized);
        all("candidates", candidates);
        all("ruled_out", ruled_out);
        all("ask", ask);
        all("noticed", noticed);
        all("probes", probes);
        one("plan", plan);
        visit_("log", log);
        for (std::optional<doctor::RunResult>* one_run : {&run, &second_run})
            if (*one_run)
                all("run.command", (*one_run)->command);
    }
    void one(const std::string& at, doctor::Plan& plan) const {
        auto& [steps, remarks, verification_stages, stop] = plan;
        all(at + ".steps", steps);
        all(at + ".remarks", remarks);
        all(at + ".verification_stages", verification_stages);
        visit_(at + ".stop", stop);
    }
    void one(const std::string& at, doctor::Step& step) const {
        auto& [id, title, why, cause, changes, where, commands, verify, expect, undo, minutes, risk, root,
               reboot, automatic, environment] = step;
        visit_(at + ".id", id);
        visit_(at + ".title", title);
        visit_(at + ".why", why);
        visit_(at + ".cause", cause);
        visit_(at + ".changes", changes);
        visit_(at + ".where", where);
        all(at + ".commands", commands);
        visit_(at + ".verify", verify);
        visit_(at + ".expect", expect);
        all(at + ".undo", undo);
        visit_(at + ".risk", risk);
        visit_(at + ".environment", environment);
    }

  private:
    template <class Items>
    void all(const std::string& at, Items& items) const {
        std::size_t number = 0;
        for (auto& item : items)
            one(at + "[" + std::to_string(number++) + "]", item);
    }
    void one(const std::string& at, std::string& text) const { visit_(at, text); }
    void one(const std::string& at, doctor::Recognized& recognized) const {
        auto& [signature, title, means, source, line] = recognized;
        visit_(at + ".signature", signature);
        visit_(at + ".title", title);
        visit_(at + ".means", means);
        visit_(at + ".source", source);
        visit_(at + ".line", line);
    }
    void one(const std::string& at, doctor::Candidate& candidate) const {
        auto& [cause, score, missing] = candidate;
        (void)score;
        visit_(at + ".cause", cause);
        all(at + ".missing", missing);
    }
    void one(const std::string& at, doctor::RuledOut& ruled_out) const {
        auto& [cause, fact, value, source] = ruled_out;
        visit_(at + ".cause", cause);
        visit_(at + ".fact", fact);
        visit_(at + ".value", value);
        visit_(at + ".source", source);
    }
    void one(const std::string& at, doctor::Evidence& evidence) const {
        auto& [what, source, value] = evidence;
        visit_(at + ".what", what);
        visit_(at + ".source", source);
        visit_(at + ".value", value);
    }
    void one(const std::string& at, doctor::Finding& finding) const {
        auto& [cause, severity, primary, score, statement, evidence, distinguishing_checks, devices,
               signatures, remedies, parameters] = finding;
        visit_(at + ".cause", cause);
        visit_(at + ".statement", statement);
        all(at + ".evidence", evidence);
        all(at + ".distinguishing_checks", distinguishing_checks);
        all(at + ".devices", devices);
        all(at + ".signatures", signatures);
        all(at + ".remedies", remedies);
        for (auto& [name, value] : parameters)
            visit_(at + ".parameters." + name, value);
    }
    void one(const std::string& at, doctor::DeviceStatus& device) const {
        auto& [address, name, target, memory, rocm, cuda, vulkan] = device;
        visit_(at + ".address", address);
        visit_(at + ".name", name);
        visit_(at + ".target", target);
        visit_(at + ".memory", memory);
        visit_(at + ".rocm", rocm);
        visit_(at + ".cuda", cuda);
        visit_(at + ".vulkan", vulkan);
    }
    void one(const std::string& at, doctor::ProbeResult& probe) const {
        auto& [id, device, status, reason, code, seconds, exit_status, signal, errors, values] = probe;
        visit_(at + ".id", id);
        visit_(at + ".device", device);
        visit_(at + ".reason", reason);
        visit_(at + ".code", code);
        visit_(at + ".errors", errors);
        for (auto& [name, value] : values)
            visit_(at + ".values." + name, value);
    }

    Visit visit_;
};

/// A problem, a warning and a note: [0], [1], [2].
inline std::vector<doctor::Finding> findings_of_each_severity() {
    std::vector<doctor::Finding> findings(3);
    findings[0].severity = doctor::Severity::problem;
    findings[0].primary = true;
    findings[1].severity = doctor::Severity::warning;
    findings[2].severity = doctor::Severity::note;
    for (doctor::Finding& finding : findings) {
        finding.evidence.resize(2);
        finding.distinguishing_checks.resize(2);
        finding.devices.resize(1);
        finding.signatures.resize(1);
        finding.remedies.resize(1);
        finding.parameters["pid"];
    }
    return findings;
}

/// Two of everything, and every string still empty; steps[0] has no commands, and there are five steps.
inline doctor::Report report_of_everything() {
    doctor::Report report;
    report.run = report.second_run = doctor::RunResult{.command = {"python", "train.py"}};
    report.probes.resize(2);
    report.probes[0].status = doctor::ProbeStatus::failed;
    for (doctor::ProbeResult& probe : report.probes)
        probe.values["ordinal"];
    report.devices.resize(2);
    report.findings = findings_of_each_severity();
    report.host_findings = findings_of_each_severity();
    report.recognized.resize(2);
    report.candidates.resize(2);
    for (doctor::Candidate& candidate : report.candidates)
        candidate.missing.resize(2);
    report.ruled_out.resize(2);
    report.ask.resize(2);
    report.noticed.resize(2);
    report.plan.steps.resize(5);
    for (std::size_t i = 0; i < report.plan.steps.size(); ++i) {
        report.plan.steps[i].commands.resize(i == 0 ? 0 : 2);
        report.plan.steps[i].undo.resize(2);
    }
    report.plan.remarks.resize(2);
    report.plan.verification_stages.resize(2);
    return report;
}

/// Whether a name has all of these parts.
inline bool has_parts(std::string_view name, const std::vector<std::string_view>& parts) {
    for (const std::string_view part : parts)
        if (name.find(part) == std::string_view::npos)
            return false;
    return true;
}

} // namespace rekindle::test
