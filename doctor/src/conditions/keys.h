#pragma once
/// The keys that conditions in the knowledge may use.

#include <rekindle/doctor/condition.h>

#include <string>
#include <string_view>

namespace rekindle::doctor {

/// How a key is compared.
enum class KeyKind { words, pattern, version, number, flag, variable, log };

/// The keys that conditions may use. "env." and "package." stand for env.NAME and package.NAME.
struct KeyInfo {
    std::string_view name;
    KeyKind kind = KeyKind::words;
    std::string_view ask; ///< what to ask a person for: "gfx: the GPU's gfx target (rocminfo prints it)"; ""
                          ///< when a person cannot know it
};
/// Returns nullptr if there is no such key.
const KeyInfo* condition_key(std::string_view key);

/// What is wrong with the condition, including its parts ("unknown condition \"gpx\"", "not a version
/// range: \"2.x\""); "" when nothing is.
std::string mistake_in(const Condition& condition);

} // namespace rekindle::doctor
