#include "plan/distribution.h"
#include "plan/placeholders.h"
#include "plan/platform.h"
#include "plan/shell.h"

#include <rekindle/doctor/devices.h>
#include <rekindle/doctor/plan.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace rekindle::doctor {

namespace {

/// A step and its rank: problems before warnings, then cheaper steps, then those of the better finding.
struct Candidate {
    Step step;
    std::tuple<bool, int, std::size_t> place;
};

/// Fills in one text after another and remembers which values were missing.
class Filler {
  public:
    explicit Filler(const Values& values) : values_(values) {}

    std::string operator()(const std::string& text) {
        Filled filled = fill_in(text, values_);
        missing_.insert(missing_.end(), filled.missing.begin(), filled.missing.end());
        return std::move(filled.text);
    }
    std::vector<std::string> operator()(const std::vector<std::string>& lines) {
        std::vector<std::string> filled;
        filled.reserve(lines.size());
        for (const std::string& line : lines)
            filled.push_back((*this)(line));
        return filled;
    }
    const std::vector<std::string>& missing() const noexcept { return missing_; }

  private:
    const Values& values_;
    std::vector<std::string> missing_;
};

bool makes_environment(const Remedy& remedy) {
    return std::any_of(remedy.commands.begin(), remedy.commands.end(), [](const std::string& line) {
        return line.find(" -m venv {venv}") != std::string::npos;
    });
}

/// Package names, and the program that starts containers: a step is still useful in words without them.
bool can_be_described(const std::string& placeholder) {
    return is_of_distribution(placeholder) || placeholder == "container_tool";
}

/// "The package manager of this host is not known; the package is libegl1 (apt), …".
std::string in_words(const std::vector<std::string>& missing) {
    std::string text;
    for (const std::string& name : missing)
        if (const std::string names = package_names(name); !names.empty())
            text += fmt::format(" The package is called {}.", names);
    return text;
}

/// Commands, check and undo lines; nothing where a value is missing that words cannot replace.
bool fill_commands(Step& step, const Remedy& remedy, const Values& values) {
    Filler fill(values);
    step.commands = fill(remedy.commands);
    const bool describable = std::all_of(fill.missing().begin(), fill.missing().end(), can_be_described);
    if (!describable)
        return false;
    if (!fill.missing().empty()) {
        step.commands.clear();
        step.changes += in_words(fill.missing());
    }
    Filler check(values);
    step.verify = check(remedy.verify);
    step.expect = check(remedy.expect);
    if (!check.missing().empty())
        step.verify = step.expect = "";
    for (const std::string& line : remedy.undo)
        if (Filler undo(values); undo(line), undo.missing().empty())
            step.undo.push_back(undo(line));
    return true;
}

/// Nothing if PowerShell has no such command.
bool turn_to_powershell(Step& step) {
    for (std::string& line : step.commands) {
        auto other = in_powershell(line);
        if (!other)
            return false;
        line = std::move(*other);
    }
    step.verify = in_powershell(step.verify).value_or("");
    if (step.verify.empty())
        step.expect = "";
    std::vector<std::string> undo;
    for (const std::string& line : step.undo) {
        if (!is_command(line))
            undo.push_back(line);
        else if (auto other = in_powershell(line))
            undo.push_back(std::move(*other));
    }
    step.undo = std::move(undo);
    return true;
}

/// Nothing if the remedy's commands are for another kind of host, or a value that they need is not known.
std::optional<Step> make_step(const HostView& view, const Platform& platform, const Finding& finding,
                              const Remedy& remedy, const ValuesOfFinding& known) {
    if (!applies(remedy.applies, platform))
        return std::nullopt;
    const bool elsewhere = remedy.applies.place != "here" && platform.in_container.value_or(false);
    Values values = elsewhere ? known.elsewhere : known.here;
    const std::string environment = new_environment(view, remedy.id);
    values["venv"] = environment;
    Filler fill(values);
    Step step;
    step.id = remedy.id;
    step.cause = finding.cause;
    step.why = finding.statement;
    step.title = fill(remedy.title);
    step.changes = fill(remedy.changes);
    step.where = place_of(remedy.applies, platform);
    if (!fill.missing().empty() || !fill_commands(step, remedy, values))
        return std::nullopt;
    if (platform.system == "windows" && !turn_to_powershell(step))
        return std::nullopt;
    step.minutes = remedy.minutes;
    step.risk = remedy.risk;
    step.root = remedy.root;
    step.reboot = remedy.reboot;
    const bool known_place = environment.starts_with('/');
    step.automatic =
        remedy.automatic && known_place && !step.commands.empty() && platform.system != "windows";
    if (makes_environment(remedy) && known_place)
        step.environment = environment;
    return step;
}

struct Chosen {
    Step step;
    int cost = 0;
};

/// The remedy, or the first of its replacements that applies.
std::optional<Chosen> choose_step(const HostView& view, const Platform& platform, const Finding& finding,
                                  const std::string& id, const ValuesOfFinding& known) {
    for (const Remedy* remedy = view.knowledge.remedy(id); remedy != nullptr;
         remedy = view.knowledge.remedy(remedy->otherwise))
        if (auto step = make_step(view, platform, finding, *remedy, known))
            return Chosen{std::move(*step), remedy->cost};
    return std::nullopt;
}

/// Remedies of the findings, each once, in the order in which to try them.
std::vector<Step> steps_for(const HostView& view, const Platform& host,
                            const std::vector<Finding>& findings) {
    std::vector<Candidate> candidates;
    Placeholders placeholders(view);
    for (const Finding& finding : findings) {
        const Cause* cause = view.knowledge.cause(finding.cause);
        if (finding.severity == Severity::note)
            continue;
        const std::vector<std::string>& ids =
            finding.remedies.empty() && cause ? cause->remedies : finding.remedies;
        const Platform platform = ground_for(host, view, finding);
        const ValuesOfFinding values = placeholders.of(finding, platform);
        for (const std::string& id : ids) {
            auto chosen = choose_step(view, platform, finding, id, values);
            const bool known =
                chosen && std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
                    return other.step.id == chosen->step.id && other.step.commands == chosen->step.commands;
                });
            if (chosen && !known)
                candidates.push_back(
                    {std::move(chosen->step),
                     {finding.severity != Severity::problem, chosen->cost, candidates.size()}});
        }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.place < b.place; });
    std::vector<Step> steps;
    steps.reserve(candidates.size());
    for (Candidate& candidate : candidates)
        steps.push_back(std::move(candidate.step));
    return steps;
}

