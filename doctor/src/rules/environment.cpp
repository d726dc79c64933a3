#include "facts/versions.h"
#include "rules/rule.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <re2/re2.h>

namespace rekindle::doctor {

namespace {

bool applies_here(const HostView& view, const EnvironmentVariable& known) {
    if (known.effective_on.empty())
        return true;
    return std::any_of(view.amd.begin(), view.amd.end(), [&](const Gpu* gpu) {
        const std::string gfx = gfx_of(view, *gpu);
        const std::string architecture = architecture_of(view, *gpu);
        return gfx.empty() ||
               std::find(known.effective_on.begin(), known.effective_on.end(), gfx) !=
                   known.effective_on.end() ||
               std::find(known.effective_on.begin(), known.effective_on.end(), architecture) !=
                   known.effective_on.end();
    });
}

/// A setting of this host: an environment variable or an option of a kernel module.
struct SetOption {
    std::string name; ///< "HSA_XNACK", "amdgpu.mtype_local"
    std::string value;
    std::string source;
    bool of_kernel = false;
};

/// "options amdgpu mtype_local=1 ppfeaturemask=0xffff" → settings of that module.
void add_module_options(std::vector<SetOption>& settings, const std::string& line) {
    const std::size_t options = line.find("options ");
    if (options == std::string::npos)
        return;
    const std::string source(trim(std::string_view(line).substr(0, options)));
    std::string module;
    for (const std::string_view word : split(std::string_view(line).substr(options + 8), ' ')) {
        if (word.empty())
            continue;
        if (module.empty()) {
            module = word;
            continue;
        }
        const std::size_t equals = word.find('=');
        if (equals != std::string_view::npos)
            settings.push_back({fmt::format("{}.{}", module, word.substr(0, equals)),
                                std::string(word.substr(equals + 1)), source, true});
    }
}

std::vector<SetOption> settings_of(const HostView& view) {
    std::vector<SetOption> settings;
    if (view.facts.environment.variables)
        for (const auto& [name, value] : *view.facts.environment.variables)
            settings.push_back({name, value, view.facts.environment.source});
    for (const std::string& line : view.facts.drivers.modprobe_options)
        add_module_options(settings, line);
    if (const auto& command_line = view.facts.system.kernel_command_line)
        for (const std::string_view word : split(*command_line, ' '))
            if (const std::size_t equals = word.find('=');
                equals != std::string_view::npos &&
                word.substr(0, equals).find('.') != std::string_view::npos)
                settings.push_back({std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)),
                                    command_line.source.empty() ? "/proc/cmdline" : command_line.source,
                                    true});
    return settings;
}

void add_setting(Finding& finding, const SetOption& setting, const std::string& why) {
    add_evidence(finding, fmt::format("{}={}", setting.name, setting.value), setting.source, why);
    if (!setting.of_kernel)
        finding.parameters.try_emplace("variable", setting.name);
}

/// "unset A B" for the variables, "delete from FILE" for options.
std::vector<std::string> remedies_for(const std::vector<SetOption>& settings) {
    std::vector<std::string> remedies;
    const auto of_kernel = [](const SetOption& setting) { return setting.of_kernel; };
    if (!std::all_of(settings.begin(), settings.end(), of_kernel))
        remedies.emplace_back("remove-useless-variable");
    if (std::any_of(settings.begin(), settings.end(), of_kernel))
        remedies.emplace_back("remove-module-option");
    return remedies;
}

void add_parameters(Finding& finding, const std::vector<SetOption>& settings) {
    std::vector<std::string> variables;
    for (const SetOption& setting : settings) {
        if (setting.of_kernel) {
            finding.parameters.try_emplace("option", setting.name);
            finding.parameters.try_emplace("option_file", setting.source.substr(0, setting.source.find(':')));
        } else {
            variables.push_back(setting.name);
        }
    }
    if (!variables.empty())
        finding.parameters["variables"] = fmt::format("{}", fmt::join(variables, " "));
    finding.remedies = remedies_for(settings);
}

