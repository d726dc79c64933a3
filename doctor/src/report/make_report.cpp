#include "log/host_situation.h"
#include "log/questions.h"

#include <rekindle/doctor/report.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace rekindle::doctor {

namespace {

constexpr std::size_t most_questions = 3; ///< people answer only a few

const Finding* primary_of(const std::vector<Finding>& findings) {
    const auto found =
        std::find_if(findings.begin(), findings.end(), [](const Finding& one) { return one.primary; });
    return found == findings.end() ? nullptr : &*found;
}

bool can_train(const DeviceStatus& device) {
    const auto yes = [](const std::string& text) { return text.starts_with("yes"); };
    return yes(device.rocm) || yes(device.cuda) || yes(device.vulkan);
}

std::string healthy_verdict(const Report& report) {
    std::vector<std::string> able;
    std::size_t gpus = 0;
    for (const DeviceStatus& device : report.devices) {
        gpus += device.address != "cpu";
        if (device.address != "cpu" && can_train(device))
            able.push_back(device.name);
    }
    if (gpus == 0)
        return "No GPU was found: training runs on the CPU. This is not an error.";
    if (able.empty())
        return fmt::format("No problem was found, but no Python with a PyTorch for {} was found either. Name "
                           "one with --python.",
                           gpus == 1 ? "this GPU" : "these GPUs");
    return fmt::format("No problem was found: {} can train.", fmt::join(able, ", "));
}

std::string host_verdict(const Report& report, const Knowledge& knowledge) {
    const Finding* primary = primary_of(report.findings);
    if (primary == nullptr)
        return healthy_verdict(report);
    const Cause* cause = knowledge.cause(primary->cause);
    return cause == nullptr ? primary->statement : fmt::format("{}: {}", cause->title, primary->statement);
}

/// "; the facts alone show …" if the log does not show the cause.
std::string host_finding_text(const Report& report) {
    for (const Finding& one : report.host_findings)
        if (one.severity != Severity::note)
            return " The facts alone show this: " + one.statement;
    return "";
}

/// Names the two or three possible causes in a sentence.
std::string possible_causes(const Report& report, const Knowledge& knowledge) {
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(report.candidates.size(), most); ++i)
        if (const Cause* cause = knowledge.cause(report.candidates[i].cause))
            text += fmt::format("{}{}", text.empty() ? " Possible: " : "; ", cause->title);
    return text.empty() ? "" : text + ".";
}

std::string log_verdict(const Report& report, const std::string& ending, const Knowledge& knowledge) {
    const bool only_notes = report.findings.empty() || report.findings.front().severity == Severity::note;
    if (only_notes && report.outcome == Outcome::finished)
        return "The log shows no failure: the run finished.";
    if (only_notes && report.outcome == Outcome::progressing)
        return "The log shows no failure: the run made progress up to its last line.";
    const std::string own =
        ending.empty() ? "" : fmt::format("No GPU failure in this log: it ends with {}.", ending);
    if (report.findings.empty() && !own.empty())
        return own;
    if (report.findings.empty())
        return report.ask.empty()
                   ? "The log shows no failure that the doctor knows."
                   : "The cause cannot be determined from this log. The facts below would help to "
                     "find it." +
                         possible_causes(report, knowledge) + host_finding_text(report);
    const Finding& best = report.findings.front();
    const Cause* cause = knowledge.cause(best.cause);
    const bool of_program = best.cause.starts_with("user-program-") && !own.empty();
    return cause == nullptr
               ? best.statement
               : fmt::format("{}{}: {}", of_program ? own + " " : "", cause->title, cause->sentence);
}

bool names_cause(const std::vector<Finding>& findings, const std::string& cause) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& one) { return one.cause == cause; });
}

/// Adds what the facts say about a cause that the log names to that finding.
void join_evidence(std::vector<Finding>& findings, std::vector<Finding>& host) {
    for (Finding& finding : findings) {
        const auto same = std::find_if(host.begin(), host.end(),
                                       [&](const Finding& one) { return one.cause == finding.cause; });
        if (same == host.end())
            continue;
        finding.evidence.insert(finding.evidence.end(), same->evidence.begin(), same->evidence.end());
        finding.devices = same->devices;
        finding.parameters.insert(same->parameters.begin(), same->parameters.end());
    }
    std::erase_if(host, [&](const Finding& one) { return names_cause(findings, one.cause); });
}

} // namespace

Report make_report(Facts facts, std::vector<ProbeResult> probes, const LogText* log,
                   const Knowledge& knowledge) {
    Report report;
    add_probed_facts(facts, probes);
    report.devices = device_table(facts, probes, knowledge);
    report.findings = examine_host(facts, probes, knowledge);
    const Ground ground = ground_of(facts, situation_of(facts, knowledge));
    for (Finding& finding : report.findings)
        finding.distinguishing_checks = questions_for(finding.distinguishing_checks, ground);
    std::optional<Facts> shown;
    std::string ending;
    if (log != nullptr) {
        LogDiagnosis diagnosis = diagnose_log(*log, facts, knowledge);
        report.log = log->name;
        report.host_findings = std::exchange(report.findings, std::move(diagnosis.findings));
        for (Finding& finding : report.host_findings)
            finding.primary = false;
        join_evidence(report.findings, report.host_findings);
        report.ask = std::move(diagnosis.ask);
        report.ask.resize(std::min(report.ask.size(), most_questions));
        report.recognized = std::move(diagnosis.recognized);
        report.candidates = std::move(diagnosis.candidates);
        report.ruled_out = std::move(diagnosis.ruled_out);
        ending = std::move(diagnosis.ending);
        report.noticed = std::move(diagnosis.noticed);
        report.outcome = diagnosis.outcome;
        shown = std::move(diagnosis.shown);
    }
    report.plan = make_plan(shown ? *shown : facts, report.findings, knowledge, probes);
    report.verdict =
        log == nullptr ? host_verdict(report, knowledge) : log_verdict(report, ending, knowledge);
    report.facts = std::move(facts);
    report.probes = std::move(probes);
    return report;
}

} // namespace rekindle::doctor
