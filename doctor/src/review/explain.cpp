#include "claims.h"
#include "targets.h"
#include "variables.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

constexpr std::size_t paragraph_limit = 12;
constexpr std::size_t shortest_part = 6; ///< a shorter term would be part of every other title
constexpr std::size_t term_limit = 4096;

/// A pattern without its regex syntax: "HIP error: no kernel image", for searching a term in it.
std::string literal_text(std::string_view pattern) {
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '\\' && i + 1 < pattern.size() &&
            std::ispunct(static_cast<unsigned char>(pattern[i + 1])) != 0)
            text += pattern[++i];
        else
            text += pattern[i];
    }
    return lower_case(text);
}

/// Whether the pattern's text contains the term, except for the few letters that it may give as
/// alternatives at the start: "HIPBLAS_STATUS_NOT_SUPPORTED" is part of
/// "(hip|cu)blas_status_not_supported".
bool is_part_of(std::string_view term, std::string_view text) {
    constexpr std::size_t alternatives = 4;
    if (term.size() < shortest_part)
        return false;
    const std::size_t dropped = term.size() >= 4 * alternatives ? alternatives : 0;
    for (std::size_t i = 0; i <= dropped; ++i)
        if (text.find(term.substr(i)) != std::string_view::npos)
            return true;
    return false;
}

std::string evidence_text(const Entry& entry) {
    std::vector<std::string> backings;
    backings.reserve(entry.evidence.size());
    for (const Backing& one : entry.evidence)
        backings.push_back(
            fmt::format("{} {}{}", one.kind, one.reference, one.note.empty() ? "" : " (" + one.note + ")"));
    return fmt::format("\nEvidence: {}. Checked {}.", fmt::join(backings, "; "), entry.checked);
}

/// Collects paragraphs, each entry once.
class Explanation {
  public:
    explicit Explanation(const Knowledge& knowledge) : knowledge_(knowledge) {}

    void add(const EnvironmentVariable& variable) {
        const std::string state = variable.status == "unreal" ? "is not read by any program"
                                  : variable.status == "build-time"
                                      ? "is read when something is built, not when it runs"
                                      : "is a setting of " + variable.component;
        std::string text = fmt::format("{} {}.", variable.name, state);
        for (const std::string* part : {&variable.meaning, &variable.effect_when, &variable.advice})
            if (!part->empty() && *part != "Nothing reads it.")
                text += fmt::format(" {}{}", part == &variable.effect_when ? "When: " : "",
                                    part->ends_with('.') ? *part : *part + ".");
        push(variable, std::move(text));
    }

    /// A name that the family does not contain.
    void add(const VariableFamily& family, std::string_view name) {
        push(family, fmt::format("{}: {}", name, judge_unknown(family, name).reason));
    }

    void add(const GfxTarget& target) {
        std::vector<std::string> cards;
        for (const GpuModel& gpu : knowledge_.gpus)
            if (gpu.target == target.name)
                cards.push_back(gpu.name);
        std::string text = fmt::format("{} is {} (gfx_target_version {}).", target.name, target.architecture,
                                       target.kfd_version);
        if (!target.note.empty())
            text += " " + target.note;
        if (!cards.empty())
            text += fmt::format(" GPUs: {}.", fmt::join(cards, ", "));
        std::vector<std::string> with;
        for (const WheelIndex& index : knowledge_.indexes)
            if (knowledge_.covers(index.targets, target.name))
                with.push_back(index.id);
        text += with.empty() ? " No recorded wheel index has code for it."
                             : fmt::format(" Wheels with code for it: {}.", fmt::join(with, ", "));
        for (const GfxTarget::Override& known : target.overrides)
            text += fmt::format("\nHSA_OVERRIDE_GFX_VERSION={}: {}, {}.", known.value, known.verdict,
                                known.reason);
        push(target, std::move(text));
    }

    void add(const GpuModel& gpu) {
        std::string text = fmt::format(
            "{} is {}", gpu.name, gpu.target.empty() ? "a GPU whose target is not recorded" : gpu.target);
        if (gpu.memory_gib > 0)
            text += fmt::format(" with {:g} GiB", gpu.memory_gib);
        if (gpu.integrated)
            text += ", an integrated GPU";
        if (!gpu.pci.empty())
            text += fmt::format("; PCI {}", fmt::join(gpu.pci, ", "));
        push(gpu, text + ".");
        if (const GfxTarget* target = knowledge_.gfx(gpu.target))
            add(*target);
    }