std::string names_of(const std::vector<SetOption>& settings) {
    std::vector<std::string> names;
    names.reserve(settings.size());
    for (const SetOption& setting : settings)
        names.push_back(setting.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

Findings visibility_hides_all(const HostView& view) {
    const bool amd = !view.amd.empty() && torch_kind(view) == "rocm" && visible_amd(view).empty();
    const bool nvidia = !view.nvidia.empty() && view.amd.empty() && visible_nvidia(view).empty();
    if (!amd && !nvidia)
        return {};
    Finding finding =
        make_finding("visible-devices-hide-all", Severity::problem,
                     fmt::format("A variable hides every GPU from {}: it names no device of this host.",
                                 amd ? "ROCm" : "CUDA"));
    const std::vector<const char*> names =
        amd ? std::vector{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}
            : std::vector{"CUDA_VISIBLE_DEVICES"};
    for (const char* name : names) {
        const auto value = variable(view, name);
        if (!value)
            continue;
        add_evidence(finding, name, view.facts.environment.source, value->empty() ? "set and empty" : *value);
        finding.parameters.try_emplace("variables", name);
    }
    if (finding.evidence.empty())
        return {};
    for (const Gpu* gpu : amd ? view.amd : view.nvidia)
        finding.devices.push_back(gpu->address);
    finding.remedies = {"one-visible-devices-variable"};
    return {finding};
}

Findings visibility_lists_disagree(const HostView& view) {
    const auto rocr = variable(view, "ROCR_VISIBLE_DEVICES");
    const auto hip = variable(view, "HIP_VISIBLE_DEVICES");
    if (view.amd.empty() || !rocr || !hip || rocr->empty() ||
        split(*hip, ',').size() <= split(*rocr, ',').size())
        return {};
    Finding finding =
        make_finding("visible-devices-inconsistent", Severity::warning,
                     "HIP_VISIBLE_DEVICES lists more devices than ROCR_VISIBLE_DEVICES leaves visible; "
                     "its numbers refer to that shorter list.");
    add_evidence(finding, "ROCR_VISIBLE_DEVICES", view.facts.environment.source, *rocr);
    add_evidence(finding, "HIP_VISIBLE_DEVICES", view.facts.environment.source, *hip);
    finding.parameters["variables"] = "HIP_VISIBLE_DEVICES";
    finding.remedies = {"one-visible-devices-variable"};
    return {finding};
}

namespace {

/// Why the value of a setting is never of any use; "" if it may be.
std::string useless_value(const EnvironmentVariable& variable, const std::string& value) {
    for (const EnvironmentVariable::Misuse& misuse : variable.misuses)
        if (misuse.verdict == "no-effect" && misuse.claimed.empty() && misuse.unless.empty() &&
            !misuse.value.empty() && RE2::FullMatch(value, misuse.value))
            return misuse.correction;
    return "";
}

/// Why nothing reads a setting; "" if something does or may.
std::string reason_not_read(const SetOption& setting, const Knowledge& knowledge) {
    const EnvironmentVariable* known = knowledge.variable(setting.name);
    if (known != nullptr && known->status == "unreal")
        return known->advice.empty() ? known->meaning : known->advice;
    const VariableFamily* family = knowledge.variable_family(setting.name);
    if (family == nullptr || family->shared || family->contains(setting.name))
        return "";
    const std::vector<std::string> similar = family->similar_to(setting.name);
    return fmt::format("not a {} of {}{}", family->what, family->component,
                       similar.empty() ? "" : fmt::format("; similar names: {}", fmt::join(similar, ", ")));
}

} // namespace

Findings settings_without_effect(const HostView& view) {
    if (view.amd.empty())
        return {};
    Finding finding;
    std::vector<SetOption> idle;
    for (const SetOption& setting : settings_of(view)) {
        const EnvironmentVariable* known = view.knowledge.variable(setting.name);
        const bool unread_by_torch = setting.name == "PYTORCH_CUDA_ALLOC_CONF" &&
                                     torch_kind(view) == "rocm" && view.python->torch &&
                                     same_release(torch_version(*view.python->torch).release, "2.6");
        const std::string useless = known == nullptr ? "" : useless_value(*known, setting.value);
        if (!known || known->status != "real" ||
            (applies_here(view, *known) && !unread_by_torch && useless.empty()))
            continue;
        add_setting(finding, setting,
                    unread_by_torch    ? "torch 2.6 for ROCm reads PYTORCH_HIP_ALLOC_CONF"
                    : !useless.empty() ? useless
                                       : known->effect_when);
        idle.push_back(setting);
    }
    if (idle.empty())
        return {};
    Finding described = make_finding(
        "useless-variable", Severity::warning,
        fmt::format("{} {} no effect on this host.", names_of(idle), idle.size() == 1 ? "has" : "have"));
    described.evidence = std::move(finding.evidence);
    add_parameters(described, idle);
    return {described};
}

Findings settings_nothing_reads(const HostView& view) {
    std::vector<SetOption> unreal;
    Finding finding = make_finding("unreal-variable", Severity::warning, "");
    for (const SetOption& setting : settings_of(view)) {
        const std::string reason = reason_not_read(setting, view.knowledge);
        if (reason.empty())
            continue;
        add_setting(finding, setting, reason);
        unreal.push_back(setting);
    }
    if (unreal.empty())
        return {};
    finding.statement =
        fmt::format("{} {} not read by any program: {} only in documents.", names_of(unreal),
                    unreal.size() == 1 ? "is" : "are", unreal.size() == 1 ? "it occurs" : "they occur");
    add_parameters(finding, unreal);
    return {finding};
}

} // namespace rekindle::doctor
