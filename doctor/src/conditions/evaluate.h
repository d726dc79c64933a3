#pragma once
/// Whether a condition in the knowledge holds, given what is known.

#include "conditions/situation.h"

#include <rekindle/doctor/condition.h>

#include <string>
#include <vector>

namespace rekindle::doctor {

enum class Truth { no, unknown, yes };

struct ConditionVerdict {
    Truth truth = Truth::yes;
    /// Keys whose facts would decide, in the order of the condition; only for unknown.
    std::vector<std::string> missing;
    std::vector<std::string> used; ///< keys whose facts decided
};

/// A condition with an empty key always holds. Never throws: what cannot be evaluated (an invalid range) is
/// unknown.
ConditionVerdict evaluate(const Condition& condition, const Situation& situation);

/// The patterns of all `log` conditions in it.
void collect_log_patterns(const Condition& condition, std::vector<std::string>& patterns);

} // namespace rekindle::doctor