    void add(const Cause& cause) {
        std::string text =
            fmt::format("{} ({}, {}): {}", cause.title, cause.code, cause.slug, cause.sentence);
        if (!cause.detail.empty())
            text += " " + cause.detail;
        for (const std::string& id : cause.remedies)
            if (const Remedy* remedy = knowledge_.remedy(id))
                text += fmt::format("\nHelps: {} ({}).", remedy->title, id);
        for (const std::string& sentence : cause.distinguishing_checks)
            text += "\nTo confirm: " + sentence;
        for (const std::string& sentence : cause.wrong_advice)
            text += "\nDoes not help: " + sentence;
        push(cause, std::move(text));
    }

    void add(const Remedy& remedy) {
        std::string text = fmt::format("{} ({}): changes {}; about {:g} min; risk {}.", remedy.title,
                                       remedy.id, remedy.changes, remedy.minutes, remedy.risk);
        for (const std::string& command : remedy.commands)
            text += "\n  " + command;
        if (!remedy.verify.empty())
            text += fmt::format("\nThen {} prints: {}", remedy.verify, remedy.expect);
        push(remedy, std::move(text));
    }

    void add(const Signature& signature) {
        std::string text = fmt::format("{}: {}", signature.title, signature.means);
        if (signature.harmless)
            text += " Harmless.";
        // A cause occurs several times, for different facts: the first says most.
        std::vector<std::string_view> said;
        for (const Signature::Candidate& candidate : signature.candidates) {
            if (std::ranges::find(said, candidate.cause) != said.end())
                continue;
            said.push_back(candidate.cause);
            const Cause* cause = knowledge_.cause(candidate.cause);
            text +=
                fmt::format("\nCan come from: {} ({}, {}){}",
                            cause == nullptr ? candidate.cause : cause->title, candidate.cause,
                            candidate.strength, candidate.because.empty() ? "" : ": " + candidate.because);
        }
        push(signature, std::move(text));
    }

    void add(const WheelIndex& index) {
        std::string text = fmt::format("{} is an index of torch wheels, {}.", index.id, index.url);
        if (!index.systems.empty())
            text += fmt::format(" Systems: {}.", fmt::join(index.systems, ", "));
        for (const WheelIndex::Release& release : index.releases)
            text += fmt::format("\ntorch {}{} for Python {}", release.torch, companions_of(release.torch),
                                release.python.empty() ? "(not recorded)"
                                                       : fmt::format("{}", fmt::join(release.python, ", ")));
        if (!index.targets.empty())
            text += fmt::format("\nCode for: {}.", fmt::join(index.targets, ", "));
        if (!index.linux_only.empty())
            text += fmt::format("\nOnly for Linux: {}.", fmt::join(index.linux_only, ", "));
        if (!index.untested_linux.empty())
            text += fmt::format("\nBuilt for Linux, but not tested by the vendor: {}.",
                                fmt::join(index.untested_linux, ", "));
        if (!index.untested_windows.empty())
            text += fmt::format("\nBuilt for Windows, but not tested by the vendor: {}.",
                                fmt::join(index.untested_windows, ", "));
        push(index, index.note.empty() ? text : text + " " + index.note);
    }

    void add(const TorchRelease& release) {
        std::string text = fmt::format(
            "torch {}{} goes with torchvision {} and {}.", release.torch,
            release.released.empty() ? "" : ", released " + release.released + ",",
            fmt::join(release.torchvision, " or "),
            release.torchaudio.empty() ? "no torchaudio"
                                       : fmt::format("torchaudio {}", fmt::join(release.torchaudio, " or ")));
        if (!release.note.empty())
            text += " " + release.note;
        std::vector<std::string> with;
        for (const WheelIndex& index : knowledge_.indexes)
            for (const WheelIndex::Release& one : index.releases)
                if (one.torch == release.torch)
                    with.push_back(index.id);
        if (!with.empty())
            text += fmt::format(" Indexes: {}.", fmt::join(with, ", "));
        push(release, std::move(text));
    }

    void add(const ContainerImage& image) {
        push(image, fmt::format("{} is a documented image: ROCm {}, torch {}, Python {}, {}.", image.tag,
                                image.rocm, image.torch, image.python, image.os));
    }

    void add(const Claim& claim) {
        const std::string verdict = claim.verdict == "no-effect" ? "without effect" : claim.verdict;
        push(claim, fmt::format("Claim: {} Verdict: {}. {}", claim.says, verdict, claim.correction));
    }

    void add(const Mark& mark) {
        const std::string text = fmt::format("{}: {}", mark.text, mark.reason);
        if (paragraphs_.size() < paragraph_limit && !mark.evidence.empty())
            paragraphs_.push_back(fmt::format("{}\nEvidence: {} {}.", text, mark.evidence.front().kind,
                                              mark.evidence.front().reference));
    }

    bool empty() const noexcept { return paragraphs_.empty(); }
    std::vector<std::string> take() { return std::move(paragraphs_); }

