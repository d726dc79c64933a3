#include "facts/versions.h"
#include "plan/placeholders.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/plan.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rekindle::doctor {

namespace {

/// A step and its place: problems before warnings, then the cheaper, then what belongs to the better finding.
struct Candidate {
    Step step;
    std::tuple<bool, int, std::size_t> place;
};

/// Fills text after text and remembers whether the step can be offered and run.
class Filler {
  public:
    explicit Filler(const Values& values) : values_(values) {}

    std::string operator()(const std::string& text) {
        Filled filled = fill_in(text, values_);
        complete_ = complete_ && filled.complete;
        applicable_ = applicable_ && filled.applicable;
        return std::move(filled.text);
    }
    std::vector<std::string> operator()(const std::vector<std::string>& lines) {
        std::vector<std::string> filled;
        for (const std::string& line : lines)
            filled.push_back((*this)(line));
        return filled;
    }
    bool complete() const noexcept { return complete_; }
    bool applicable() const noexcept { return applicable_; }

  private:
    const Values& values_;
    bool complete_ = true;
    bool applicable_ = true;
};

bool makes_environment(const Remedy& remedy) {
    return std::any_of(remedy.commands.begin(), remedy.commands.end(), [](const std::string& line) {
        return line.find(" -m venv {venv}") != std::string::npos;
    });
}

/// Nothing where the remedy names a wheel or an image that does not exist for this host.
std::optional<Step> make_step(const HostView& view, const Finding& finding, const Remedy& remedy) {
    Values values = placeholder_values(view, finding);
    const std::string environment = new_environment(view, remedy.id);
    values["venv"] = environment;
    Filler fill(values);
    Step step;
    step.id = remedy.id;
    step.cause = finding.cause;
    step.why = finding.statement;
    step.title = fill(remedy.title);
    step.changes = fill(remedy.changes);
    step.commands = fill(remedy.commands);
    step.verify = fill(remedy.verify);
    step.expect = fill(remedy.expect);
    step.undo = fill(remedy.undo);
    step.minutes = remedy.minutes;
    step.risk = remedy.risk;
    step.root = remedy.root;
    step.reboot = remedy.reboot;
    const bool known_place = environment.starts_with('/');
    step.automatic = remedy.automatic && fill.complete() && known_place;
    if (makes_environment(remedy) && known_place)
        step.environment = environment;
    if (!fill.applicable())
        return std::nullopt;
    return step;
}

/// Remedies of the findings, each once, in the order in which to try them.
std::vector<Step> steps_for(const HostView& view, const std::vector<Finding>& findings) {
    std::vector<Candidate> candidates;
    for (const Finding& finding : findings) {
        const Cause* cause = view.knowledge.cause(finding.cause);
        if (finding.severity == Severity::note)
            continue;
        const std::vector<std::string>& ids =
            finding.remedies.empty() && cause ? cause->remedies : finding.remedies;
        for (const std::string& id : ids) {
            const Remedy* remedy = view.knowledge.remedy(id);
            auto step = remedy ? make_step(view, finding, *remedy) : std::nullopt;
            const bool known =
                step && std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
                    return other.step.id == id && other.step.commands == step->commands;
                });
            if (step && !known)
                candidates.push_back(
                    {std::move(*step),
                     {finding.severity != Severity::problem, remedy->cost, candidates.size()}});
        }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.place < b.place; });
    std::vector<Step> steps;
    for (Candidate& candidate : candidates)
        steps.push_back(std::move(candidate.step));
    return steps;
}

bool is_about(const std::vector<Finding>& findings, std::initializer_list<std::string_view> causes) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.primary && std::find(causes.begin(), causes.end(), finding.cause) != causes.end();
    });
}

std::vector<std::string> remarks_for(const HostView& view, const std::vector<Finding>& findings) {
    std::vector<std::string> remarks;
    if (view.python && view.python->torch && torch_kind(view) == "rocm" && brings_its_rocm(view))
        remarks.push_back(fmt::format("/opt/rocm is not used by torch {}: it brings its own ROCm{}. "
                                      "Installing another ROCm changes nothing; only "
                                      "the kernel driver, firmware and permissions are shared with the host.",
                                      *view.python->torch,
                                      torch_rocm(view).empty() ? "" : " " + torch_rocm(view)));
    if (is_about(findings,
                 {"vram-held-by-other-process", "vram-stranded-in-driver", "vram-held-by-own-cache"}))
        remarks.emplace_back(
            "No version is changed for this: an allocation that finds no memory fails with every "
            "release of ROCm and torch.");
    if (is_posted(view))
        remarks.emplace_back(
            "The host is known from a posted text only; what stands in <…> has to be filled in there.");
    return remarks;
}

std::string python_of(const HostView& view, const std::vector<Step>& steps) {
    for (const Step& step : steps)
        if (!step.environment.empty())
            return step.environment + "/bin/python";
    return view.python && !view.python->interpreter.empty() ? view.python->interpreter : "python3";
}

std::vector<std::string> ladder_for(const HostView& view, const std::vector<Step>& steps) {
    const std::string python = python_of(view, steps);
    std::vector<std::string> ladder{
        fmt::format("Probe: `rekindle doctor --python {} --probe safe` ends without a failed probe.", python),
        "One batch: the loss of the first batch in float32 agrees with the same batch on the processor to "
        "about 1e-4.",
        "One epoch on a small part of the data: the loss falls, and memory in use does not grow from step to "
        "step.",
    };
    const std::size_t gpus = std::max(training_amd(view).size(), view.nvidia.size());
    if (gpus > 1)
        ladder.push_back(
            fmt::format("Two of the {} GPUs: an all-reduce of known numbers, then the same epoch; only "
                        "then all of them.",
                        gpus));
    return ladder;
}

/// Hardware is where money begins; up to there a person's time is all that is spent.
/// An estimate has no seconds: "40 min", "1 h 10 min".
std::string spoken_minutes(double minutes) {
    const auto whole = static_cast<int>(minutes + 0.5);
    return whole < 60 ? fmt::format("{} min", std::max(whole, 1))
                      : fmt::format("{} h {:02} min", whole / 60, whole % 60);
}

std::string stop_for(const std::vector<Step>& steps) {
    double minutes = 0;
    for (const Step& step : steps)
        minutes += step.minutes;
    const std::string tried = steps.size() == 1 ? "this step" : fmt::format("these {} steps", steps.size());
    return fmt::format(
        "Stop when {} (about {}) did not lead past the first rung of the ladder. Stopping costs that time "
        "and nothing else: each step's undo lines take it back, and the same training runs on the "
        "processor or a rented GPU (`rekindle doctor --alternatives`).",
        tried, spoken_minutes(minutes));
}

} // namespace

Plan make_plan(const Facts& facts, const std::vector<Finding>& findings, const Knowledge& knowledge) {
    const std::vector<ProbeResult> no_probes;
    const HostView view = view_of(facts, no_probes, knowledge);
    Plan plan;
    plan.steps = steps_for(view, findings);
    plan.remarks = remarks_for(view, findings);
    if (plan.steps.empty())
        return plan;
    plan.ladder = ladder_for(view, plan.steps);
    plan.stop = stop_for(plan.steps);
    return plan;
}

} // namespace rekindle::doctor
