#include "conditions/evaluate.h"

#include "conditions/keys.h"
#include "facts/versions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

bool same_word(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    });
}

/// "gfx110X" matches gfx1100 … gfx110f; everything else must be equal.
bool word_matches(std::string_view value, std::string_view expected) {
    if (expected.size() > 3 && expected.back() == 'X' && value.size() == expected.size())
        return same_word(value.substr(0, value.size() - 1), expected.substr(0, expected.size() - 1));
    return same_word(value, expected);
}

std::optional<double> number_of(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

bool pattern_matches(std::string_view value, std::string_view pattern) {
    RE2::Options options(RE2::Quiet);
    options.set_case_sensitive(false);
    const RE2 expression(pattern, options);
    return expression.ok() && RE2::PartialMatch(value, expression);
}

std::optional<bool> matches(KeyKind kind, std::string_view value, std::string_view expected) {
    switch (kind) {
    case KeyKind::words:
    case KeyKind::flag:
        return word_matches(value, expected);
    case KeyKind::pattern:
    case KeyKind::log:
        return pattern_matches(value, expected);
    case KeyKind::variable:
        return expected == "present" || (expected != "absent" && pattern_matches(value, expected));
    case KeyKind::version:
        return version_in(value, expected);
    case KeyKind::number:
        const std::optional<double> number = number_of(value);
        return number ? number_in(*number, expected) : std::nullopt;
    }
    return std::nullopt;
}

Truth truth_of(bool value) {
    return value ? Truth::yes : Truth::no;
}

ConditionVerdict verdict_of_log(const Condition& condition, const Situation& situation) {
    const bool found =
        std::any_of(condition.values.begin(), condition.values.end(),
                    [&](const std::string& pattern) { return situation.log_patterns.contains(pattern); });
    return {truth_of(found), {}, {condition.key}};
}

ConditionVerdict verdict_of_key(const Condition& condition, const Situation& situation) {
    const KeyInfo* info = condition_key(condition.key);
    if (info == nullptr)
        return {Truth::unknown, {condition.key}, {}};
    if (info->kind == KeyKind::log)
        return verdict_of_log(condition, situation);
    const Situation::Known* known = situation.find(condition.key);
    if (known == nullptr) {
        // A note exists only if a person wrote one: a missing note is absent, not unknown.
        if (condition.key == "other")
            return {Truth::no, {}, {condition.key}};
        if (info->kind != KeyKind::variable || !situation.whole_environment)
            return {Truth::unknown, {condition.key}, {}};
        const bool holds_if_absent =
            std::find(condition.values.begin(), condition.values.end(), "absent") != condition.values.end();
        return {truth_of(holds_if_absent), {}, {condition.key}};
    }
    bool undecided = false;
    for (const std::string& expected : condition.values)
        for (const std::string& value : known->values) {
            const std::optional<bool> match = matches(info->kind, value, expected);
            if (match.value_or(false))
                return {Truth::yes, {}, {condition.key}};
            undecided = undecided || !match;
        }
    return undecided ? ConditionVerdict{Truth::unknown, {condition.key}, {}}
                     : ConditionVerdict{Truth::no, {}, {condition.key}};
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
    for (const std::string& text : from)
        if (std::find(to.begin(), to.end(), text) == to.end())
            to.push_back(text);
}

/// `decisive` is the value that decides alone: no for "all", yes for "any".
ConditionVerdict combine(const Condition& condition, const Situation& situation, Truth decisive) {
    ConditionVerdict whole{decisive == Truth::no ? Truth::yes : Truth::no, {}, {}};
    for (const Condition& part : condition.parts) {
        const ConditionVerdict verdict = evaluate(part, situation);
        if (verdict.truth == decisive)
            return {decisive, {}, verdict.used};
        if (verdict.truth == Truth::unknown)
            whole.truth = Truth::unknown;
        append(whole.missing, verdict.missing);
        append(whole.used, verdict.used);
    }
    return whole;
}

} // namespace

ConditionVerdict evaluate(const Condition& condition, const Situation& situation) {
    if (condition.key.empty())
        return {};
    if (condition.key == "any")
        return combine(condition, situation, Truth::yes);
    if (condition.key == "all")
        return combine(condition, situation, Truth::no);
    if (condition.key == "not") {
        ConditionVerdict verdict = combine(condition, situation, Truth::no);
        if (verdict.truth != Truth::unknown)
            verdict.truth = truth_of(verdict.truth == Truth::no);
        return verdict;
    }
    return verdict_of_key(condition, situation);
}

void collect_log_patterns(const Condition& condition, std::vector<std::string>& patterns) {
    if (condition.key == "log")
        append(patterns, condition.values);
    for (const Condition& part : condition.parts)
        collect_log_patterns(part, patterns);
}

} // namespace rekindle::doctor
