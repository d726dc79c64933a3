#include "rules/rule.h"

#include <rekindle/doctor/diagnosis.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

/// Problems before warnings before notes; findings of equal severity in the order of the table, then in the
/// order within the rule.
double score_of(Severity severity, std::size_t rule) {
    constexpr double step = 1000;
    const double weight = severity == Severity::problem ? 2 * step : severity == Severity::warning ? step : 0;
    return weight + step - 1 - static_cast<double>(rule);
}

/// Merges what a probe shows about a cause into the finding that the facts gave for the same cause.
bool joined(std::vector<Finding>& findings, const Finding& tried) {
    const auto same = std::find_if(findings.begin(), findings.end(),
                                   [&](const Finding& finding) { return finding.cause == tried.cause; });
    if (same == findings.end())
        return false;
    same->evidence.insert(same->evidence.end(), tried.evidence.begin(), tried.evidence.end());
    return true;
}

} // namespace

std::vector<Finding> examine_host(const Facts& facts, const std::vector<ProbeResult>& probes,
                                  const Knowledge& knowledge) {
    const HostView view = view_of(facts, probes, knowledge);
    const std::span<const Rule> rules = host_rules();
    std::vector<Finding> findings;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        for (Finding& finding : rules[i].examine(view)) {
            finding.score = score_of(finding.severity, i);
            if (rules[i].examine != failed_probes || !joined(findings, finding))
                findings.push_back(std::move(finding));
        }
    }
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.score > b.score; });
    if (!findings.empty() && findings.front().severity != Severity::note)
        findings.front().primary = true;
    return findings;
}

} // namespace rekindle::doctor
