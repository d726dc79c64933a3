#include "variables.h"

#include "targets.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <re2/re2.h>
#include <unordered_map>

namespace rekindle::doctor {
namespace {

constexpr std::string_view variable_kind = "variable";

bool is_name_character(char c) noexcept {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_letter_or_digit(char c) noexcept {
    return is_name_character(c) || (c >= 'a' && c <= 'z');
}

/// Names that look like settings of GPU software.
bool has_gpu_prefix(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 16> prefixes{
        "HSA_",     "HIP_",   "HIPBLAS_", "HIPBLASLT_", "ROCR_", "ROCM_",    "ROCBLAS_", "MIOPEN_",
        "PYTORCH_", "TORCH_", "AMD_",     "AMDGPU_",    "NCCL_", "TENSILE_", "RADV_",    "HIPRTC_"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Settings that NVIDIA's software ignores.
bool is_for_amd(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 10> prefixes{"HSA_",    "HIP_",        "HIPBLASLT_", "ROCR_",
                                                        "ROCM_",   "ROCBLAS_",    "MIOPEN_",    "AMD_",
                                                        "AMDGPU_", "PYTORCH_HIP_"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Constants that are spelled like variables.
bool is_constant(std::string_view name) noexcept {
    return name.find("_STATUS") != std::string_view::npos || name.ends_with("_VERSION") ||
           name.find("_ERROR_") != std::string_view::npos || name.ends_with("_ERROR");
}

/// A name in a text and the value that is set there.
struct Setting {
    std::string_view name;
    std::size_t at = 0;
    std::size_t end = 0; ///< after the value, where there is one
    bool assigned = false;
    bool group = false; ///< followed by "*"
    std::string_view value;
};

/// The value after "=", and where it ends: a quoted string or a word.
std::string_view value_at(std::string_view text, std::size_t begin, std::size_t& end) {
    if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) {
        const std::size_t close = text.find(text[begin], begin + 1);
        end = close == std::string_view::npos ? text.size() : close + 1;
        return text.substr(begin + 1, end - begin - (close == std::string_view::npos ? 1 : 2));
    }
    end = std::min(text.find_first_of(" ,;)`]|\"'", begin), text.size());
    return text.substr(begin, end - begin);
}

/// Reads what follows a name: "=0", "'] = '0'", "\", \"0\"", nothing.
Setting setting_at(std::string_view text, std::size_t at, std::size_t name_end) {
    Setting setting{text.substr(at, name_end - at), at, name_end, false, false, {}};
    std::size_t next = name_end;
    setting.group = next < text.size() && text[next] == '*';
    while (next < text.size() &&
           (text[next] == '\'' || text[next] == '"' || text[next] == ']' || text[next] == ' '))
        ++next;
    if (next >= text.size() || (text[next] != '=' && text[next] != ',') || text.substr(next, 2) == "==")
        return setting;
    const bool call = text[next] == ','; // environ.setdefault("NAME", "0")
    if (call && (name_end >= text.size() || (text[name_end] != '"' && text[name_end] != '\'')))
        return setting;
    next = std::min(text.find_first_not_of(' ', next + 1), text.size());
    if (call && (next >= text.size() || (text[next] != '"' && text[next] != '\'')))
        return setting;
    setting.assigned = true;
    setting.value = value_at(text, next, setting.end);
    return setting;
}

/// The sentence that contains a position: it ends with ". ", "! ", "? " or "; ".
std::pair<std::size_t, std::size_t> sentence_around(std::string_view text, std::size_t at) {
    const auto ends_at = [&](std::size_t i) {
        return std::string_view(".!?;").find(text[i]) != std::string_view::npos && i + 1 < text.size() &&
               text[i + 1] == ' ';
    };
    std::size_t begin = at;
    while (begin > 0 && !ends_at(begin - 1))
        --begin;
    std::size_t end = at;
    while (end < text.size() && !ends_at(end))
        ++end;
    return {begin, end};
}

std::string sentence(std::string text) {
    if (!text.empty() && text.back() != '.')
        text += '.';
    return text;
}

/// Joined by spaces, without the empty ones.
std::string sentences(std::initializer_list<std::string> parts) {
    std::string text;
    for (const std::string& part : parts)
        if (!part.empty())
            text += (text.empty() ? "" : " ") + sentence(part);
    return text;
}

std::string upper_first(std::string text) {
    if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    return text;
}

/// The worst effect that the override has on any of the GPUs.
Judgment judge_override_on(std::string_view value, const std::vector<const GfxTarget*>& targets,
                           const Knowledge& knowledge) {
    constexpr std::array<Verdict, 5> gravest_first{Verdict::harmful, Verdict::wrong, Verdict::no_effect,
                                                   Verdict::unknown, Verdict::holds};
    const auto gravity = [&](Verdict verdict) {
        return std::find(gravest_first.begin(), gravest_first.end(), verdict) - gravest_first.begin();
    };
    Judgment worst = judge_override(value, *targets.front(), knowledge);
    for (const GfxTarget* target : targets)
        if (Judgment one = judge_override(value, *target, knowledge);
            gravity(one.verdict) < gravity(worst.verdict))
            worst = std::move(one);
    return worst;
}

bool acts_on_any(const EnvironmentVariable& variable, const std::vector<const GfxTarget*>& targets) {
    const auto acts_on = [&](const GfxTarget* target) {
        return std::any_of(
            variable.effective_on.begin(), variable.effective_on.end(),
            [&](const std::string& name) { return name == target->name || name == target->architecture; });
    };
    return std::any_of(targets.begin(), targets.end(), acts_on);
}

std::string names_of(const std::vector<const GfxTarget*>& targets) {
    std::vector<std::string> names;
    names.reserve(targets.size());
    for (const GfxTarget* target : targets)
        names.push_back(target->name);
    return list_of(names);
}

/// The judgment on a value that does not do what the text around it says.
std::optional<Judgment> judge_misuse(const EnvironmentVariable& variable, std::string_view value,
                                     std::string_view around) {
    const auto says = [&](const std::string& pattern) {
        return RE2::PartialMatch({around.data(), around.size()}, "(?i)" + pattern);
    };
    for (const EnvironmentVariable::Misuse& misuse : variable.misuses) {
        const bool meant = misuse.value.empty() ||
                           (!value.empty() && RE2::FullMatch({value.data(), value.size()}, misuse.value));
        if (meant && (misuse.claimed.empty() || says(misuse.claimed)) &&
            (misuse.unless.empty() || !says(misuse.unless)))
            return Judgment{misuse.verdict == "harmful" ? Verdict::harmful
                            : misuse.verdict == "false" ? Verdict::wrong
                                                        : Verdict::no_effect,
                            misuse.correction, variable.evidence};
    }
    return std::nullopt;
}

} // namespace

SettingContext SettingContext::at_setting(std::string_view text, std::size_t at,
                                          std::string_view value) const {
    const std::string pretended = target_of_override(value);
    const auto add = [&](std::vector<const GfxTarget*>& list, const GfxTarget* target) {
        if (target->name != pretended && std::find(list.begin(), list.end(), target) == list.end())
            list.push_back(target);
    };
    const auto [begin, end] = sentence_around(text, at);
    std::vector<const GfxTarget*> sentence_targets;
    for (const Named& one : named)
        if (one.at >= begin && one.at < end)
            add(sentence_targets, one.target);
    std::vector<const GfxTarget*> others;
    for (const GfxTarget* target : targets)
        add(others, target);
    SettingContext context = *this;
    if (!sentence_targets.empty())
        context.targets = std::move(sentence_targets);
    else if (!others.empty())
        context.targets = std::move(others);
    return context;
}

Judgment judge_variable(const EnvironmentVariable& variable, std::string_view name, std::string_view value,
                        const SettingContext& context, const Knowledge& knowledge) {
    const std::string when = variable.effect_when.empty() ? "" : upper_first(variable.effect_when);
    if (context.only_nvidia && is_for_amd(name))
        return {Verdict::no_effect, "Only AMD's software reads it; this document is about an NVIDIA GPU.",
                variable.evidence};
    if (auto misuse = judge_misuse(variable, value, context.around))
        return std::move(*misuse);
    if (variable.status == "unreal")
        return {Verdict::no_effect, sentences({"No program reads it", variable.advice}), variable.evidence};
    if (variable.status == "build-time" && !context.building)
        return {
            Verdict::no_effect,
            sentences({"Read when something is built, not when it runs", variable.meaning, variable.advice}),
            variable.evidence};
    // The value is unknown if it comes from another variable ("${GFX}").
    if (name.starts_with("HSA_OVERRIDE_GFX_VERSION") && !value.empty() && value.front() != '$' &&
        !context.targets.empty())
        return judge_override_on(value, context.targets, knowledge);
    if (!variable.effective_on.empty() && !context.targets.empty() && !acts_on_any(variable, context.targets))
        return {
            Verdict::no_effect,
            sentences({fmt::format("No effect on {}: {}", names_of(context.targets), variable.effect_when),
                       variable.advice}),
            variable.evidence};
    return {Verdict::holds, sentences({variable.meaning, when, variable.advice}), variable.evidence};
}

namespace {

/// Whether a name with "=" sets an environment variable. It could also be a build argument, an assignment in
/// a program, or a comparison.
bool is_setting(std::string_view text, std::size_t begin, std::size_t end) {
    if (trim(text.substr(0, begin)).ends_with("ARG"))
        return false;
    return end < text.size() && text[end] != ' ';
}

/// Whether code in the document reads the variable. It then is a variable of that code.
bool is_read_in(std::string_view document, std::string_view name) {
    for (std::size_t at = document.find(name); at != std::string_view::npos;
         at = document.find(name, at + 1)) {
        const std::string_view before = document.substr(0, at);
        const std::string_view after = document.substr(at + name.size());
        if (!after.empty() && is_letter_or_digit(after.front()))
            continue;
        if (before.ends_with('$') || before.ends_with("${") || before.ends_with("getenv(\"") ||
            before.ends_with("getenv('") || before.ends_with("environ.get(\"") ||
            before.ends_with("environ.get('"))
            return true;
    }
    return false;
}

/// Whether the sentence says that the author's own program reads the setting.
bool is_own(std::string_view text, std::size_t at) {
    static const RE2 own(
        "(?i)\\b(our|my|own|this|the) (own )?(\\w+ )?(scripts?|code|programs?|launcher|wrapper|"
        "entrypoint)\\b[^.]{0,20}\\breads?\\b");
    const auto [begin, end] = sentence_around(text, at);
    return RE2::PartialMatch({text.data() + begin, end - begin}, own);
}

/// Many programs have variables that begin with "CUDA_". One that is spelled almost like a variable of CUDA,
/// or whose name says that it turns something on or off, is meant as one.
bool sounds_like_a_switch(const VariableFamily& family, std::string_view name) {
    static const RE2 word(
        "_(NO|NOT|DISABLE[DS]?|ENABLE[DS]?|FORCE[DS]?|IGNORE[DS]?|SKIP|ALLOW|SUPPRESS|LIMIT|TIMEOUT|"
        "MEMORY|RETRY|RETRIES|FALLBACK|OPTIMIZE|BOOST|WATCHDOG|ERRORS?)(_|$)");
    const re2::StringPiece whole(name.data(), name.size());
    return RE2::PartialMatch(whole, word) || family.has_misspelling(name);
}

} // namespace

struct VariableFinder::Names {
    std::unordered_map<std::string_view, const EnvironmentVariable*> exact;

    explicit Names(const Knowledge& knowledge) {
        for (const EnvironmentVariable& variable : knowledge.variables)
            exact.emplace(variable.name, &variable);
    }
};

VariableFinder::VariableFinder(const Knowledge& knowledge)
    : knowledge_(knowledge), names_(std::make_unique<Names>(knowledge)) {}
VariableFinder::~VariableFinder() = default;

void VariableFinder::mark_variables(const Block& block, const SettingContext& context,
                                    std::vector<Found>& found) const {
    const std::string_view text = block.text;
    for (std::size_t at = 0; at < text.size();) {
        if (!is_name_character(text[at]) || (at > 0 && is_letter_or_digit(text[at - 1]))) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && is_name_character(text[end]))
            ++end;
        const std::size_t begin = std::exchange(at, end);
        const std::string_view name = text.substr(begin, end - begin);
        if (name.size() < 5 || name.find('_') == std::string_view::npos ||
            (end < text.size() && is_letter_or_digit(text[end])))
            continue;
        const Setting setting = setting_at(text, begin, end);
        const auto exact = names_->exact.find(name);
        const EnvironmentVariable* variable =
            exact == names_->exact.end() ? knowledge_.variable(name) : exact->second;
        const VariableFamily* family = knowledge_.variable_family(name);
        const bool in_family = family != nullptr && family->contains(name);
        if (family != nullptr && !in_family && variable != nullptr && variable->name.ends_with('*'))
            variable = nullptr; // the family knows each name
        const std::size_t size = setting.end - begin;
        if (setting.group) {
            if (name.ends_with('_') && has_gpu_prefix(name))
                mark(block, begin, name.size() + 1, variable_kind,
                     {Verdict::holds,
                      "Stands for several settings; --explain describes each of them by name.",
                      variable == nullptr ? std::vector<Backing>{} : variable->evidence},
                     found);
        } else if (variable != nullptr) {
            mark(block, begin, size, variable_kind,
                 judge_variable(*variable, name, setting.value,
                                context.at_setting(text, begin, setting.value), knowledge_),
                 found);
        } else if (setting.assigned && !in_family && !is_constant(name) && is_setting(text, begin, end) &&
                   !is_read_in(context.document, name) && !is_own(text, begin)) {
            if (family != nullptr && (!family->shared || sounds_like_a_switch(*family, name)))
                mark(block, begin, size, variable_kind, judge_unknown(*family, name), found);
            else if (family == nullptr && has_gpu_prefix(name))
                mark(block, begin, size, variable_kind,
                     {Verdict::unknown,
                      "This name is not among the settings that were found in the sources; possibly no "
                      "program reads it.",
                      {}},
                     found);
        }
        at = std::max(at, setting.assigned ? setting.end : end);
    }
}

Judgment judge_unknown(const VariableFamily& family, std::string_view name) {
    const std::vector<std::string> similar = family.similar_to(name);
    return {Verdict::no_effect,
            fmt::format("This is not a {} of {}{}.", family.what, family.component,
                        similar.empty() ? "" : fmt::format("; similar names: {}", list_of(similar))),
            family.evidence};
}

} // namespace rekindle::doctor
