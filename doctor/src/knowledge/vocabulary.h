#pragma once
/// The words that entries may use: keys of conditions and placeholders of remedies. knowledge/README.md
/// explains them.

#include <rekindle/doctor/knowledge.h>

#include <span>
#include <string>
#include <string_view>

namespace rekindle::doctor {

/// How the values of a condition's key are written.
enum class ValueForm {
    text,    ///< compared as a word
    pattern, ///< RE2
    range,   ///< ">=2.6, <2.7"
    truth,   ///< true or false
    words,   ///< true, false or one of a few words
};

struct ConditionKey {
    std::string_view name; ///< "env." stands for env.NAME of any variable
    ValueForm form;
};
std::span<const ConditionKey> condition_keys() noexcept;

/// What is wrong with one key of a condition (not all, any, not) and its values, or "".
std::string condition_mistake(const Condition& condition);

/// A {name} that commands of remedies may hold, and what the plan puts there.
struct Placeholder {
    std::string_view name;
    std::string_view meaning;
};
std::span<const Placeholder> remedy_placeholders() noexcept;

} // namespace rekindle::doctor
