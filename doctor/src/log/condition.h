#pragma once
/// Whether a condition in the knowledge holds, given what is known.

#include "log/situation.h"

#include <rekindle/doctor/knowledge.h>

#include <string>
#include <string_view>
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

/// What is wrong with the condition, including its parts ("unknown condition \"gpx\"", "not a version
/// range: \"2.x\""); "" when nothing is.
std::string mistake_in(const Condition& condition);

/// The patterns of all `log` conditions in it.
void collect_log_patterns(const Condition& condition, std::vector<std::string>& patterns);

/// How a key is compared.
enum class KeyKind { words, pattern, version, number, flag, variable, log };

/// The keys that conditions may use. "env." and "package." stand for env.NAME and package.NAME.
struct KeyInfo {
    std::string_view name;
    KeyKind kind = KeyKind::words;
    std::string_view ask; ///< what to ask a person for: "gfx: the GPU's gfx target (rocminfo prints it)"; ""
                          ///< when nobody can know it
};
/// nullptr when there is no such key.
const KeyInfo* condition_key(std::string_view key);

} // namespace rekindle::doctor
