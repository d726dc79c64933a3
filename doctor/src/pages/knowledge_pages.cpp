#include "pages/markdown.h"

#include <rekindle/doctor/pages.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace rekindle::doctor {
namespace {

constexpr std::string_view origin =
    "<!-- Made from knowledge/ by `rekindle generate-docs`; edit the YAML there. -->\n\n";

/// Pointers ordered by one member, so that moving entries between files changes no page.
template <class T>
std::vector<const T*> ordered(const std::vector<T>& entries, std::string T::*by) {
    std::vector<const T*> pointers;
    pointers.reserve(entries.size());
    for (const T& entry : entries)
        pointers.push_back(&entry);
    std::stable_sort(pointers.begin(), pointers.end(),
                     [&](const T* a, const T* b) { return a->*by < b->*by; });
    return pointers;
}

/// The dates on which the entries of a page were checked; each entry gives its own too.
class CheckedDates {
  public:
    template <class T>
    CheckedDates& add(const std::vector<T>& entries) {
        for (const T& entry : entries)
            dates_.insert(entry.checked);
        return *this;
    }

    /// "Checked on 2026-11-21.", "Checked between 2026-11-21 and 2026-11-26; each entry has its date."
    std::string line() const {
        if (dates_.empty())
            return "Nothing is recorded.\n\n";
        if (dates_.size() == 1)
            return fmt::format("Checked on {}.\n\n", *dates_.begin());
        return fmt::format("Checked between {} and {}; each entry has its date.\n\n", *dates_.begin(),
                           *dates_.rbegin());
    }