  private:
    /// " with torchvision 0.24.1 and torchaudio 2.9.1"; "" where it is not recorded.
    std::string companions_of(std::string_view torch) const {
        const TorchRelease* release = knowledge_.torch_release(torch);
        if (release == nullptr || release->torchvision.empty())
            return "";
        return fmt::format(" with torchvision {}{}", release->torchvision.front(),
                           release->torchaudio.empty() ? ""
                                                       : " and torchaudio " + release->torchaudio.front());
    }

    void push(const Entry& entry, std::string text) {
        if (paragraphs_.size() >= paragraph_limit ||
            std::find(seen_.begin(), seen_.end(), &entry) != seen_.end())
            return;
        seen_.push_back(&entry);
        paragraphs_.push_back(std::move(text) + evidence_text(entry));
    }

    const Knowledge& knowledge_;
    std::vector<const Entry*> seen_;
    std::vector<std::string> paragraphs_;
};

template <class T>
void add_named(const std::vector<T>& entries, std::string T::*name, std::string_view term,
               Explanation& explanation) {
    for (const T& entry : entries)
        if (lower_case(entry.*name) == term)
            explanation.add(entry);
}

/// "HSA_XNACK=0": the name, and what its value does.
void add_setting(std::string_view term, const Knowledge& knowledge, Explanation& explanation) {
    const std::size_t equals = term.find('=');
    const std::string name(trim(term.substr(0, equals)));
    if (const VariableFamily* family = knowledge.variable_family(name);
        family != nullptr && !family->shared && name.size() > family->prefix.size() &&
        name.find_first_of(" *") == std::string::npos && !family->contains(name))
        return explanation.add(*family, name);
    if (const EnvironmentVariable* variable = knowledge.variable(name);
        variable != nullptr && name.find(' ') == std::string::npos)
        explanation.add(*variable);
    else if (const EnvironmentVariable* parameter = knowledge.variable("amdgpu." + name))
        explanation.add(*parameter);
}

void add_messages(std::string_view term, const Knowledge& knowledge, Explanation& explanation) {
    RE2::Options options;
    options.set_case_sensitive(false);
    options.set_log_errors(false);
    const std::string part = lower_case(term);
    const auto is_meant = [&](const Signature& signature) {
        for (const std::string& text : signature.patterns) {
            if (is_part_of(part, literal_text(text)))
                return true;
            if (const RE2 pattern(text, options);
                pattern.ok() && RE2::PartialMatch({term.data(), term.size()}, pattern))
                return true;
        }
        return part.size() >= shortest_part && lower_case(signature.title).find(part) != std::string::npos;
    };
    for (const Signature& signature : knowledge.signatures)
        if (is_meant(signature))
            explanation.add(signature);
}

void add_claims(std::string_view term, const Knowledge& knowledge, Explanation& explanation) {
    for (const Claim* claim : ClaimFinder(knowledge).in_text(term))
        explanation.add(*claim);
    const std::string part = lower_case(term);
    for (const Claim& claim : knowledge.claims)
        if (part.size() >= shortest_part && lower_case(claim.says).find(part) != std::string::npos)
            explanation.add(claim);
}

} // namespace

std::vector<std::string> explain(std::string_view term, const Knowledge& knowledge) {
    term = trim(term).substr(0, term_limit);
    Explanation explanation(knowledge);
    if (term.empty())
        return {};
    const std::string name = lower_case(term);
    add_setting(term, knowledge, explanation);
    add_named(knowledge.gfx_targets, &GfxTarget::name, name, explanation);
    add_named(knowledge.causes, &Cause::slug, name, explanation);
    add_named(knowledge.causes, &Cause::code, name, explanation);
    add_named(knowledge.remedies, &Remedy::id, name, explanation);
    add_named(knowledge.indexes, &WheelIndex::id, name, explanation);
    add_named(knowledge.torch_releases, &TorchRelease::torch,
              name.starts_with("torch ") ? std::string_view(name).substr(6) : std::string_view(name),
              explanation);
    add_named(knowledge.images, &ContainerImage::tag, name, explanation);
    add_named(knowledge.signatures, &Signature::id, name, explanation);
    add_named(knowledge.claims, &Claim::id, name, explanation);
    if (explanation.empty())
        if (const GpuModel* gpu = knowledge.gpu_named(term);
            gpu != nullptr && term.size() <= gpu->name.size() + 12)
            explanation.add(*gpu);
    if (explanation.empty())
        for (const Cause& cause : knowledge.causes)
            if (name.size() >= shortest_part && lower_case(cause.title).find(name) != std::string::npos)
                explanation.add(cause);
    add_messages(term, knowledge, explanation);
    add_claims(term, knowledge, explanation);
    for (const Mark& mark : review_document(term, knowledge))
        if (mark.kind == "version pair" || (mark.kind == "gfx target" && mark.verdict == Verdict::wrong))
            explanation.add(mark);
    return explanation.take();
}

} // namespace rekindle::doctor
