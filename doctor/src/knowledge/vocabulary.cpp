#include "vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

constexpr std::array<ConditionKey, 23> keys{{
    {"gfx", ValueForm::text},         {"vendor", ValueForm::text},
    {"integrated", ValueForm::truth}, {"devices", ValueForm::range},
    {"gpu", ValueForm::pattern},      {"torch", ValueForm::range},
    {"rocm", ValueForm::range},       {"cuda", ValueForm::range},
    {"python", ValueForm::range},     {"kernel", ValueForm::range},
    {"glibc", ValueForm::range},      {"driver", ValueForm::range},
    {"torch_kind", ValueForm::text},  {"wheel_contains_gfx", ValueForm::truth},
    {"os", ValueForm::pattern},       {"container", ValueForm::words},
    {"rootless", ValueForm::truth},   {"wsl", ValueForm::truth},
    {"hypervisor", ValueForm::words}, {"override_native", ValueForm::truth},
    {"log", ValueForm::pattern},      {"other", ValueForm::pattern},
    {"env.", ValueForm::pattern},
}};

constexpr std::array<Placeholder, 1> placeholders{{
    {"python", "the Python that trains"},
}};

const ConditionKey* find_key(std::string_view name) noexcept {
    const auto fits = [&](const ConditionKey& key) {
        return key.name == "env." ? name.starts_with(key.name) && name.size() > key.name.size()
                                  : key.name == name;
    };
    const auto found = std::find_if(keys.begin(), keys.end(), fits);
    return found == keys.end() ? nullptr : &*found;
}

std::string value_mistake(const ConditionKey& key, const std::string& value) {
    static const RE2 range(
        "(\\s*(>=|<=|>|<|==|!=|=)?\\s*\\d+(\\.\\d+)*\\s*)(,\\s*(>=|<=|>|<|==|!=|=)?\\s*\\d+(\\.\\d+)*\\s*)*");
    if (key.form == ValueForm::pattern) {
        RE2::Options options;
        options.set_log_errors(false);
        const RE2 pattern(value, options);
        return pattern.ok() ? "" : fmt::format("pattern \"{}\": {}", value, pattern.error());
    }
    if (key.form == ValueForm::range && !RE2::FullMatch(value, range))
        return fmt::format("\"{}\" is no range such as \">=2.6, <2.7\"", value);
    if (key.form == ValueForm::truth && value != "true" && value != "false")
        return fmt::format("must be true or false, not \"{}\"", value);
    return value.empty() ? "is empty" : "";
}

} // namespace

std::span<const ConditionKey> condition_keys() noexcept {
    return keys;
}

std::string condition_mistake(const Condition& condition) {
    const ConditionKey* key = find_key(condition.key);
    if (key == nullptr)
        return fmt::format("unknown condition \"{}\"", condition.key);
    for (const std::string& value : condition.values)
        if (const std::string what = value_mistake(*key, value); !what.empty())
            return fmt::format("condition {}: {}", condition.key, what);
    return "";
}

std::span<const Placeholder> remedy_placeholders() noexcept {
    return placeholders;
}

} // namespace rekindle::doctor