  private:
    std::set<std::string> dates_;
};

template <class T>
std::string checked_line(const std::vector<T>& entries) {
    return CheckedDates().add(entries).line();
}

std::string heading(std::string_view anchor, std::string_view title) {
    return fmt::format("<a id=\"{}\"></a>\n\n## {}\n\n", anchor, prose(title));
}

std::string labeled(std::string_view label, const std::vector<std::string>& texts) {
    return texts.empty() ? "" : fmt::format("{}:\n\n{}\n", label, bullets(texts));
}

std::string labeled(std::string_view label, const std::string& text) {
    return text.empty() ? "" : fmt::format("{}: {}\n\n", label, prose(text));
}

std::string links(std::string_view page, const std::vector<std::string>& names) {
    std::vector<std::string> made;
    made.reserve(names.size());
    for (const std::string& name : names)
        made.push_back(fmt::format("[{}]({}#{})", name, page, name));
    return fmt::format("{}", fmt::join(made, ", "));
}

std::string_view word(Severity severity) {
    return severity == Severity::note ? "note" : severity == Severity::warning ? "warning" : "problem";
}

std::string causes_page(const Knowledge& knowledge) {
    std::string page = std::string(origin) +
                       "# Causes\n\nWhy training on a GPU fails or is wrong. The code of a cause and "
                       "its slug never change; `rekindle doctor --json` gives the name.\n\n" +
                       checked_line(knowledge.causes);
    const auto causes = ordered(knowledge.causes, &Cause::code);
    page += "| Code | Cause | Title |\n|---|---|---|\n";
    for (const Cause* cause : causes)
        page += fmt::format("| {} | [{}](#{}) | {} |\n", cause->code, cause->slug, cause->slug,
                            cell(cause->title));
    for (const Cause* cause : causes) {
        page += '\n' + heading(cause->slug, cause->code + " " + cause->slug);
        page += fmt::format("**{}** ({})\n\n{}\n\n", prose(cause->title), word(cause->severity),
                            prose(cause->sentence));
        if (!cause->detail.empty())
            page += prose(cause->detail) + "\n\n";
        if (!cause->vendors.empty())
            page += fmt::format("Only with GPUs of: {}\n\n", fmt::join(cause->vendors, ", "));
        page += labeled("What decides", cause->distinguishing_checks);
        page += labeled("Common advice that does not help", cause->wrong_advice);
        std::vector<std::string> seen_in;
        for (const Signature* signature : ordered(knowledge.signatures, &Signature::id))
            if (std::any_of(
                    signature->candidates.begin(), signature->candidates.end(),
                    [&](const Signature::Candidate& candidate) { return candidate.cause == cause->slug; }))
                seen_in.push_back(signature->id);
        if (!seen_in.empty())
            page += "Messages: " + links("signatures.md", seen_in) + "\n\n";
        if (!cause->remedies.empty())
            page += "Remedies: " + links("remedies.md", cause->remedies) + "\n\n";
        page += evidence(*cause);
    }
    return page;
}

/// A condition in Markdown: "(torch is `>=2.6` and gfx is `RDNA1` or `RDNA2`)".
std::string words_of(const Condition& condition) {
    std::vector<std::string> parts;
    parts.reserve(condition.parts.size());
    for (const Condition& part : condition.parts)
        parts.push_back(words_of(part));
    if (condition.key == "not")
        return fmt::format("not ({})", fmt::join(parts, ""));
    if (!parts.empty())
        return fmt::format("({})", fmt::join(parts, condition.key == "any" ? " or " : " and "));
    for (const std::string& value : condition.values)
        parts.push_back(code(value));
    return condition.key.empty() ? ""
                                 : fmt::format("{} is {}", prose(condition.key), fmt::join(parts, " or "));
}

std::string candidate_line(const Signature::Candidate& candidate) {
    std::string line =
        fmt::format("- [{}](causes.md#{}), {}", candidate.cause, candidate.cause, candidate.strength);
    if (const std::string when = words_of(candidate.when); !when.empty())
        line += ", when " + when;
    if (!candidate.because.empty())
        line += ": " + prose(candidate.because);
    return line + '\n';
}

std::string signatures_page(const Knowledge& knowledge) {
    std::string page =
        std::string(origin) +
        "# Signatures\n\nLog messages and what they can mean. One message can have several causes; the "
        "facts of the host distinguish them. Patterns are [RE2](https://github.com/google/re2/wiki/Syntax), "
        "matched line by line, ignoring case.\n\n" +
        checked_line(knowledge.signatures);
    for (const Signature* signature : ordered(knowledge.signatures, &Signature::id)) {
        page += '\n' + heading(signature->id, signature->id);
        page += fmt::format("**{}**{}\n\n{}\n\n", prose(signature->title),
                            signature->harmless ? " (harmless)" : "", prose(signature->means));
        for (const std::string& pattern : signature->patterns)
            page += "- " + code(pattern) + '\n';
        if (!signature->candidates.empty())
            page += "\nCauses:\n\n";
        for (const Signature::Candidate& candidate : signature->candidates)
            page += candidate_line(candidate);
        page += '\n' + labeled("What would help to distinguish them", signature->ask) + evidence(*signature);
    }
    return page;
}

std::string variables_page(const Knowledge& knowledge) {
    std::string page =
        std::string(origin) +
        "# Environment variables and module options\n\n\"unreal\": no program reads it. \"build-time\": read "
        "when the software is compiled, not when it runs.\n\n" +
        checked_line(knowledge.variables) + "| Variable | Component | Status |\n|---|---|---|\n";
    const auto variables = ordered(knowledge.variables, &EnvironmentVariable::name);
    for (const EnvironmentVariable* variable : variables)
        page += fmt::format("| {} | {} | {} |\n", code(variable->name), cell(variable->component),
                            variable->status);
    for (const EnvironmentVariable* variable : variables) {
        page += fmt::format("\n## {}\n\n{}, {}. {}\n\n", code(variable->name), prose(variable->component),
                            variable->status, prose(variable->meaning));
        page += labeled("Effect", variable->effect_when);
        if (!variable->effective_on.empty())
            page += "Only on: " + code_list(variable->effective_on) + "\n\n";
        page += labeled("Advice", variable->advice) + evidence(*variable);
    }
    return page;
}

std::string_view cost_word(int cost) {
    constexpr std::string_view words[] = {"look",           "set a variable", "new environment", "container",
                                          "system package", "reboot",         "hardware"};
    return cost >= 0 && cost < 7 ? words[cost] : "unknown";
}

/// "For linux, wsl; amd; typed on the host; else other-remedy".
std::string applicability(const Remedy& remedy) {
    const Applicability& applies = remedy.applies;
    std::string text = fmt::format("For: {}", fmt::join(applies.systems, ", "));
    for (const std::vector<std::string>* list : {&applies.vendors, &applies.distributions,
                                                 &applies.containers, &applies.environments, &applies.rocm})
        if (!list->empty())
            text += fmt::format("; {}", fmt::join(*list, ", "));
    if (!applies.vulkan.empty())
        text +=
            fmt::format("; a Vulkan driver {}", applies.vulkan == "works" ? "is installed" : "is missing");
    if (applies.place != "here")
        text += fmt::format("; typed {}", applies.place == "windows" ? "in Windows" : "on the host");
    if (!remedy.otherwise.empty())
        text += fmt::format(". Otherwise [{0}](#{0})", remedy.otherwise);
    return text + "\n\n";
}

std::string remedies_page(const Knowledge& knowledge) {
    std::string page = std::string(origin) +
                       "# Remedies\n\nWhat can be done. `{name}` is a placeholder that the plan fills in for "
                       "the host. `rekindle doctor --fix ID` prints one for this host.\n\n" +
                       checked_line(knowledge.remedies);
    for (const Remedy* remedy : ordered(knowledge.remedies, &Remedy::id)) {
        page += '\n' + heading(remedy->id, remedy->id) + fmt::format("**{}**\n\n", prose(remedy->title));
        page +=
            fmt::format("| Changes | Minutes | Risk | Kind | Root | Reboot | Can be undone | By `--fix` |\n"
                        "|---|---|---|---|---|---|---|---|\n| {} | {:g} | {} | {} | {} | {} | {} | {} |\n\n",
                        cell(remedy->changes), remedy->minutes, cell(remedy->risk), cost_word(remedy->cost),
                        remedy->root ? "yes" : "no", remedy->reboot ? "yes" : "no",
                        remedy->reversible ? "yes" : "no", remedy->automatic ? "yes" : "no");
        page += applicability(*remedy);
        if (!remedy->commands.empty())
            page += code_block(remedy->commands) + '\n';
        if (!remedy->verify.empty())
            page += fmt::format("Verify: {} prints {}\n\n", code(remedy->verify), code(remedy->expect));
        if (!remedy->undo.empty())
            page += "Undo:\n\n" + code_block(remedy->undo) + '\n';
        page += evidence(*remedy);
    }
    return page;
}

std::string claims_page(const Knowledge& knowledge) {
    std::string page = std::string(origin) +
                       "# Claims\n\nStatements and commands in circulation, judged. `rekindle doctor "
                       "--review FILE` finds them in a document.\n\n" +
                       checked_line(knowledge.claims);
    for (const Claim* claim : ordered(knowledge.claims, &Claim::id)) {
        page += '\n' + heading(claim->id, claim->id);
        page +=
            fmt::format("{}\n\n**{}.** {}\n\n", prose(claim->says), claim->verdict, prose(claim->correction));
        page += evidence(*claim);
    }
    return page;
}

std::string targets_section(const Knowledge& knowledge) {
    std::string page =
        "## gfx targets\n\n| Target | Architecture | Kernel version number | GC | Generic code | "
        "Supported up to ROCm | Note | Evidence |\n"
        "|---|---|---|---|---|---|---|---|\n";
    for (const GfxTarget& target : knowledge.gfx_targets)
        page += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", target.name, target.architecture,
                            target.kfd_version, fmt::join(target.gc_versions, ", "), target.generic,
                            target.last_rocm, cell(target.note), evidence_line(target));
    page += "\n## Overrides\n\n`HSA_OVERRIDE_GFX_VERSION` makes every GPU of the process report another "
            "target. What was "
            "tried:\n\n| GPU's target | Override | Verdict | Why |\n|---|---|---|---|\n";
    for (const GfxTarget& target : knowledge.gfx_targets)
        for (const GfxTarget::Override& tried : target.overrides)
            page += fmt::format("| {} | {} | {} | {} |\n", target.name, tried.value, tried.verdict,
                                cell(tried.reason));
    return page;
}

