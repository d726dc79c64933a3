#include "rules/rule.h"

namespace rekindle::doctor {

Finding make_finding(std::string cause, Severity severity, std::string statement) {
    Finding finding;
    finding.cause = std::move(cause);
    finding.severity = severity;
    finding.statement = std::move(statement);
    return finding;
}

void add_evidence(Finding& finding, std::string what, std::string source, std::string value) {
    finding.evidence.push_back({std::move(what), std::move(source), std::move(value)});
}

} // namespace rekindle::doctor