bool is_about(const std::vector<Finding>& findings, std::initializer_list<std::string_view> causes) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.primary && std::find(causes.begin(), causes.end(), finding.cause) != causes.end();
    });
}

bool has_step(const std::vector<Step>& steps, std::string_view id) {
    return std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.id == id; });
}

/// "… can train through Vulkan today" for the GPUs that neither ROCm nor CUDA supports.
std::string vulkan_remark(const HostView& view) {
    std::vector<std::string> names;
    for (const DeviceStatus& device : device_table(view.facts, view.probes, view.knowledge))
        if (device.vulkan.starts_with("yes") && !device.rocm.starts_with("yes") &&
            !device.cuda.starts_with("yes"))
            names.push_back(device.name);
    if (names.empty())
        return "";
    return fmt::format(
        "Through Vulkan the {} can train without any change: torch.device(\"rvk\") in PyTorch, or "
        "`rekindle train --device gpu`.",
        fmt::join(names, " and the "));
}

/// Where this program runs and GPUs have Vulkan drivers, as the remedy use-vulkan-route says.
bool has_vulkan_route(const Platform& platform) {
    return platform.system == "linux" || platform.system.empty();
}

bool may_have_amd(const Platform& platform) {
    return platform.vendors.empty() ||
           std::find(platform.vendors.begin(), platform.vendors.end(), "amd") != platform.vendors.end();
}

