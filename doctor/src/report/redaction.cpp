#include "redaction.h"

#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/report.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

/// Below these folders, file names are the same on every host.
constexpr std::array<std::string_view, 16> system_folders{
    "/usr/",  "/lib/", "/lib64/", "/bin/",  "/sbin/",        "/opt/rocm", "/opt/amdgpu", "/sys/",
    "/proc/", "/dev/", "/etc/",   "/boot/", "/var/lib/dkms", "/var/log/", "/run/",       "/snap/"};

/// From here on a path is the same in every installation.
constexpr std::array<std::string_view, 4> common_tails{"/site-packages", "/dist-packages", "/torch/lib",
                                                       "/bin/python"};

bool is_name_part(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

bool of_the_system(std::string_view path) {
    return std::any_of(system_folders.begin(), system_folders.end(), [&](std::string_view folder) {
        return path.starts_with(folder) || path == folder.substr(0, folder.size() - 1);
    });
}

std::string hidden(std::string_view path) {
    std::string result = path.find(' ') == std::string_view::npos ? "<path>" : "<path with a space>";
    for (const std::string_view tail : common_tails)
        if (const std::size_t at = path.find(tail); at != std::string_view::npos)
            return result.append(path.substr(at));
    return result;
}

std::string replace_word(std::string text, const std::string& word, std::string_view with) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
        const bool begins = at == 0 || !is_name_part(text[at - 1]);
        const std::size_t end = at + word.size();
        const bool ends = end == text.size() || !is_name_part(text[end]);
        if (begins && ends) {
            text.replace(at, word.size(), with);
            at += with.size();
        } else {
            at = end;
        }
    }
    return text;
}

/// Whether a path may begin here: after a space, a quote or a punctuation mark, not inside a URL, a date or
/// a word.
bool path_begins(std::string_view text, std::size_t at) {
    if (text[at] != '/' || at + 1 >= text.size() || !(is_name_part(text[at + 1]) || text[at + 1] == '~'))
        return false;
    return at == 0 || (!is_name_part(text[at - 1]) && text[at - 1] != '/' && text[at - 1] != '>');
}

std::size_t path_end(std::string_view text, std::size_t at) {
    while (at < text.size() &&
           (is_name_part(text[at]) || text[at] == '/' || text[at] == '+' || text[at] == '@' ||
            text[at] == '~' || static_cast<unsigned char>(text[at]) >= 0x80))
        ++at;
    while (at > 0 && text[at - 1] == '.')
        --at;
    return at;
}

template <class Json, class Change>
void change_strings(Json& json, const Change& change) {
    if (json.is_string())
        json = change(json.template get_ref<const std::string&>());
    else if (json.is_structured())
        for (auto& part : json)
            change_strings(part, change);
}

void change(std::vector<std::string>& list, const Redactor& redactor) {
    for (std::string& text : list)
        text = redactor(text);
}

void change(Finding& finding, const Redactor& redactor) {
    finding.statement = redactor(finding.statement);
    for (Evidence& evidence : finding.evidence) {
        evidence.what = redactor(evidence.what);
        evidence.source = redactor(evidence.source);
        evidence.value = redactor(evidence.value);
    }
    change(finding.distinguishing_checks, redactor);
    for (auto& [name, value] : finding.parameters)
        value = redactor(value);
}

void change(Step& step, const Redactor& redactor) {
    for (std::string* text :
         {&step.title, &step.why, &step.changes, &step.verify, &step.expect, &step.environment})
        *text = redactor(*text);
    change(step.commands, redactor);
    change(step.undo, redactor);
}

} // namespace

Redactor::Redactor(const Facts& facts)
    : user_(facts.system.user_name.value_or("")), host_(facts.system.host_name.value_or("")) {
    if (user_ == "root" || user_.size() < 2)
        user_.clear(); // identifies nobody
    if (host_ == "localhost" || host_.size() < 2)
        host_.clear();
    for (const PythonEnvironment& python : facts.pythons)
        for (const std::string& path : {python.interpreter, python.path})
            if (path.starts_with('/') && !of_the_system(path + "/"))
                private_paths_.push_back(path);
    std::sort(private_paths_.begin(), private_paths_.end(),
              [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string Redactor::without_names(std::string text) const {
    if (!user_.empty())
        text = replace_word(std::move(text), user_, "<user>");
    if (!host_.empty())
        text = replace_word(std::move(text), host_, "<host>");
    return text;
}

std::string Redactor::operator()(std::string_view original) const {
    std::string text(original);
    for (const std::string& path : private_paths_)
        text = replace_word(std::move(text), path, hidden(path));
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        if (!path_begins(text, at)) {
            result += text[at++];
            continue;
        }
        const std::size_t end = path_end(text, at);
        const std::string_view path = std::string_view(text).substr(at, end - at);
        result += of_the_system(path) ? std::string(path) : hidden(path);
        at = std::max(end, at + 1);
    }
    return without_names(std::move(result));
}

void redact(Report& report) {
    const Redactor redactor(report.facts);
    nlohmann::ordered_json facts = to_json(report.facts);
    change_strings(facts, redactor);
    report.facts = facts_from_json(facts, "redacted facts");
    for (ProbeResult& probe : report.probes) {
        probe.reason = redactor(probe.reason);
        probe.errors = redactor(probe.errors);
        for (auto& [name, value] : probe.values)
            value = redactor(value);
    }
    for (std::vector<Finding>* findings : {&report.findings, &report.host_findings})
        for (Finding& finding : *findings)
            change(finding, redactor);
    for (DeviceStatus& device : report.devices)
        for (std::string* text : {&device.rocm, &device.cuda, &device.vulkan})
            *text = redactor(*text);
    for (Step& step : report.plan.steps)
        change(step, redactor);
    for (Recognized& one : report.recognized)
        for (std::string* text : {&one.source, &one.line})
            *text = redactor(*text);
    for (RuledOut& one : report.ruled_out)
        for (std::string* text : {&one.value, &one.source})
            *text = redactor(*text);
    change(report.ask, redactor);
    change(report.noticed, redactor);
    change(report.plan.remarks, redactor);
    change(report.plan.verification_stages, redactor);
    report.plan.stop = redactor(report.plan.stop);
    report.verdict = redactor(report.verdict);
    for (std::optional<RunResult>* run : {&report.run, &report.second_run})
        if (*run)
            change((*run)->command, redactor);
    report.log = report.log.empty() ? "" : "<log>";
}

} // namespace rekindle::doctor