std::string gpus_page(const Knowledge& knowledge) {
    std::string page =
        std::string(origin) +
        "# GPUs\n\nOne PCI id can stand for several models; then the revision (the part after the second "
        "colon) "
        "distinguishes them. On a host, the kernel's `gfx_target_version` is authoritative.\n\n" +
        CheckedDates().add(knowledge.gfx_targets).add(knowledge.gpus).line() + targets_section(knowledge) +
        "\n## Models\n\n| Model | PCI ids | Target | Memory (GiB) | Evidence |\n|---|---|---|---|---|\n";
    for (const GpuModel& gpu : knowledge.gpus)
        page +=
            fmt::format("| {} | {} | {} | {} | {} |\n", cell(gpu.name), fmt::join(gpu.pci, ", "), gpu.target,
                        gpu.integrated       ? "shared"
                        : gpu.memory_gib > 0 ? fmt::format("{:g}", gpu.memory_gib)
                                             : "",
                        evidence_line(gpu));
    return page;
}

std::string index_section(const WheelIndex& index) {
    std::string page = fmt::format("\n## {}\n\n<{}>\n\n", index.id, index.url);
    if (!index.minimum_driver.empty())
        page += fmt::format("NVIDIA driver {} or newer.\n\n", index.minimum_driver);
    if (index.device_packages)
        page += "Targets are chosen when installing: `pip install \"torch[device-gfxNNNN]\"`.\n\n";
    if (!index.note.empty())
        page += prose(index.note) + "\n\n";
    if (!index.systems.empty())
        page += fmt::format("Systems: {}.\n\n", fmt::join(index.systems, ", "));
    for (const auto& [what, targets] :
         {std::pair{"Only for Linux", &index.linux_only},
          {"Built for Linux, but not tested by the vendor", &index.untested_linux},
          {"Built for Windows, but not tested by the vendor", &index.untested_windows}})
        if (!targets->empty())
            page += fmt::format("{}: {}.\n\n", what, fmt::join(*targets, " "));
    if (index.files_only)
        page += "A folder of files: use `--find-links`, not `--index-url`.\n\n";
    if (!index.releases.empty())
        page += "| torch | Python | Targets | Checked |\n|---|---|---|---|\n";
    for (const WheelIndex::Release& release : index.releases)
        page += fmt::format("| {} | {} | {} | {} |\n", release.torch,
                            release.python.empty() ? "not recorded"
                                                   : fmt::format("{}", fmt::join(release.python, ", ")),
                            fmt::join(index.targets_of(release.torch), " "),
                            release.checked.empty() ? index.checked : release.checked);
    return page + (index.releases.empty() ? "" : "\n") + evidence(index);
}