std::vector<std::string> remarks_for(const HostView& view, const Platform& platform,
                                     const std::vector<Finding>& findings, const std::vector<Step>& steps) {
    std::vector<std::string> remarks;
    if (!steps.empty() && !has_step(steps, "use-vulkan-route") && has_vulkan_route(platform))
        if (std::string remark = vulkan_remark(view); !remark.empty())
            remarks.push_back(std::move(remark));
    if (view.python && view.python->torch && torch_kind(view) == "rocm" && brings_its_rocm(view) &&
        may_have_amd(platform) && platform.system != "windows")
        remarks.push_back(fmt::format("/opt/rocm is not used by torch {}: it brings its own ROCm{}. "
                                      "Installing another ROCm changes nothing; only "
                                      "the kernel driver, firmware and permissions are shared with the host.",
                                      *view.python->torch,
                                      torch_rocm(view).empty() ? "" : " " + torch_rocm(view)));
    if (is_about(findings,
                 {"vram-held-by-other-process", "vram-stranded-in-driver", "vram-held-by-own-cache"}))
        remarks.emplace_back(
            "Do not change any version for this: an allocation that finds no free memory fails with every "
            "release of ROCm and torch.");
    if (is_posted(view))
        remarks.emplace_back(
            "The host is known only from posted text: check that a step fits it before you run it.");
    return remarks;
}

std::string python_of(const HostView& view, const std::vector<Step>& steps) {
    for (const Step& step : steps)
        if (!step.environment.empty())
            return step.environment + "/bin/python";
    return view.python && !view.python->interpreter.empty() ? view.python->interpreter : "python3";
}

std::vector<std::string> verification_stages(const HostView& view, const Platform& platform,
                                             const std::vector<Step>& steps) {
    const std::string python = python_of(view, steps);
    std::vector<std::string> stages{
        platform.system == "windows" // where this program does not run
            ? std::string(
                  "Probe: `python -c \"import torch; print(torch.cuda.is_available())\"` prints True.")
            : fmt::format("Probe: `rekindle doctor --python {} --probe safe` ends without a failed probe.",
                          python),
        "One batch: the loss of the first batch in float32 agrees with the same batch on the CPU to "
        "about 1e-4.",
        "One epoch on a small part of the data: the loss falls, and memory use does not grow from step to "
        "step.",
    };
    const std::size_t gpus = std::max(training_amd(view).size(), view.nvidia.size());
    if (gpus > 1)
        stages.push_back(
            fmt::format("Two of the {} GPUs: an all-reduce of known numbers, then the same epoch; only "
                        "then all of them.",
                        gpus));
    return stages;
}

/// An estimate without seconds: "40 min", "1 h 10 min".
std::string spoken_minutes(double minutes) {
    const auto whole = std::lround(minutes);
    return whole < 60 ? fmt::format("{} min", std::max(whole, 1L))
                      : fmt::format("{} h {:02} min", whole / 60, whole % 60);
}

std::string stop_for(const std::vector<Step>& steps) {
    double minutes = 0;
    for (const Step& step : steps)
        minutes += step.minutes;
    const std::string tried = steps.size() == 1 ? "this step" : fmt::format("these {} steps", steps.size());
    return fmt::format(
        "Stop if {} (about {}) did not make the first check (the probe) pass. Stopping costs that time "
        "and nothing else: each step's undo lines take it back, and the same training runs on the "
        "CPU or a rented GPU (`rekindle doctor --alternatives`).",
        tried, spoken_minutes(minutes));
}

} // namespace

Plan make_plan(const Facts& facts, const std::vector<Finding>& findings, const Knowledge& knowledge,
               const std::vector<ProbeResult>& probes) {
    const HostView view = view_of(facts, probes, knowledge);
    const Platform platform = platform_of(view);
    Plan plan;
    plan.steps = steps_for(view, platform, findings);
    plan.remarks = remarks_for(view, platform, findings, plan.steps);
    if (plan.steps.empty())
        return plan;
    plan.verification_stages = verification_stages(view, platform, plan.steps);
    plan.stop = stop_for(plan.steps);
    return plan;
}

} // namespace rekindle::doctor