/// The companion packages of each torch, newest first.
std::string pairs_section(const Knowledge& knowledge) {
    std::string page = "## Versions that go together\n\nThe first version in a cell is the one that a plan "
                       "installs; the others accept this torch too.\n\n"
                       "| torch | Released | torchvision | torchaudio | Note | Evidence |\n"
                       "|---|---|---|---|---|---|\n";
    for (auto release = knowledge.torch_releases.rbegin(); release != knowledge.torch_releases.rend();
         ++release)
        page += fmt::format(
            "| {} | {} | {} | {} | {} | {} |\n", release->torch,
            release->released.empty() ? "not recorded" : release->released,
            fmt::join(release->torchvision, ", "),
            release->torchaudio.empty() ? "none" : fmt::format("{}", fmt::join(release->torchaudio, ", ")),
            cell(release->note), evidence_line(*release));
    return page;
}

std::string wheels_page(const Knowledge& knowledge) {
    std::string page =
        std::string(origin) +
        "# Wheel indexes and images\n\nWhere to install torch from, "
        "and which targets its wheels contain code for. That "
        "libtorch contains a target does not mean that the math "
        "libraries shipped with it do: `rekindle doctor` reads "
        "the files.\n\n" +
        CheckedDates().add(knowledge.indexes).add(knowledge.torch_releases).add(knowledge.images).line() +
        pairs_section(knowledge);
    for (const WheelIndex& index : knowledge.indexes)
        page += index_section(index);
    page += "\n## Container images\n\nTags documented by the vendor.\n\n| Tag | ROCm | torch | Python | OS "
            "| Evidence |\n"
            "|---|---|---|---|---|---|\n";
    for (const ContainerImage& image : knowledge.images)
        page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(image.tag), image.rocm, image.torch,
                            image.python, image.os, evidence_line(image));
    return page;
}

std::string alternatives_section(const Knowledge& knowledge) {
    std::string page;
    for (const Alternative* alternative : ordered(knowledge.alternatives, &Alternative::id)) {
        page += fmt::format("\n### {}\n\n{}\n\n", prose(alternative->title), prose(alternative->detail));
        if (alternative->price_per_hour > 0)
            page +=
                fmt::format("${:.2f} an hour ({}).\n\n", alternative->price_per_hour, alternative->priced);
        if (alternative->price_once > 0)
            page += fmt::format("${:g} once ({}).\n\n", alternative->price_once, alternative->priced);
        page += evidence(*alternative);
    }
    return page;
}

std::string index_page(const Knowledge& knowledge) {
    std::string page = std::string(origin) + "# What the doctor knows\n\n" +
                       CheckedDates()
                           .add(knowledge.causes)
                           .add(knowledge.signatures)
                           .add(knowledge.variables)
                           .add(knowledge.remedies)
                           .add(knowledge.claims)
                           .add(knowledge.gpus)
                           .add(knowledge.indexes)
                           .add(knowledge.alternatives)
                           .line();
    page += fmt::format("- [Causes](causes.md): {}, why training fails\n", knowledge.causes.size());
    page += fmt::format("- [Signatures](signatures.md): {} messages and what they can mean\n",
                        knowledge.signatures.size());
    page += fmt::format("- [Variables](variables.md): {}, with their status\n", knowledge.variables.size());
    page += fmt::format("- [Remedies](remedies.md): {}\n", knowledge.remedies.size());
    page += fmt::format("- [Claims](claims.md): {} statements in circulation\n", knowledge.claims.size());
    page += fmt::format("- [GPUs](gpus.md): {} models, {} gfx targets\n", knowledge.gpus.size(),
                        knowledge.gfx_targets.size());
    page += fmt::format("- [Wheels](wheels.md): {} indexes, {} container tags\n", knowledge.indexes.size(),
                        knowledge.images.size());
    page += "\nKinds of evidence: *source* was read in a program's source code, *thread* in an issue, "
            "*documentation* in a "
            "vendor's or project's pages, *measured* was run, *inferred* follows from the others.\n\n"
            "How to add to it: [knowledge/README.md](../../knowledge/README.md).\n";
    if (!knowledge.alternatives.empty())
        page += "\n## Alternatives\n\n" + checked_line(knowledge.alternatives) +
                "Prices give their own month.\n" + alternatives_section(knowledge);
    return page;
}

} // namespace

std::map<std::string, std::string> knowledge_pages(const Knowledge& knowledge) {
    return {{"knowledge/README.md", index_page(knowledge)},
            {"knowledge/causes.md", causes_page(knowledge)},
            {"knowledge/signatures.md", signatures_page(knowledge)},
            {"knowledge/variables.md", variables_page(knowledge)},
            {"knowledge/remedies.md", remedies_page(knowledge)},
            {"knowledge/claims.md", claims_page(knowledge)},
            {"knowledge/gpus.md", gpus_page(knowledge)},
            {"knowledge/wheels.md", wheels_page(knowledge)}};
}

} // namespace rekindle::doctor
